"""`plimsoll compare`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import options, place


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Results of a study, a folder with those of several, or an archive.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same. Without it: the results of this machine.")] = "results",
    margin: Annotated[str, typer.Option(metavar="SHARE", help="Within this relative difference they are alike.")] = "0.05",
    session_blocks: Annotated[
        str, typer.Option(metavar="NUMBER", help="Blocks that a session is worth at most, or all.")
    ] = "6",
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where files go. Without it: results/compare/A-B.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Tell what is alike and what is undecided, too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Status 1 also if anything is undecided or missing, 2 if bits differ.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Compare although benchmarks, sizes or machines differ.")] = False,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> int | None:
    """Say what changed between two sets of results.

    The exit status is 0 if nothing is worse in B, 1 if something is, and 2 if they cannot be compared.

    Examples:
      plimsoll compare results/reference/liu2020        # with the results of this machine
      plimsoll compare before.zip after.zip --all
      plimsoll compare results/systems/1f3c9a02 results --json
    """
    from plimsoll import designs
    from plimsoll.config import studies
    from plimsoll.features.compare import comparison_options
    from plimsoll.features.compare import studies as compared_studies
    from plimsoll.result_sets import archives, sets

    terms, paths = comparison_options.terms(margin, session_blocks), comparison_options.paths(a, b)
    *paths, out = place.enter(directory, *paths, out)
    # Both are there before the archives in one of them are unpacked.
    folders = [sets.opened(archives.folder_of(path)) for path in paths]
    sides = [sets.read(folder, archives.reference_of) for folder in folders]
    names = comparison_options.shared(*sides)
    what = comparison_options.ComparisonOptions(terms, force, strict, len(names))
    each = {
        name: compared_studies.compare(studies.load(name, designs.known()), sides[0][name], sides[1][name], what)
        for name in names
    }
    ended = compared_studies.ended(each, strict, [name for name in sides[0] if name not in sides[1]])
    return _told(each, (paths[0], paths[1]), terms, ended, out, all, json)


def _told(each: dict, paths: tuple[Path, Path], terms, ended, out: Path | None, all: bool, json: bool) -> int:
    """Write the files of a comparison and print it. Raise PlimsollError if the sets cannot be compared."""
    from plimsoll.errors import PlimsollError
    from plimsoll.features.compare import comparison_options, outputs, studies, text
    from plimsoll.pages import command_pages
    from plimsoll.pages.formats import capital
    from plimsoll.terminal import screen

    written = outputs.write(each, paths, terms, ended, out or comparison_options.folder(*paths))
    command_pages.refresh(Path(comparison_options.RESULTS))
    if json:
        print(next(path for path in written if path.suffix == ".json").read_text().strip())
    else:
        pages = [place.from_call(path) for path in written]
        screen.tell(lambda width: text.text(each, paths, terms, all, pages, ended, width))
    if ended.status == studies.NOT_COMPARABLE:
        raise PlimsollError(f"{capital(ended.reason)}.")
    return ended.status
