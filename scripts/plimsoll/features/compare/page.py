"""Page on two sets of results: self-contained, with the figures in it."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from plimsoll.features.compare import comparison_figure, effects
from plimsoll.features.compare import words as words
from plimsoll.features.compare.junit import cell_name
from plimsoll.features.compare.studies import ANSWERS, AVERAGE, CELL, CHANGED, WATCHED, ComparedStudy, Outcome, in_order
from plimsoll.features.compare.two_sets import DIFFERENT, Terms
from plimsoll.pages import formats, glossary
from plimsoll.pages.verdict_page import MARKS
from plimsoll.result_sets import findings as of_findings

# Width in rem of a picture with one column of panels, and of one with several.
NARROW, WIDE = 34, 52


def render(
    compared: Mapping[str, ComparedStudy], paths: tuple[Path, Path], terms: Terms, ended: Outcome, pictures: Mapping[str, bytes]
) -> str:
    """Return the page as HTML.

    `ended` is the exit status with what decided it. `pictures` are the PNG files by study.
    """
    designs = [one.study.design.report.GLOSSARY for one in compared.values()]
    return (
        formats.environment()
        .get_template("compare/compared.html.j2")
        .render(
            paths=[str(path) for path in paths],
            status=ended.status,
            decided=ended.reason,
            studies=[_study(name, one, terms, pictures.get(name)) for name, one in compared.items()],
            answers=ANSWERS,
            marks=words.MARKS,
            verdict_marks=MARKS,
            days=words.days(terms),
            margin=f"{100 * terms.margin:g}",
            terms=[*glossary.SHARED, *dict.fromkeys(term for terms in designs for term in terms)],
        )
    )


def _study(name: str, one: ComparedStudy, terms: Terms, picture: bytes | None) -> dict:
    deciding, ranked = one.deciding, effects.in_order(one.effects.rows)
    panels = deciding.loc[deciding["low"].notna() & (deciding["kind"] == CELL), "label"].nunique()
    return {
        **{"name": name, "title": one.study["title"], "refusal": one.refusal, "machines": words.machines(one)},
        **{f"of_{side}": words.of_set(one, side) for side in "ab"},
        "left_out": _left_out(one),
        "sums": words.sums(one),
        "metrics": [_metric(row, one.rows) for row in one.metrics.to_dict("records")],
        "changed": _rows(deciding[deciding["answer"].isin(CHANGED)], one),
        "others": _rows(deciding[~deciding["answer"].isin(CHANGED)], one),
        "watched": _rows(one.rows[one.rows["kind"] == WATCHED], one),
        "findings": [
            {**finding, "effects": words.of_effects(finding)}
            for finding in one.findings
            if finding["standing"] in of_findings.CHANGES
        ],
        "different": _effects(ranked[ranked["answer"] == DIFFERENT], one),
        "other_effects": _effects(ranked[ranked["answer"] != DIFFERENT], one),
        "image": base64.b64encode(picture).decode() if picture else "",
        "width": WIDE if panels > 1 else NARROW,
        "caption": comparison_figure.caption(terms.margin),
        "alternative": comparison_figure.alternative(deciding[deciding["kind"] != AVERAGE]),
    }


def _left_out(one: ComparedStudy) -> dict | None:
    if not one.left_out:
        return None
    cells = [{"name": cell_name(cell, one.study), "reason": reason} for cell, reason in one.left_out.items()]
    return {"sentence": words.left_out(one.left_out), "cells": cells}


def _metric(row: Mapping, rows: pd.DataFrame) -> dict:
    """Return a metric's average over all of its cells, and how many of the cells have which answer."""
    answers = rows.loc[(rows["kind"] == CELL) & (rows["metric"] == row["metric"]), "answer"]
    counts = {answer: int((answers == answer).sum()) for answer in ANSWERS}
    return {"name": words.metric(row), "cells": int(row["cells"]), "change": words.change(row), "counts": counts}


def _rows(rows: pd.DataFrame, one: ComparedStudy) -> list[dict]:
    return [
        {
            **{"name": words.name(row, one.study), "answer": row["answer"], "mark": words.MARKS[row["answer"]]},
            **{"a": words.mean(row, "a"), "b": words.mean(row, "b"), "change": words.change(row)},
            **{"p": formats.p_value(row["p_holm"]), "note": words.decision_hint(row)},
        }
        for row in in_order(rows).to_dict("records")
    ]


def _effects(rows: pd.DataFrame, one: ComparedStudy) -> list[dict]:
    return [
        {
            **{"name": words.effect(row, one.study), "answer": row["answer"], "mark": words.MARKS[row["answer"]]},
            **{"a": words.of_effect(row, "a"), "b": words.of_effect(row, "b"), "change": words.effect_changed(row)},
            **{"p": formats.p_value(row["p_holm"]), "note": words.decision_hint(row)},
        }
        for row in rows.to_dict("records")
    ]
