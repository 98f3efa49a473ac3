"""Page of the verdicts on all studies: self-contained, with links to the figures, notebooks, data and runs beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import jinja2
import pandas as pd

from plimsoll import documents, spelling
from plimsoll.claims import answer as claims_answer
from plimsoll.claims import book, findings, other_studies, result_counts, verdicts
from plimsoll.claims import sessions as claims_sessions
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config.studies import STUDIES, Study, names
from plimsoll.errors import DamagedFile
from plimsoll.measuring import record
from plimsoll.pages import (
    answer,
    claim_filter,
    comparison_rows,
    formats,
    glossary,
    printed_claims,
    procedure_words,
    sessions,
    wording,
)
from plimsoll.planning import forecasts, precision
from plimsoll.planning.forecasts import GivenTime

# Classes of the verdicts in the page's style sheet.
MARKS = {
    verdicts.REPRODUCED: "reproduced",
    verdicts.CONTRADICTED: "contradicted",
    verdicts.CONDITIONAL: "conditional",
    verdicts.INCONCLUSIVE: "inconclusive",
    verdicts.NOT_TESTABLE: "untested",
    verdicts.UNAVAILABLE: "untested",
    verdicts.UNMEASURED: "untested",
}

# At most this many comparisons of a claim are on the page; comparisons.csv has all.
SHOWN = 8
# Files that are made of a study's claims, in its folder of results.
FILES = ("together.json", "together.csv", "answer.csv", "sessions.json")
# Errors that files cause which are damaged or of another version, when a page is made of them.
UNFIT = (KeyError, IndexError, TypeError, ValueError, AttributeError, DamagedFile, jinja2.TemplateError)
NOT_BUILT, NOT_SELECTED = "Plimsoll has not built this study yet", "the configuration does not select this study"


class StudyVerdicts(NamedTuple):
    """What the stages left of a study's claims.

    These are the verdicts (`results`), the comparisons, the answer, what is known of its sessions (`told`), and the
    time that was `given`, if one was.
    """

    results: list[dict]
    comparisons: pd.DataFrame
    answer: pd.DataFrame
    told: dict
    given: GivenTime | None

    @property
    def study(self) -> str:
        """Return the name of the study."""
        return self.results[0]["study"]


class PageData(NamedTuple):
    """Verdicts on all studies' claims (`results`), and what the stages left of each study that was `measured`, by name."""

    results: list[dict]
    measured: dict[str, StudyVerdicts]


def gather(files: Iterable[Sequence[Path]], load: Callable[[str], Study], beside: Iterable[Path] = ()) -> PageData:
    """Return everything that the pages on all studies show.

    `files` are the FILES of each study that was measured, as the stages left them. `load` returns a study by its name.
    `beside` are the folders of other studies, in which an earlier start may have left results. Results that fit this
    version are taken. For others the reason names the command that judges them again.
    """
    measured = {one.study: one for one in map(judged, files)}
    reasons = {}
    for folder in beside:
        try:
            measured |= {one.study: one for one in [_fitting(folder, load)] if one}
        except UNFIT:
            reasons[folder.name] = f"it was measured, and has no verdicts of this version: {command(folder.name)} makes them"
    every: list[dict] = []
    for name, claims in book.load_all().items():
        why = reasons.get(name, NOT_SELECTED if name in names(STUDIES) else NOT_BUILT)
        every += measured[name].results if name in measured else findings.unavailable(claims, why)
    return PageData(other_studies.by_others(every), measured)


def make(
    files: Iterable[Sequence[Path]], load: Callable[[str], Study], beside: Iterable[Path] = ()
) -> tuple[pd.DataFrame, str]:
    """Return (table, page) of the verdicts on all studies' claims. The arguments are those of `gather`."""
    return table_and_page(gather(files, load, beside), load)


def table_and_page(every: PageData, load: Callable[[str], Study]) -> tuple[pd.DataFrame, str]:
    """Return (table, page) of the verdicts that were gathered. `load` returns a study by its name."""
    return findings.table_of(every.results), _page(every.results, every.measured, load)


def judged(files: Sequence[Path]) -> StudyVerdicts:
    """Return what a study's FILES hold."""
    verdicts_of, compared, answered, told = files
    results, comparisons = read(verdicts_of, compared)
    given = forecasts.given_time(results[0]["study"], answered.parent)
    return StudyVerdicts(results, comparisons, claims_answer.read(answered), claims_sessions.read(told), given)


def command(study: str) -> str:
    """Return the command that measures a study, or judges again what was measured of it."""
    return spelling.command("reproduce", study)


def _fitting(folder: Path, load: Callable[[str], Study]) -> StudyVerdicts | None:
    """Return what a study's folder of results holds; None if nothing was measured.

    Raise one of UNFIT if no page can be made of it.
    """
    files = [folder / name for name in FILES]
    if not all(path.is_file() for path in files):
        if record.any_below(folder):
            raise ValueError(folder)
        return None
    found = judged(files)
    if found.study != folder.name or {one["id"] for one in found.results} != {one["id"] for one in book.load(folder.name)}:
        raise ValueError(folder)
    _page(found.results, {folder.name: found}, load)
    answer.for_template(found.answer, load(folder.name), found.given)
    return found


