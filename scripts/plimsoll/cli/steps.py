"""Steps that several commands have: set-up, and the workflow."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from plimsoll import paths
from plimsoll.cli.statuses import Status
from plimsoll.errors import say
from plimsoll.tasks import Time


class Foretold(NamedTuple):
    """What set-up foretells before it installs anything: how long a command takes for these studies in a folder."""

    studies: Sequence[str]
    time: Time
    directory: Path

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables that plimsoll.planning.timetable reads."""
        amounts = {"HOURS": self.time.hours, "MINUTES": self.time.minutes}
        return {
            "PLIMSOLL_FORETELL": "yes",
            "STUDIES": " ".join(self.studies),
            "DIRECTORY": str(self.directory),
            **{name: "" if amount is None else str(amount) for name, amount in amounts.items()},
        }


def set_up(settings: Sequence[str] = (), image: Path | None = None, foretold: Foretold | None = None) -> None:
    """Install what the studies of the settings need, and what building their images needs if they come from no file.

    End the command with Status.SET_UP if something that is needed cannot be installed.
    """
    told = {
        "STUDIES": "",
        "PLIMSOLL_SETTINGS": shlex.join(settings),
        "IMAGE": str(image or ""),
        **(foretold.variables if foretold else {}),
    }
    done = subprocess.run(["bash", str(paths.PROJECT / "scripts/setup/all.sh")], env={**os.environ, **told})
    if done.returncode:
        say("set-up did not finish, so nothing was measured. The reason is above.")
        raise typer.Exit(Status.SET_UP)


def workflow(targets: Sequence[str], settings: Sequence[str]) -> int:
    """Run the workflow in the working directory, and return its exit status. Its own messages say what failed.

    It gets all processors: a measurement takes the machine alone, and pages are made beside each other.
    """
    from plimsoll.terminal import interruption, snakemake_command

    begin()
    command = snakemake_command.of_project(targets, settings, len(os.sched_getaffinity(0)))
    return interruption.run(command, paths.environment())


def begin() -> None:
    """Note that all workflows of this command belong to one start (plimsoll.measuring.failing_groups)."""
    from plimsoll.measuring import failing_groups

    failing_groups.begin()
