"""`plimsoll add`, and what it shares with `plimsoll drop`."""

from collections.abc import Iterable
from typing import Annotated

import typer

from plimsoll.cli import names, options

Named = Annotated[list[str], typer.Argument(metavar="RUNTIME...", help="Names of runtimes.", autocompletion=names.runtimes)]


def add(runtimes: Named) -> None:
    """Measure runtimes on this machine that are off elsewhere.

    This is noted in config/local.yaml, which is of this machine alone.

    Examples:
      plimsoll add podman-rootless
      plimsoll add singularity-user singularity-instance-host-network
    """
    wish(runtimes, "optional", "switches on")


def wish(runtimes: Iterable[str], wanted: str, does: str) -> None:
    """Note what is wanted of runtimes on this machine. Raise PlimsollError for one that is not known."""
    from plimsoll import environments
    from plimsoll.config import configuration

    chosen = options.split(runtimes)
    for name in chosen:
        environments.find(name)
    configuration.wish(chosen, wanted)
    print(f"config/local.yaml {does} {', '.join(chosen)} on this machine. Delete it to take that back.")
