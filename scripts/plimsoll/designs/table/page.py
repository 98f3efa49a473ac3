"""The page of a table that was judged: answer, claims, figures, what the rows are and what the verdicts assume."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from plimsoll.claims import result_counts, verdicts
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.designs.table import paper_consistency
from plimsoll.designs.table.factors import as_written
from plimsoll.designs.table.judged_study import JudgedStudy
from plimsoll.pages import (
    answer,
    comparison_rows,
    figure_values,
    forest,
    formats,
    glossary,
    procedure_words,
    verdict_page,
    wording,
)
from plimsoll.pages.formats import missing

# At most this many comparisons of a claim, and cells, are on the page; the tables beside it have all.
SHOWN, CELLS = 12, 200


def render(judged: JudgedStudy, figures: Sequence[Mapping], cells: pd.DataFrame, assumed: Sequence[str]) -> str:
    """Return the page as HTML. `figures` have a `name`, `title`, `picture` (path of a PNG), caption and alternative text.

    `cells` is the table of all cells (assumptions.of_cells), and `assumed` are sentences on what the verdicts assume.
    """
    study = judged.study
    results = [_claim(result, judged) for result in judged.results]
    content = {
        "study": study,
        "version": version("plimsoll"),
        "terms": glossary.SHARED,
        "answer": shown_answer(judged),
        "by_verdict": {name: [one for one in results if one["verdict"] == name] for name in verdicts.ON_CLAIM},
        "counts": result_counts.summarise(judged.results),
        "questions": judged.questions,
        "verdicts": verdicts.ON_CLAIM,
        "marks": verdict_page.MARKS,
        "margin": MARGIN,
        "figures": [{**one, **figure_values.shown(Path(one["picture"]))} for one in figures],
        "factors": [{"name": name, "levels": list(map(as_written, study["levels"][name]))} for name in study["factors"]],
        "cells": [_cell(row, judged) for row in cells.head(CELLS).to_dict("records")],
        "all_cells": len(cells),
        "rows": len(judged.source.rows),
        "files": [path.name for path in judged.source.files],
        "assumed": list(assumed),
        "notes": judged.notes,
        "of_paper": paper_consistency.summary(judged.results),
    }
    return formats.environment().get_template(study.design.report.TEMPLATE).render(content)


def shown_answer(judged: JudgedStudy) -> list[dict]:
    """Return the answer for pages and the terminal, with a forest plot; empty if the study names no baseline.

    Its cells have no records to lead to.
    """
    if judged.answer is None:
        return []
    shown = forest.with_plots(answer.for_template(judged.answer.assign(cell_a=None, worst_cell=None), judged.study))
    plots = [part["plot"] for one in shown for part in one["parts"]]
    for plot in plots:
        # What a table compares need not be deployed.
        plot["of"] = "level" if plot["of"] == "deployment" else plot["of"]
    return shown


def _claim(result: dict, judged: JudgedStudy) -> dict:
    """Return a claim for the page."""
    rows = of_claim(judged, result)
    study = judged.study
    label = study.design.report.cell_label
    return {
        **result,
        "mark": verdict_page.MARKS[result["verdict"]],
        "effects": wording.effects(result, rows) if rows else "",
        "n_said": wording.rests_on(result, rows) if rows else "",
        "size_said": wording.size(result),
        "whole_said": wording.on_the_whole(result),
        "bound_said": wording.overall_bound(result),
        "fragile": wording.fragile(result),
        "arranged": wording.by_arrangement(result).replace(wording.NOT_SAID, "The rows are of several machines."),
        "asked_said": _asked(result, rows, judged),
        "needed_said": needed(result),
        "rows": [comparison_rows.row(result, one, study, label) for one in rows[:SHOWN]],
        "compared": len(rows),
        "parts": [
            {**part, "mark": verdict_page.MARKS[part["verdict"]], "size_said": wording.size(part)} for part in result["parts"]
        ],
    }


def of_claim(judged: JudgedStudy, result: Mapping) -> list[dict]:
    """Return the comparisons of a claim, the contradicted ones first."""
    own = judged.comparisons[judged.comparisons["claim"] == result["id"]]
    return wording.by_claim(own).get(result["id"], [])


def needed(result: Mapping) -> str:
    """Return how many runs of each side should decide an open claim; empty if that is not known."""
    number = result.get("runs_needed")
    if missing(number) or number > 10_000:
        return ""
    return f"About {int(number)} runs of each side should decide it, if the noise stays the same."


def _asked(result: dict, rows: list[dict], judged: JudgedStudy) -> str:
    if result["parts"] or not rows:
        return procedure_words.condition(result["asked"]) if rows else ""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    return procedure_words.sentence(result["asked"], labels, len(rows), verdict_page.level_of(judged.study))


def _cell(row: dict, judged: JudgedStudy) -> dict:
    metric = judged.study["metrics"][row["metric"]]
    return {
        **row,
        "label": metric["label"],
        "unit": metric["unit"],
        "name": judged.study.design.report.cell_label(row["cell"], metric),
    }