def _page(results: list[dict], measured: Mapping[str, StudyVerdicts], load: Callable[[str], Study]) -> str:
    """Return the page on results of claims. `measured` are the studies that were measured, by name."""
    comparisons, told, given = ({name: one[place] for name, one in measured.items()} for place in (1, 3, 4))
    return render(results, comparisons, {name: load(name) for name in measured}, told, given)


def render(
    results: list[dict],
    comparisons: dict[str, pd.DataFrame],
    studies: dict[str, Study],
    told: dict[str, dict],
    given: Mapping[str, GivenTime | None] = MappingProxyType({}),
) -> str:
    """Return the page as HTML.

    `results` are the verdicts of all studies, and `studies` the measured ones by name. The others are by study:
    `comparisons`, what is known of its sessions (`told`), and the time that was `given`.
    """
    rows = {claim: compared for table in comparisons.values() for claim, compared in wording.by_claim(table).items()}
    summary = result_counts.summarise(results)
    claims = [
        _shown(result, rows.get(result["id"], []), studies.get(result["study"]), given.get(result["study"]))
        for result in results
    ]
    return (
        formats.environment()
        .get_template("verdicts.html.j2")
        .render(
            claims=claims,
            choices=claim_filter.choices([claim for claim in claims if claim["study"] in studies]),
            studies=studies,
            sessions={name: sessions.for_template(one) for name, one in told.items()},
            elsewhere={
                result["study"]: result["reason"]
                for result in sorted(results, key=lambda result: result["study"])
                if result["study"] not in studies
            },
            questions={name: book.questions(name) for name in {result["study"] for result in results}},
            summary=[row for row in summary if row["study"] in studies],
            spelled_out={f"{row['study']}-{row['question']}" for row in summary},
            repeated=len(results) - len(result_counts.without_repeats(results)),
            differing=result_counts.differing(results),
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


def _shown(result: dict, rows: list[dict], study: dict | None, given: GivenTime | None) -> dict:
    """Return a claim for the page.

    Without a `study`, nothing of it was measured. `given` is the time that it had.
    """
    shown = {**result, "mark": MARKS[result["verdict"]], "rows": [], "tables": [], "figures": []}
    if study is None:
        return shown
    level = level_of(study)
    return {
        **shown,
        **claim_filter.of_claim(result, rows, study),
        "tables": findings.tables_of(result, study),
        "figures": findings.figures_of(result, study),
        "printed": printed_claims.row(result, rows, _out(result, study)),
        "rows": [comparison_rows.row(result, one, study, study.design.report.cell_label) for one in rows[:SHOWN]],
        "compared": len(rows),
        "unmeasured": sum(row["verdict"] == verdicts.UNMEASURED for row in rows),
        "kind_said": wording.kind(result),
        "effects": wording.effects(result, rows),
        "size": wording.size(result),
        "whole_said": wording.on_the_whole(result),
        "asked_said": _asked(result, rows, level),
        "parts": [_part(part, number, rows, study) for number, part in enumerate(result["parts"], 1)],
        "out": _out(result, study),
        "arranged": wording.by_arrangement(result),
        "fragile": wording.fragile(result),
        "bound_said": wording.overall_bound(result),
        "unwatched_said": wording.unobserved_neighbours(result),
        "undecided": wording.decision_hints(result, rows, given),
        "command": wording.command(result),
    }


def level_of(study: Study) -> procedure_words.Level:
    """Return a function that names a level of the study for people. It names a metric by its label."""
    metrics = study["metrics"]
    return lambda factor, name: (
        metrics[name]["label"] if factor == "metric" and name in metrics else study.design.report.level(factor, name)
    )


def _asked(result: dict, rows: list[dict], level: procedure_words.Level) -> str:
    """Return the question that was tested. For a claim of several parts it is only the condition: each part has its own."""
    if result["parts"] or not rows:
        return procedure_words.condition(result["asked"]) if rows else ""
    return procedure_words.sentence(result["asked"], list(dict.fromkeys(row["label"] for row in rows)), len(rows), level)


def _out(result: dict, study: dict) -> list[str]:
    """Return the comparisons that stand out from an average, for people."""
    short, metrics = study.design.report.cell_label, study["metrics"]
    named = [(metrics[one["metric"]], one["cell_a"]) for one in result["stands_out"]]
    return [f"{metric['label']}, {short(cell, metric)}" for metric, cell in named]


def _part(part: dict, number: int, rows: list[dict], study: dict) -> dict:
    own = [row for row in rows if row["part"] == number]
    labels = list(dict.fromkeys(row["label"] for row in own))
    return {
        **{**part, "out": _out(part, study), "mark": MARKS[part["verdict"]]},
        **{
            "size_said": wording.size(part),
            "whole_said": wording.on_the_whole(part),
            "bound_said": wording.overall_bound(part),
        },
        "alike_said": wording.small_difference(part),
        "asked_said": procedure_words.sentence(part["asked"], labels, len(own), level_of(study)) if own else "",
    }


def read(results: Path, comparisons: Path) -> tuple[list[dict], pd.DataFrame]:
    """Return (verdicts, comparisons) of a study, as the stage `claims` left them."""
    remedy = "delete it, and start the workflow again, which judges again"
    return documents.read(results, list[dict], remedy), pd.read_csv(comparisons)
