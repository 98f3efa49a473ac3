"""The page of verdicts, for all studies: self-contained, with links to the figures, notebooks, data and runs beside it."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from plimsoll import documents
from plimsoll.claims import answer as claims_answer
from plimsoll.claims import book, findings, verdicts
from plimsoll.claims import sessions as claims_sessions
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config.studies import STUDIES, Study, names
from plimsoll.pages import answer, asked, claim_filter, comparison_rows, formats, glossary, sessions, wording
from plimsoll.planning import forecasts, precision
from plimsoll.planning.forecasts import Given

# Classes of the verdicts in the page's style sheet.
MARKS = {
    verdicts.REPRODUCED: "reproduced",
    verdicts.CONTRADICTED: "contradicted",
    verdicts.CONDITIONAL: "conditional",
    verdicts.INCONCLUSIVE: "inconclusive",
    verdicts.NOT_TESTABLE: "untested",
    verdicts.UNAVAILABLE: "untested",
}

# Comparisons of a claim on the page; comparisons.csv has all.
SHOWN = 8


def made(files: Iterable[tuple[Path, ...]], load: Callable[[str], Study]) -> tuple[pd.DataFrame, str]:
    """(table, page) of the verdicts on all studies' claims. `files` are the verdicts, comparisons, answer and sessions of each
    study that was measured, as the stages left them; `load` gives a study by its name."""
    measured, given = {}, {}
    for judged, compared, answered, told in files:
        results, comparisons = read(judged, compared)
        name = results[0]["study"]
        given[name] = forecasts.given(name, answered.parent)
        measured[name] = (results, comparisons, claims_answer.read(answered), claims_sessions.read(told))
    every: list[dict] = []
    for name, claims in book.load_all().items():
        every += measured[name][0] if name in measured else findings.unavailable(claims, name in names(STUDIES))
    loaded = {name: load(name) for name in measured}
    comparisons, answers, told = ({name: parts[place] for name, parts in measured.items()} for place in (1, 2, 3))
    return findings.table_of(every), render(every, comparisons, answers, loaded, told, given)


def render(
    results: list[dict],
    comparisons: dict[str, pd.DataFrame],
    answers: dict[str, pd.DataFrame],
    studies: dict[str, Study],
    told: dict[str, dict],
    given: Mapping[str, Given | None] = MappingProxyType({}),
) -> str:
    """The page; `results` the verdicts of all studies, `comparisons`, `answers`, what is `told` of sessions and the time that
    was `given` by study, `studies` the measured ones by name."""
    rows = {claim: compared for table in comparisons.values() for claim, compared in wording.by_claim(table).items()}
    summary = findings.summarise(results)
    claims = [_shown(result, rows.get(result["id"], []), studies.get(result["study"])) for result in results]
    return (
        formats.environment()
        .get_template("verdicts.html.j2")
        .render(
            claims=claims,
            choices=claim_filter.choices([claim for claim in claims if claim["study"] in studies]),
            studies=studies,
            answers={name: answer.shown(table, studies[name], given.get(name)) for name, table in answers.items()},
            sessions={name: sessions.shown(one) for name, one in told.items()},
            elsewhere=sorted({result["study"] for result in results} - set(studies)),
            questions={name: book.questions(name) for name in {result["study"] for result in results}},
            summary=[row for row in summary if row["study"] in studies],
            spelled_out={f"{row['study']}-{row['question']}" for row in summary},
            repeated=len(results) - len(findings.counted(results)),
            differing=findings.differing(results),
            verdicts=verdicts.ON_CLAIM,
            marks=MARKS,
            margin=MARGIN,
            maximum=precision.MAXIMUM,
            terms=[
                *glossary.SHARED,
                *dict.fromkeys(term for study in studies.values() for term in study.design.report.GLOSSARY),
            ],
        )
    )


def _shown(result: dict, rows: list[dict], study: dict | None) -> dict:
    """A claim for the page; `study` is None if nothing of it was measured."""
    shown = {**result, "mark": MARKS[result["verdict"]], "rows": [], "tables": [], "figures": []}
    if study is None:
        return shown
    level = level_of(study)
    return {
        **shown,
        **claim_filter.of_claim(result, rows, study),
        "tables": findings.tables_of(result, study),
        "figures": findings.figures_of(result, study),
        "rows": [comparison_rows.row(result, one, study, study.design.report.short) for one in rows[:SHOWN]],
        "compared": len(rows),
        "kind_said": wording.kind(result),
        "effects": wording.effects(result, rows),
        "size": wording.size(result),
        "whole_said": wording.on_the_whole(result),
        "asked_said": _asked(result, rows, level),
        "parts": [_part(part, number, rows, study) for number, part in enumerate(result["parts"], 1)],
        "out": _out(result, study),
        "arranged": wording.arranged(result),
        "unwatched_said": wording.unwatched(result),
        "undecided": wording.undecided(result, rows),
        "command": wording.command(result),
    }


def level_of(study: Study) -> asked.Level:
    """What names a level of the study for people; of a metric, its label."""
    metrics = study["metrics"]
    return lambda factor, name: (
        metrics[name]["label"] if factor == "metric" and name in metrics else study.design.report.level(factor, name)
    )


def _asked(result: dict, rows: list[dict], level: asked.Level) -> str:
    """The question that was asked; a claim of several parts has one for each."""
    if result["parts"] or not rows:
        return ""
    return asked.sentence(result["asked"], list(dict.fromkeys(row["label"] for row in rows)), len(rows), level)


def _out(result: dict, study: dict) -> list[str]:
    """Comparisons that stand out from an average, for people."""
    short, metrics = study.design.report.short, study["metrics"]
    named = [(metrics[one["metric"]], one["cell_a"]) for one in result["stands_out"]]
    return [f"{metric['label']}, {short(cell, metric)}" for metric, cell in named]


def _part(part: dict, number: int, rows: list[dict], study: dict) -> dict:
    own = [row for row in rows if row["part"] == number]
    labels = list(dict.fromkeys(row["label"] for row in own))
    return {
        **{**part, "out": _out(part, study), "mark": MARKS[part["verdict"]]},
        **{"size_said": wording.size(part), "whole_said": wording.on_the_whole(part)},
        "asked_said": asked.sentence(part["asked"], labels, len(own), level_of(study)) if own else "",
    }


def read(results: Path, comparisons: Path) -> tuple[list[dict], pd.DataFrame]:
    """(verdicts, comparisons) of a study, as the stage `claims` left them."""
    remedy = "delete it, and start the workflow again, which judges anew"
    return documents.read(results, list[dict], remedy), pd.read_csv(comparisons)
