"""`plimsoll hosts`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll import tasks
from plimsoll.cli import options, place

PAGE, TABLE = Path("hosts/findings.html"), Path("hosts/findings.csv")


def hosts(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", help="Folders with results, and archives. Without one: those in hosts/."),
    ] = None,
    directory: options.Directory = None,
) -> None:
    """Write a page that says which claims hold on which host.

    It measures nothing. docs/how-to/cluster.md says how several hosts are measured.

    Examples:
      plimsoll hosts
      plimsoll hosts . plimsoll-liu2020.zip
    """
    given = place.enter(directory, *(folders or []))
    tasks.compare_hosts(given, PAGE, TABLE)
    print(f"{PAGE} says which claims hold on which host; {TABLE} has the same for a program.")
