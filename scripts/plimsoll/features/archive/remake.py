"""`plimsoll remake`."""

import json as jsons
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import options, place


def remake(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="A file that `plimsoll archive` has written.")],
    claims: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Judge by claims of your own. Repeatable.")] = None,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> int | None:
    """Make everything of an archive again, without containers and without measuring.

    The last line says whether all tables and pictures are those of the archive. The exit status is 1 if a table is not.

    Examples:
      plimsoll remake plimsoll-liu2020.zip
      plimsoll remake plimsoll-liu2020.zip --claims mine.yaml
      plimsoll remake plimsoll-liu2020.zip --json
    """
    return from_archive(archive, claims or [], directory, json)


def from_archive(archive: Path, claims: list[Path], directory: Path | None = None, json: bool = False) -> int:
    """Make everything of an archive again. Return 1 if a table is not the archive's, and 0 otherwise."""
    from plimsoll.features.archive import rebuild
    from plimsoll.pages import command_pages
    from plimsoll.terminal import interruption

    archive, *claims = place.enter(directory, archive, *claims)
    with interruption.explain():
        made = rebuild.remake(archive, claims, Path("results"))
    command_pages.refresh(Path("results"))
    if json:
        told = {**made._asdict(), "folder": str(made.folder.absolute())}
        print(jsons.dumps(told, indent=1))
    else:
        rebuild.tell_findings(made.folder)
        print(made.words)
    return made.status
