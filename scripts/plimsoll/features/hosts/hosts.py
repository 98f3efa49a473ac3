"""`plimsoll hosts`."""

import json as jsons
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import options, place

PAGE, TABLE = Path("hosts/findings.html"), Path("hosts/findings.csv")


def hosts(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FOLDER", help="Folders with results, and archives. Without one: those in hosts/."),
    ] = None,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> None:
    """Write a page that says which claims hold on which host.

    It measures nothing. docs/how-to/cluster.md says how several hosts are measured.

    Examples:
      plimsoll hosts
      plimsoll hosts . plimsoll-liu2020.zip
    """
    given = place.enter(directory, *(folders or []))
    compare_hosts(given, PAGE, TABLE)
    if json:
        return print(jsons.dumps({"page": str(PAGE.absolute()), "table": str(TABLE.absolute())}, indent=1))
    return print(f"{PAGE} says which claims hold on which host; {TABLE} has the same for a program.")


def compare_hosts(folders: Sequence[Path], page: Path, table: Path) -> None:
    """Set the verdicts of several hosts beside each other: results in folders, and archives.

    Without any folder, take those that lie beside the page.
    """
    from plimsoll import designs
    from plimsoll.features.hosts import page as hosts_page
    from plimsoll.result_sets import archives

    folders = list(folders) or _beside(page)
    hosts_page.write(folders, [archives.folder_of(path) for path in folders], page, table, designs.known())


def _beside(page: Path) -> list[Path]:
    """Return what was measured elsewhere and lies beside a page: folders of hosts that are complete, and archives."""
    from plimsoll.features.hosts import marker

    marked = (mark.parent for mark in page.parent.glob(f"*/{marker.FILE}"))
    return sorted([*marked, *page.parent.glob("*.zip")], key=str)
