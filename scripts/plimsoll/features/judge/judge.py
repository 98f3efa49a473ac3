"""`plimsoll judge`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli import options, place

if TYPE_CHECKING:
    from plimsoll.designs.table.judged_study import JudgedStudy


def judge(
    study: Annotated[
        Path | None, typer.Argument(metavar="STUDY.YAML", help="A study of the design `table`, or a zip with one.")
    ] = None,
    claims: Annotated[Path | None, typer.Option(metavar="FILE", help="Claims in YAML, for data without a study.")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A table, what a tool has written, or a zip. Its columns are the factors. Repeatable."
        ),
    ] = None,
    printed: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The paper's own table: rows with mean, sd and n. Repeatable, beside --data."),
    ] = None,
    factors: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="The columns that are factors, beside --data. Without it: all that have no role."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where files go. Without it: results/judged/NAME.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Status 1 if a claim is contradicted.")] = False,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> int:
    """Say which claims a table of measurements supports.

    Nothing is measured. The rows come from a table in CSV or Parquet, or from what hyperfine, Google Benchmark,
    pytest-benchmark, Criterion, ReFrame or the Phoronix Test Suite have written. They may lie in a zip, also in one of
    plimsoll archive.

    Examples:
      plimsoll judge study.yaml                                 # a study, written by hand or by plimsoll new study
      plimsoll judge --claims paper.yaml --data results.csv     # claims about a table, whose columns are the factors
      plimsoll judge --claims mine.yaml --data plimsoll-liu2020.zip   # the measurements of an archive
      plimsoll judge study.yaml --strict --json                 # for continuous integration
    """
    from plimsoll.designs.table import judged_study, zips
    from plimsoll.errors import PlimsollError

    if (study is None) != bool(claims and data) or (study and (claims or data or printed or factors)):
        raise PlimsollError(
            "A study is missing, or --claims and --data. Nothing was judged. Type ./plimsoll judge --help for examples."
        )
    study, claims, out, *files = place.enter(directory, study, claims, out, *(data or ()), *(printed or ()))
    if study:
        with zips.study_file(study) as (file, name):
            return _told(judged_study.of_file(file, name), [file], out, strict, json)
    number = len(data or ())
    names = options.split([factors]) if factors else None
    return _told(judged_study.of_files(files[:number], claims, printed=files[number:], factors=names), [], out, strict, json)


def _told(found: "JudgedStudy", written: list[Path], out: Path | None, strict: bool, json: bool) -> int:
    """Write what a judged table has, print its verdicts, and return the exit status."""
    from plimsoll.designs.table import outputs, verdict_text
    from plimsoll.pages import command_pages

    folder = out or Path("results/judged", found.study["id"])
    page = outputs.write(found, folder, written)
    command_pages.refresh(Path("results"))
    print((folder / "claims.json").read_text().strip() if json else verdict_text.text(found, place.from_call(page)))
    return verdict_text.status(found, strict)
