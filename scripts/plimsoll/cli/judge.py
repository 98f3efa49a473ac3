"""`plimsoll judge`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli import options, place


def judge(
    study: Annotated[Path | None, typer.Argument(metavar="[STUDY.YAML]", help="A study of the design `table`.")] = None,
    claims: Annotated[Path | None, typer.Option(metavar="FILE", help="Claims in YAML, for data without a study.")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A table, or what a tool has written. Its columns are the factors. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where files go. Without it: results/judged/NAME.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Status 1 if a claim is contradicted.")] = False,
    directory: options.Directory = None,
    json: options.AsJson = False,
) -> int:
    """Say which statements a table of measurements supports.

    Nothing is measured. The rows come from a table in CSV or Parquet, or from what hyperfine, Google Benchmark,
    pytest-benchmark, Criterion, ReFrame or the Phoronix Test Suite have written.

    Examples:
      plimsoll judge study.yaml                                 # a study, written by hand or by plimsoll new study
      plimsoll judge --claims paper.yaml --data results.csv     # claims about a table, whose columns are the factors
      plimsoll judge study.yaml --strict --json                 # for continuous integration
    """
    from plimsoll.designs.table import closing, judged, outputs
    from plimsoll.errors import PlimsollError
    from plimsoll.pages import also_made

    if (study is None) == (claims is None and not data) or (study is None and not (claims and data)):
        raise PlimsollError("Give a study, or both --claims and --data: plimsoll judge --help shows how. Nothing was judged.")
    study, claims, out, *data = place.enter(directory, study, claims, out, *(data or ()))
    found = judged.of_file(study) if study else judged.of_files(data, claims)
    folder = out or Path("results/judged", found.study["id"])
    written = outputs.write(found, folder, [study or claims])
    also_made.refresh(Path("results"))
    print((folder / "claims.json").read_text().strip() if json else closing.text(found, written))
    return closing.status(found, strict)
