"""What both command lines do: the user's, and that of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import features
from plimsoll.errors import PlimsollError


class Time(NamedTuple):
    """How long studies are measured: `hours` each, or so long that a command takes `minutes` from set-up to the pages.

    Without both, each study has the usual hours of its design.
    """

    hours: float | None = None
    minutes: float | None = None


def measure_for(time: Time, settings: Sequence[str]) -> None:
    """Measure the selected studies that have stages for a time, where they decide most."""
    features.require("measure_for")(time, settings)


def take_images(source: Path, settings: Sequence[str]) -> None:
    """Take images from a file, instead of building them. Raise PlimsollError if this version cannot."""
    features.require("take_images")(source, settings)


def clean_up(everything: bool) -> None:
    """Remove what killed runs have left on this machine and in this folder.

    With `everything`, remove also images and all else that is kept for the next run.
    """
    from plimsoll import clean_up, runtimes
    from plimsoll.host import temporary
    from plimsoll.measuring import lock

    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder(), lock.machine():
        there = runtimes.known().values()
        removed = [
            *clean_up.machine(there),
            *clean_up.store(),
            *temporary.remove_of_killed(),
            *clean_up.results(Path("results")),
        ]
    if everything:
        removed += clean_up.everything(there)
    print("\n".join(f"removed: {what}" for what in removed) or "No killed run has left anything.")


def refused(problem: OSError) -> PlimsollError | None:
    """Return an error of the operating system as a message for the user; None if the user can do nothing about it."""
    from plimsoll.measuring import resources  # here, because what ends well has no use for it

    if outage := resources.outage_of(problem):
        return outage
    if problem.filename is not None:
        return PlimsollError(
            f"{problem.filename}: {problem.strerror}. What was measured is kept. Correct the path or its permissions, and type "
            "the command again."
        )
    # Python's own words, when no folder for temporary files can be written.
    if isinstance(problem, FileNotFoundError):
        return PlimsollError(f"{problem.strerror}: make room there, or make /tmp, with the mode 1777.")
    return None
