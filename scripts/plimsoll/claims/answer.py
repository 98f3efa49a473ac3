"""The answers to a study's question: ratios to a baseline, one row per deployment and metric, compared as claims are.

Each of the study's answers (`answer` in docs/reference/meanings.yaml) names levels as a claim does: its rows are side
a, and the baseline is side b. The code for claims therefore finds the cells, pairs them by block, averages them and
judges them.
"""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pandas as pd

from plimsoll.analysis import cell_paths, paper_tests
from plimsoll.claims import compare, decision_cost, evaluate, quantities, verdicts
from plimsoll.claims.evaluate import Finders
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import answers
from plimsoll.measuring import status
from plimsoll.planning import availability
from plimsoll.planning.availability import TOO_SHORT

# What a row is compared with: the answer's baseline, or the first level of the factor of `steps`. Where the row has
# several containers, that first level is one container.
BASELINE, FIRST = "baseline", "first"
# Column with the name of the answer that a row belongs to.
NAME = "answer"
COLUMNS = (
    *("against", "arrangement", "lacks", "metric", "label", "unit", "better", "comparisons", "cell_a", "cell_b", "n"),
    *("ratio", "low", "high", "detectable", "p_beyond", "p_beyond_holm", "p_no_loss", "p_no_loss_holm"),
    *("worst_cell", "worst_ratio", "reason"),
)


def table(observations: StudyObservations, alpha: float) -> pd.DataFrame:
    """Return one row per answer, deployment and metric, with the columns NAME, one for each of the factors, and COLUMNS.

    `ratio` is the geometric mean of the ratios of side a to side b within blocks, with its 95 % interval (`low`,
    `high`). If a row has several `comparisons`, they are averaged within each block first. `worst_ratio` is then the
    ratio of the worst one.

    `p_beyond` tests for a difference of more than MARGIN in either direction, and `p_no_loss` for no loss of more than
    MARGIN. Both are adjusted (Holm) for the number of ratios of one answer that have the same level of `each` and are
    compared with the same.

    `reason` says why there is no ratio. Where the paper leaves something open, the first of the design's arrangements
    that fits is used. `arrangement` names it if another arrangement would give other comparisons. `lacks` names what
    claims about such a row need and this host does not have.
    """
    finders = evaluate.contrast_finders(observations.plan, observations.study)
    ratios = [row for one in answers.of_study(observations.study) for row in _of_answer(one, observations, finders, alpha)]
    return pd.DataFrame(ratios, columns=[NAME, *factors(observations.study), *COLUMNS])


def measurable_ratios(observations: StudyObservations, alpha: float) -> dict[str, tuple[list[dict], dict | None]]:
    """Return the ratios that can be measured here, by name: (comparisons, all of them together as a row or None).

    They are in the order in which they are wanted: answer by answer, and within each metric by metric, as the study's
    file names them.
    """
    finders, made = evaluate.contrast_finders(observations.plan, observations.study), {}
    for one in answers.of_study(observations.study):
        claims = [
            (f"{one['name']} {metric} {each} {against} {levels}", _claim(one, metric, each, a, b))
            for metric in one["metrics"]
            for each in _levels(one.get("each", {}))
            for against, sides in _sides(one)
            for levels, a, b in sides
        ]
        for name, claim in claims:
            _, contrasts = _asked(claim, observations, finders)
            if contrasts and not any(map(observations.unavailable, contrasts)):
                made[name] = _compared(claim, observations, contrasts, alpha)
    return made


def read(path: Path) -> pd.DataFrame:
    """Return the table as the stage `claims` wrote it, in this version or an older one. Levels are text, even if they
    look like numbers.

    If the table of runs beside it says what carried messages, the columns `transport_a` and `transport_b` are added.
    """
    named = pd.read_csv(path, nrows=0).columns.difference(COLUMNS)
    table = pd.read_csv(path, dtype=dict.fromkeys(named, str), keep_default_na=False, na_values=[""])
    carried = _transports(path.with_name("runs.csv"))
    return table.assign(**{f"transport_{side}": table[f"cell_{side}"].map(carried) for side in "ab"}) if carried else table


