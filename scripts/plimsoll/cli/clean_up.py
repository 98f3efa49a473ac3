"""`plimsoll clean-up`."""

from typing import Annotated

import typer

from plimsoll import tasks
from plimsoll.cli import options, place


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
