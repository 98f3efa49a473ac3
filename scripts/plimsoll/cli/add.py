"""`plimsoll add`, and what it shares with `plimsoll drop`."""

from collections.abc import Iterable
from typing import Annotated

import typer

from plimsoll.cli import names, options

Named = Annotated[list[str], typer.Argument(metavar="RUNTIME", help="Names of runtimes.", autocompletion=names.runtimes)]


def add(typed: Named) -> None:
    """Measure runtimes that are off otherwise.

    This is noted in config/local.yaml, and holds for this folder.

    Examples:
      plimsoll add podman-rootless
      plimsoll add charliecloud
      plimsoll add singularity-user singularity-instance-host-network
    """
    wish(typed, "optional", "switches on")


def wish(typed: Iterable[str], wanted: str, does: str) -> None:
    """Note what is wanted of runtimes. Raise PlimsollError for one that is not known."""
    from plimsoll import runtimes
    from plimsoll.config import configuration

    chosen = options.split(typed)
    for name in chosen:
        runtimes.find(name)
    configuration.wish(chosen, wanted)
    print(f"config/local.yaml {does} {', '.join(chosen)}, for this folder. Delete that file to undo this.")