def _transports(runs: Path) -> dict[str, str]:
    """Return what carried the messages of each cell, by its path, for cells whose valid runs agree.

    Empty without a table of runs that says so.
    """
    columns = ("raw", "status", "transport")
    if not runs.is_file() or not set(columns) <= set(pd.read_csv(runs, nrows=0)):
        return {}
    table = pd.read_csv(runs, usecols=columns, dtype=str)
    valid = table[(table["status"] == status.VALID) & table["transport"].notna()]
    seen = valid.groupby(cell_paths.of_raw(valid["raw"]))["transport"].unique()
    return {cell: carried[0] for cell, carried in seen.items() if len(carried) == 1}


def rows_of(table: pd.DataFrame, answer: dict) -> pd.DataFrame:
    """Return the rows of one of a study's answers.

    Tables of older versions, in which a study had only one answer, do not name the answer of a row. There a row belongs
    to an answer if it has the answer's levels and one of its metrics.
    """
    if NAME in table:
        return table[table[NAME].fillna("") == answer["name"]]
    own = pd.Series(False, index=table.index)
    for rows in answers.rows_of(answer):
        levels = {**answer.get("each", {}), **rows}
        if levels.keys() <= set(table):
            own |= table[list(levels)].isin(levels).all(axis=1)
    return table[own & table["metric"].isin(answer["metrics"])]


def factors(study: dict) -> list[str]:
    """Names of the factors that tell the rows of a study's answers apart."""
    levels = [level for one in answers.of_study(study) for level in (one.get("each", {}), *answers.rows_of(one))]
    return list(dict.fromkeys(factor for level in levels for factor in level))


def _of_answer(answer: dict, observations: StudyObservations, finders: Finders, alpha: float) -> Iterator[dict]:
    """Yield the rows of one answer, with p-values adjusted by Holm's method."""
    for each in _levels(answer.get("each", {})):
        for against, sides in _sides(answer):
            rows = [
                {
                    **{NAME: answer["name"], **each, "against": against, **levels},
                    "lacks": _lacks(answer, {**each, **levels}, observations),
                    **_ratio(_claim(answer, metric, each, a, b), observations, finders, alpha),
                }
                for levels, a, b in sides
                for metric in answer["metrics"]
            ]
            for p in ("p_beyond", "p_no_loss"):
                paper_tests.adjust(rows, p, f"{p}_holm")
            yield from rows


def _levels(named: dict[str, list[str]]) -> list[dict[str, str]]:
    """Return every combination of levels, each as a dictionary from factor to level."""
    return [dict(zip(named, levels, strict=True)) for levels in product(*named.values())]


def _sides(answer: dict) -> list[tuple[str, list[tuple[dict, dict, dict]]]]:
    """Return (what rows are compared with, [(levels of the row, side a, side b)]) for each kind of comparison.

    Every row is compared with the baseline. If the answer has `steps`, the last level of that factor is also compared
    with the first one.
    """
    combined = [levels for rows in answers.rows_of(answer) for levels in _levels(rows)]
    rows = [(levels, _named(levels), answer["baseline"]) for levels in combined]
    if "steps" not in answer:
        return [(BASELINE, rows)]
    factor = answer["steps"]
    first, last = answer["rows"][factor][0], answer["rows"][factor][-1]
    steps = [
        ({**levels, factor: last}, _named({**levels, factor: last}), _named({**levels, factor: first}))
        for levels in _levels({**answer["rows"], factor: [last]})
    ]
    return [(BASELINE, rows), (FIRST, steps)]


def _named(levels: dict[str, str]) -> dict[str, list[str]]:
    return {factor: [level] for factor, level in levels.items()}


def _claim(answer: dict, metric: str, each: dict, a: dict, b: dict) -> dict:
    """Return a row of the answer as a claim: that the metric is not worse on side a."""
    scope = {**answer.get("scope", {}), **_named(each)}
    return {"id": "answer", "metrics": [metric], "a": a, "b": b, "scope": scope, "expected": "not_worse", "margin": MARGIN}


