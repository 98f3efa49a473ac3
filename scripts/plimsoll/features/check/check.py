"""`plimsoll check`: own results beside the reference measurements, for who evaluates the artifact."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import names, options, place


def check(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY",
            help="Studies. Without one: all measured here.",
            show_default=False,
            autocompletion=names.studies,
        ),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder or archive to check against. Without it: results/reference.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Own results: a folder or an archive. Without it: results.")
    ] = None,
    json: options.AsJson = False,
) -> int:
    """Check your results against the reference measurements: which claims are decided alike, and which are reversed.

    It also says what is expected to differ on other hardware. It measures nothing. The exit status is 0 if no claim is
    reversed. It is 1 if one is, or if nothing was measured here.

    Examples:
      plimsoll check                           # all studies that were measured here
      plimsoll check liu2020 --json            # one of them, for a program
      plimsoll check --reference other.zip     # against another group's results
    """
    from plimsoll import paths
    from plimsoll.features.check import artifact, tables

    results, reference = place.enter(None, results or Path("results"), reference or paths.REFERENCES)
    checked, ended = artifact.check(results, reference, options.split(studies))
    print(tables.as_json(checked, ended)) if json else tables.text(checked, ended)
    return ended.status
