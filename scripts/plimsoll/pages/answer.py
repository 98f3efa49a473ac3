"""The answer to a study's question as pages tell it: sentences that follow from the ratios, and the table of them. Pure."""

import math
from itertools import groupby

import pandas as pd

from plimsoll.claims import answer
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config.studies import Study
from plimsoll.pages import answer_words
from plimsoll.pages.answer_words import GAIN, LOSS, NO_LOSS
from plimsoll.pages.formats import capital, missing


def shown(table: pd.DataFrame, study: Study) -> dict:
    """What the template is told of a study's answer: `parts`, one per level of `answer.each`, and those that are `not_here`;
    `columns` with the metrics' labels, and `notes` on all of them. `table` is that of plimsoll.claims.answer."""
    named = study["answer"]
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    each = list(named.get("each", {}))
    parts = [_part(list(of_part), study) for _, of_part in groupby(rows, lambda row: [row[factor] for factor in each])]
    measured = [part for part in parts if not part["reason"]]
    columns = [study["metrics"][metric] for metric in named["metrics"]]
    return {
        "parts": measured,
        "not_here": [part for part in parts if part["reason"]],
        "columns": [f"{metric['label']}{'' if metric['better'] == 'higher' else ' (less is better)'}" for metric in columns],
        "notes": _arranged(rows) if measured else [],
        "margin": MARGIN,
    }


def _notes_of(named: dict, levels: dict[str, str]) -> list[str]:
    """What is to be known of a row with these levels."""
    return [texts[levels[factor]] for factor, texts in named.get("notes", {}).items() if levels.get(factor) in texts]


def _arranged(rows: list[dict]) -> list[str]:
    """How what the paper leaves open was arranged in these ratios."""
    return [
        f"These ratios are with {words}: the paper leaves that open, and each finding is judged in every way that was measured."
        for words in dict.fromkeys(row["arrangement"] for row in rows)
        if words
    ]


def _part(rows: list[dict], study: Study) -> dict:
    """One table with its sentences; only a `reason` where none of its ratios could be measured."""
    named, level = study["answer"], study.design.report.level
    each = {factor: rows[0][factor] for factor in named.get("each", {})}
    scope = {factor: levels[0] for factor, levels in named.get("scope", {}).items()}
    begun = {"name": ", ".join(level(factor, name) for factor, name in {**each, **scope}.items()), "reason": ""}
    if all(missing(row["ratio"]) for row in rows):
        return {**begun, "reason": "; ".join(dict.fromkeys(row["reason"] for row in rows if row["reason"]))}
    against = {name: [row for row in rows if row["against"] == name] for name in (answer.BASELINE, answer.FIRST)}
    table = _rows(against[answer.BASELINE], study)
    known = [row for row in table if any(not missing(cell["ratio"]) for cell in row["cells"])]
    notes = [note for row in known for note in _notes_of(named, row["levels"])]
    lacking = [cell["reason"] for row in table for cell in row["cells"] if missing(cell["ratio"])]
    cell = next((row["cell_b"] for row in against[answer.BASELINE] if row["cell_b"]), None)
    baseline = study.design.report.row({factor: levels[0] for factor, levels in named["baseline"].items()}, cell)
    steps = _steps(against[answer.FIRST], study)
    return {
        **begun,
        "rows": table,
        "baseline": baseline,
        "steps": steps,
        # With steps each stands beside its own.
        "notes": [] if steps else list(dict.fromkeys(notes)),
        "lacking": list(dict.fromkeys(lacking)),
        "sentences": answer_words.against(baseline, table),
        "sure": answer_words.sure([cell for row in table for cell in row["cells"]], study["alpha"]),
    }


def _rows(rows: list[dict], study: Study) -> list[dict]:
    """Rows of a table, each with `name` and one cell per metric."""
    factors, named = list(study["answer"]["rows"]), []
    for levels, of_row in groupby(rows, lambda row: {factor: row[factor] for factor in factors}):
        cells = [_cell(row, study) for row in of_row]
        path = next((cell["cell_a"] for cell in cells if cell["cell_a"]), None)
        named.append({"name": study.design.report.row(levels, path), "levels": levels, "cells": cells, "note": ""})
    return named


def _steps(rows: list[dict], study: Study) -> dict | None:
    """What the last level of the factor of `steps` costs against its first: a `lead`, and one sentence per level of the
    others."""
    told = [row for row in _rows(rows, study) if any(not missing(cell["ratio"]) for cell in row["cells"])]
    if not told:
        return None
    stepped = study["answer"]["steps"]
    others = [factor for factor in study["answer"]["rows"] if factor != stepped]
    ends, level = study["answer"]["rows"][stepped], study.design.report.level
    for row in told:
        row["name"] = ", ".join(level(factor, row["levels"][factor]) for factor in others)
        row["note"] = " ".join(_notes_of(study["answer"], row["levels"]))
    first, final = level(stepped, ends[0]), level(stepped, ends[-1])
    return {"lead": f"{capital(final)} instead of {first}", **answer_words.steps(told)}


def _cell(row: dict, study: Study) -> dict:
    """A ratio with what is shown of it: `mark` is a loss or gain beyond the margin, or that there is no such loss."""
    mark = ""
    if not missing(row["p_beyond_holm"]) and row["p_beyond_holm"] < study["alpha"]:
        mark = GAIN if (row["ratio"] > 1) == (row["better"] == "higher") else LOSS
    elif not missing(row["p_no_loss_holm"]) and row["p_no_loss_holm"] < study["alpha"]:
        mark = NO_LOSS
    worst = study.design.report.short(row["worst_cell"], study["metrics"][row["metric"]]) if row["worst_cell"] else ""
    size = None if missing(row["ratio"]) else math.log(row["ratio"])
    return {**row, "mark": mark, "size": size, "open_loss": open_loss(row), "worst": worst}


def open_loss(row: dict) -> float | None:
    """The largest loss that the interval leaves open, as a fraction of the baseline's performance; None without an interval."""
    if missing(row["low"]):
        return None
    return max(0.0, 1 - (row["low"] if row["better"] == "higher" else 1 / row["high"]))
