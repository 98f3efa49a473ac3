"""Prepare the answers to a study's question for the pages: sentences that follow from the ratios, and tables of ratios.

All functions are pure.
"""

import math
from itertools import groupby

import pandas as pd

from plimsoll.claims import answer
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config import answers
from plimsoll.config.studies import Study
from plimsoll.pages import answer_recommendation, answer_words
from plimsoll.pages.answer_words import GAIN, LOSS, NO_LOSS
from plimsoll.pages.formats import capital, missing
from plimsoll.planning.availability import TOO_SHORT
from plimsoll.planning.forecasts import GivenTime


def for_template(table: pd.DataFrame, study: Study, given: GivenTime | None = None) -> list[dict]:
    """Return what the template shows of each answer to a study's question.

    Each has its `name`, the answer as it is `said` in a few sentences, and a `recommendation`: what to do, and where that
    holds. `parts` are its parts, one per level of
    `each`, and `unavailable` those that are unavailable. `columns` are the metrics' labels. `several` says whether a ratio
    is of several comparisons. `no_time` is the number of ratios to the baseline that the time was too short for.

    `table` is that of plimsoll.claims.answer, and `given` the time that the study was measured for.
    """
    shown = [_answer(answer.rows_of(table, named), named, study, given) for named in answers.of_study(study)]
    return [_worded(one, named, study, given) for one, named in zip(shown, answers.of_study(study), strict=True)]


def _worded(one: dict, named: dict, study: Study, given: GivenTime | None) -> dict:
    """Return an answer with its sentences."""
    parts = [*one["parts"], *one["unavailable"]]
    advice = answer_recommendation.recommend(parts, named, study["id"] if study.design.MEASURES else None, given)
    said = " ".join(filter(None, [answer_words.in_sentences(one, given, advice.bounded), advice.unknown]))
    return {**one, "said": said, "recommendation": advice.recommendation}


def _answer(table: pd.DataFrame, named: dict, study: Study, given: GivenTime | None) -> dict:
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    each = list(named.get("each", {}))
    by_part = groupby(rows, lambda row: [row[factor] for factor in each])
    parts = [_part(list(of_part), named, study, given) for _, of_part in by_part]
    columns = [study["metrics"][metric] for metric in named["metrics"]]
    return {
        "name": named["name"],
        "parts": [part for part in parts if not part["reason"]],
        "unavailable": [part for part in parts if part["reason"]],
        "columns": [f"{metric['label']}{'' if metric['better'] == 'higher' else ' (less is better)'}" for metric in columns],
        "several": any(row["comparisons"] > 1 for row in rows),
        "no_time": sum(row["reason"] == TOO_SHORT for row in rows if row["against"] == answer.BASELINE),
        "margin": MARGIN,
        "compare": named.get("recommend", {}).get("compare", answers.BASELINE),
        "first": _first(named, study),
    }


def _notes_of(named: dict, levels: dict[str, str]) -> list[str]:
    """Return the notes on rows with these levels."""
    return [texts[levels[factor]] for factor, texts in named.get("notes", {}).items() if levels.get(factor) in texts]


def _arranged(rows: list[dict]) -> list[str]:
    """Return sentences on how these ratios arrange what the paper leaves open."""
    known = [row for row in rows if not missing(row["ratio"])]
    said = []
    for words in dict.fromkeys(row["arrangement"] for row in known if not missing(row["arrangement"])):
        labels = list(dict.fromkeys(row["label"] for row in known if row["arrangement"] == words))
        all_of_them = all(row["arrangement"] == words for row in known)
        which = "These ratios" if all_of_them else f"The ratios of {answer_words.join_names(labels)}"
        judged = "each claim is judged in every way that breaks nothing of its cells"
        said.append(f"{which} are with {words}. The paper leaves that open: {judged}.")
    return said


