"""The page of verdicts, for all studies: self-contained, with links to the figures, notebooks, data and runs beside it."""

import json
from pathlib import Path

import pandas as pd

from plimsoll.claims import book, findings, verdicts
from plimsoll.pages import comparison_rows, formats, wording

# Classes of the verdicts in the page's style sheet.
MARKS = {
    verdicts.REPRODUCED: "reproduced",
    verdicts.CONTRADICTED: "contradicted",
    verdicts.INCONCLUSIVE: "inconclusive",
    verdicts.NOT_TESTABLE: "untested",
    verdicts.UNAVAILABLE: "untested",
}


def render(results: list[dict], comparisons: dict[str, pd.DataFrame], studies: dict[str, dict]) -> str:
    """The page; `results` the verdicts of all studies, `comparisons` by study, `studies` the measured ones by name."""
    rows = {claim: found for table in comparisons.values() for claim, found in wording.by_claim(table).items()}
    summary = findings.summarise(results)
    return (
        formats.environment()
        .get_template("verdicts.html.j2")
        .render(
            claims=[_shown(result, rows.get(result["id"], []), studies.get(result["study"])) for result in results],
            studies=studies,
            elsewhere=sorted({result["study"] for result in results} - set(studies)),
            questions={name: book.questions(name) for name in {result["study"] for result in results}},
            summary=[row for row in summary if row["study"] in studies],
            repeated=len(results) - len(findings.counted(results)),
            verdicts=verdicts.VERDICTS[:4],
            marks=MARKS,
            margin=findings.MARGIN,
            maximum=wording.MAXIMUM,
            designs=sorted({study["design"] for study in studies.values()}),
        )
    )


def _shown(result: dict, rows: list[dict], study: dict | None) -> dict:
    """A claim for the page; `study` is None if nothing of it was measured."""
    shown = {**result, "mark": MARKS[result["verdict"]], "rows": [], "tables": [], "figures": []}
    if study is None:
        return shown
    return {
        **shown,
        "tables": findings.tables_of(result, study),
        "figures": findings.figures_of(result, study),
        "rows": [comparison_rows.row(result, one, study, study.design.report.short) for one in rows],
        "effects": wording.effects(result, rows),
        "size": wording.size(result),
        "undecided": wording.undecided(result, rows),
    }


def read(results: Path, comparisons: Path) -> tuple[list[dict], pd.DataFrame]:
    """(verdicts, comparisons) of a study, as the stage `claims` left them."""
    return json.loads(results.read_text()), pd.read_csv(comparisons)