def _lacks(answer: dict, levels: dict[str, str], observations: StudyObservations) -> str:
    """Return in words what claims about a row with these levels need and this host does not have."""
    needed = [need for factor, by_level in answer.get("needs", {}).items() for need in by_level.get(levels.get(factor), ())]
    return "; ".join(dict.fromkeys(observations.unmet_needs[need] for need in needed if need in observations.unmet_needs))


def _asked(claim: dict, observations: StudyObservations, finders: Finders) -> tuple[str, list]:
    """Return (arrangement in words, comparisons) for the first arrangement of what the paper leaves open that fits all cells.

    If none fits, the first arrangement is used. The words are empty if every arrangement gives the same comparisons.
    """
    compared = {words: ask(claim) for words, ask in finders.items()}
    fit = {words: asked for words, asked in compared.items() if not evaluate.unfit(asked, observations)}
    (words, contrasts), *_ = (fit or compared).items()
    others = [(other, asked) for other, asked in compared.items() if other != words]
    return words if any(other != contrasts for _, other in others) else "", contrasts


def _ratio(claim: dict, observations: StudyObservations, finders: Finders, alpha: float) -> dict:
    """Return the columns of a row from `metric` on. There is no ratio if nothing or too little was measured."""
    metric = observations.metrics[claim["metrics"][0]]
    words, contrasts = _asked(claim, observations, finders)
    begun = {"arrangement": words, "metric": claim["metrics"][0], **{key: metric[key] for key in ("label", "unit", "better")}}
    unavailable = list(filter(None, map(observations.unavailable, contrasts)))
    if not contrasts or unavailable:
        return {**begun, "comparisons": 0, "n": 0, "reason": availability.join(unavailable).reason or evaluate.NO_CELLS}
    rows, whole = _compared(claim, observations, contrasts, alpha)
    begun |= {"comparisons": len(rows), "n": min(row["n"] for row in rows)}
    if len(rows) == 1:
        begun |= {"cell_a": rows[0]["cell_a"], "cell_b": rows[0]["cell_b"]}
    if whole is None or not math.isfinite(whole.get("low", math.nan)):
        if observations.short_of_time(decision_cost.cells_of_rows(rows)):
            return {**begun, "reason": TOO_SHORT}
        return {**begun, "reason": rows[0]["test"] if len(rows) == 1 else "none: too few blocks have all cells"}
    beyond, no_loss = p_values(whole)
    return {
        **begun,
        **{"n": whole["n"], "ratio": 1 + whole["effect"], "low": 1 + whole["low"], "high": 1 + whole["high"]},
        **{"detectable": whole["detectable"], "p_beyond": beyond, "p_no_loss": no_loss},
        **(_worst(rows, metric["better"]) if len(rows) > 1 else {}),
    }


def _compared(claim: dict, observations: StudyObservations, contrasts: list, alpha: float) -> tuple[list[dict], dict | None]:
    """Return (comparisons, what they show together), with None for the second if several comparisons share too few blocks."""
    quantity = quantities.find(None)
    rows = [
        {**quantity.compare(claim, observations, one, compare.begun(claim, observations, one), alpha), "scale": quantity.scale}
        for one in contrasts
    ]
    return rows, rows[0] if len(rows) == 1 else compare.whole(rows, quantity, alpha)


def p_values(whole: dict) -> tuple[float, float]:
    """Return p for a difference of more than MARGIN in either direction, and p for no loss of more than MARGIN."""
    bounds = quantities.find(None).bounds(MARGIN)
    beyond = verdicts.strength("no_difference", whole["shown"], bounds, False).opposes
    return beyond, verdicts.strength(whole["expected"], whole["shown"], bounds, False).supports


def _worst(rows: list[dict], better: str) -> dict:
    sign = 1 if better == "higher" else -1
    worst = min(rows, key=lambda row: sign * row["effect"])
    return {"worst_cell": worst["cell_a"], "worst_ratio": 1 + worst["effect"]}