def _part(rows: list[dict], named: dict, study: Study, given: GivenTime | None) -> dict:
    """Return one table with its sentences; only its `name` and a `reason` if none of its ratios could be measured."""
    level = study.design.report.level
    common = {factor: levels[0] for factor, levels in named.get("scope", {}).items()}
    common = {**{factor: rows[0][factor] for factor in named.get("each", {})}, **common}
    against = {name: [row for row in rows if row["against"] == name] for name in (answer.BASELINE, answer.FIRST)}
    cell = next((row["cell_b"] for row in against[answer.BASELINE] if row["cell_b"]), None)
    baseline = study.design.report.row({factor: levels[0] for factor, levels in named["baseline"].items()}, cell)
    table = _rows(against[answer.BASELINE], named, study, given)
    stepped = _stepped(against[answer.FIRST], named, study, given)
    lead = _lead(named, study)
    by_steps = named.get("recommend", {}).get("compare") == answers.STEPS
    begun = {
        "name": ", ".join(level(factor, name) for factor, name in common.items()),
        "reason": "",
        "compared": stepped if by_steps else table,
        "comparison": lead if by_steps else f"what is set against {baseline}",
    }
    if all(missing(row["ratio"]) for row in rows):
        return {**begun, "reason": "; ".join(dict.fromkeys(row["reason"] for row in rows if row["reason"]))}
    known = [row for row in table if _known(row)]
    lacking = [cell["reason"].removeprefix("none: ") for row in table for cell in row["cells"] if missing(cell["ratio"])]
    # Ratios that there was no time for are counted for the answer as a whole.
    lacking = [reason for reason in lacking if reason != TOO_SHORT]
    steps = {"lead": capital(lead), "items": items} if (items := answer_words.steps(list(filter(_known, stepped)))) else None
    # With steps, each note about a row stands beside its own row.
    of_rows = [] if steps else [note for row in known for note in _notes_of(named, row["levels"])]
    return {
        **begun,
        "rows": table,
        "baseline": baseline,
        "steps": steps,
        "notes": [*dict.fromkeys([*_notes_of(named, common), *of_rows]), *_arranged(rows)],
        "lacking": list(dict.fromkeys(lacking)),
        "sentences": answer_words.set_apart(table),
        "sure": answer_words.sure([cell for row in table for cell in row["cells"]], study["alpha"]),
    }


def _known(row: dict) -> bool:
    return any(not missing(cell["ratio"]) for cell in row["cells"])


def _rows(rows: list[dict], named: dict, study: Study, given: GivenTime | None) -> list[dict]:
    """Return the rows of a table, each with its `name`, `levels`, `note`, and one of its `cells` per metric.

    `lacks` says what claims about the row need that is unavailable here.
    """
    factors, told = list(answers.rows_of(named)[0]), []
    for levels, of_row in groupby(rows, lambda row: {factor: row[factor] for factor in factors}):
        cells = [_cell(row, study, given) for row in of_row]
        path = next((cell["cell_a"] for cell in cells if cell["cell_a"]), None)
        row = {"name": study.design.report.row(levels, path), "levels": levels, "cells": cells, "note": ""}
        # A row that was not measured has another reason, and is not set apart.
        told.append({**row, "lacks": (cells[0].get("lacks") or "") if _known(row) else ""})
    return told


def _stepped(rows: list[dict], named: dict, study: Study, given: GivenTime | None) -> list[dict]:
    """Return the rows of what the last level of the factor of `steps` costs compared with its first.

    There is one row per combination of levels of the other factors.
    """
    others = [factor for factor in answers.rows_of(named)[0] if factor != named.get("steps")]
    told = []
    for row in _rows(rows, named, study, given):
        name = ", ".join(study.design.report.level(factor, row["levels"][factor]) for factor in others)
        note = " ".join([*_notes_of(named, row["levels"]), *filter(None, [answer_words.lacking(row["lacks"])])])
        told.append({**row, "name": name, "note": note})
    return told


def _first(named: dict, study: Study) -> dict | None:
    """Return the levels of a row before any step, and the words for such rows; None for an answer without steps."""
    if "steps" not in named:
        return None
    levels = {named["steps"]: named["rows"][named["steps"]][0]}
    return {"levels": levels, "words": study.design.report.row(levels, None)}


def _lead(named: dict, study: Study) -> str:
    """Return in words what the steps of an answer compare; empty if it has none."""
    if "steps" not in named:
        return ""
    final = study.design.report.row({named["steps"]: named["rows"][named["steps"]][-1]}, None)
    return f"{final} instead of {_first(named, study)['words']}"


def _cell(row: dict, study: Study, given: GivenTime | None) -> dict:
    """Return a ratio with what is shown of it.

    `mark` says that a loss or a gain beyond the margin is shown, or that such a loss is excluded. `none` says why there
    is no ratio.
    """
    mark = ""
    if not missing(row["p_beyond_holm"]) and row["p_beyond_holm"] < study["alpha"]:
        mark = GAIN if (row["ratio"] > 1) == (row["better"] == "higher") else LOSS
    elif not missing(row["p_no_loss_holm"]) and row["p_no_loss_holm"] < study["alpha"]:
        mark = NO_LOSS
    worst = study.design.report.cell_label(row["worst_cell"], study["metrics"][row["metric"]]) if row["worst_cell"] else ""
    size = None if missing(row["ratio"]) else math.log(row["ratio"])
    none = _none(row, given) if size is None else ""
    return {**row, "mark": mark, "size": size, "open_loss": open_loss(row), "worst": worst, "none": none}


def _none(row: dict, given: GivenTime | None) -> str:
    """Return in a few words why there is no ratio."""
    if row["reason"] == TOO_SHORT:
        return answer_words.not_in(given)
    return "too few runs" if row["comparisons"] else "not measured"


def open_loss(row: dict) -> float | None:
    """Return the largest loss that the interval does not exclude, as a fraction of the baseline's performance.

    Return None without an interval.
    """
    if missing(row["low"]):
        return None
    return max(0.0, 1 - (row["low"] if row["better"] == "higher" else 1 / row["high"]))
