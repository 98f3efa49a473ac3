"""The commands about this machine: what is installed, which runtimes are measured, and what killed runs have left."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from plimsoll import tasks
from plimsoll.cli import measure_commands, names, options, place, steps

Named = Annotated[list[str], typer.Argument(metavar="RUNTIME", help="Names of runtimes.", autocompletion=names.runtimes)]


def setup(studies: options.Studies = None, image: options.Image = None) -> None:
    """Only install what the other commands need.

    Examples:
      plimsoll setup
      plimsoll setup all
      plimsoll setup --image plimsoll-images.tar.gz   # build no image here
    """
    steps.set_up(measure_commands.read_selection(studies, None, None).settings, image)


def add(typed: Named) -> None:
    """Measure runtimes that are off otherwise.

    This is noted in config/local.yaml, and holds for this folder.

    Examples:
      plimsoll add podman-rootless
      plimsoll add charliecloud
      plimsoll add singularity-user singularity-instance-host-network
    """
    _wish(typed, "optional", "turns on")


def drop(runtimes: Named) -> None:
    """Leave these runtimes out.

    This is noted in config/local.yaml, and holds for this folder. A runtime that a study asks for is tried nevertheless.

    Examples:
      plimsoll drop docker docker-ptrace
    """
    _wish(runtimes, "off", "leaves out")


def _wish(typed: Iterable[str], wanted: str, does: str) -> None:
    """Note what is wanted of runtimes. Raise PlimsollError for one that is not known."""
    from plimsoll import runtimes
    from plimsoll.config import configuration

    chosen = options.split(typed)
    for name in chosen:
        runtimes.find(name)
    configuration.wish(chosen, wanted)
    print(f"config/local.yaml {does} {', '.join(chosen)}, for this folder. Delete that file to undo this.")


def new_system(directory: options.Directory = None) -> None:
    """Put aside what was measured before an upgrade.

    Runs before and after an upgrade of kernel, engine, firmware or settings are never pooled.

    Examples:
      plimsoll new-system
    """
    from plimsoll import runtimes
    from plimsoll.config import studies
    from plimsoll.measuring import lock
    from plimsoll.planning import new_system

    place.enter(directory)
    Path(".snakemake").mkdir(exist_ok=True)
    with lock.hold_folder():
        done = new_system.change(Path("results"), studies.names(studies.STUDIES), runtimes.known())
    print("\n".join(done) or "Nothing to put aside: what was measured here was measured on the system as it is.")


def clean_up(
    all: Annotated[bool, typer.Option("--all", help="Also images, and all else that is kept for the next run.")] = False,
    directory: options.Directory = None,
) -> None:
    """Remove what killed runs have left.

    The next run removes it too, except for things that it would use itself. What set-up has installed stays.

    Examples:
      plimsoll clean-up
      plimsoll clean-up --all
    """
    place.enter(directory)
    tasks.clean_up(all)


def version() -> None:
    """Print the version.

    Examples:
      plimsoll version
    """
    import tomllib

    from plimsoll import paths

    print(f"plimsoll {tomllib.loads((paths.PROJECT / 'pyproject.toml').read_text())['project']['version']}")
