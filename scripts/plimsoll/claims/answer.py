"""The answers to a study's question: ratios to a baseline, one row per deployment and metric, compared as claims are.

Each of the study's answers (`answer`, config/README.md) names levels as a claim does: those of the rows are side a, the
baseline is side b. So cells are found, paired by block, averaged and judged by what finds, pairs, averages and judges those of
claims.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

import pandas as pd

from plimsoll.analysis import paper_tests
from plimsoll.claims import compare, evaluate, needs, quantities, verdicts
from plimsoll.claims.evaluate import Asked
from plimsoll.claims.measured import Measured
from plimsoll.claims.needs import Part
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.config import answers
from plimsoll.planning.allocation import Need
from plimsoll.planning.availability import TOO_SHORT

# What a row is set against: the answer's baseline, or the first level of the factor of `steps` (one container, where the row
# has several).
BASELINE, FIRST = "baseline", "first"
# What tells an answer's rows from those of others.
NAME = "answer"
COLUMNS = (
    *("against", "arrangement", "lacks", "metric", "label", "unit", "better", "comparisons", "cell_a", "cell_b", "n"),
    *("ratio", "low", "high", "detectable", "p_beyond", "p_beyond_holm", "p_no_loss", "p_no_loss_holm"),
    *("worst_cell", "worst_ratio", "reason"),
)


def table(measured: Measured, alpha: float) -> pd.DataFrame:
    """One row per answer, deployment and metric, with the answer's NAME, a column for each of the factors, and COLUMNS.

    `ratio` is the geometric mean of the values of side a over those of side b within blocks, with its 95 % interval; of several
    `comparisons` it is that of their averages within blocks, and `worst_ratio` that of the worst of them. `p_beyond` is for a
    difference of more than the MARGIN either way, `p_no_loss` for no loss of more than that; both are adjusted (Holm) for the
    number of ratios of one answer's level of `each` against the same. Where there is no ratio, `reason` says why. What the
    paper leaves open is arranged in the first of the design's ways, in words in `arrangement` where another way is another
    comparison. `lacks` is what this host has not of what statements about such a row need.
    """
    arranged = evaluate.asking(measured.plan, measured.study)
    ratios = [row for one in answers.of(measured.study) for row in _of_answer(one, measured, arranged, alpha)]
    return pd.DataFrame(ratios, columns=[NAME, *factors(measured.study), *COLUMNS])


def parts(measured: Measured, alpha: float) -> dict[str, Part]:
    """Return each ratio that can be measured here as what must come out for a claim that it is no loss, by a name of its own.

    They come in the order in which they are wanted: answer by answer, and in each metric by metric, as the study names them.
    `p` of a part's result is the smaller one of those for a difference beyond the MARGIN and for no loss of more than that.
    """
    arranged, made = evaluate.asking(measured.plan, measured.study), {}
    for one in answers.of(measured.study):
        claims = [
            (f"{one['name']} {metric} {each} {against} {levels}", _claim(one, metric, each, a, b))
            for metric in one["metrics"]
            for each in _levels(one.get("each", {}))
            for against, sides in _sides(one)
            for levels, a, b in sides
        ]
        for name, claim in claims:
            _, contrasts = _asked(claim, measured, arranged)
            if contrasts and not any(map(measured.reason, contrasts)):
                rows, whole = _compared(claim, measured, contrasts, alpha)
                made[name] = _part(name, rows, whole)
    return made


def _part(name: str, rows: list[dict], whole: dict | None) -> Part:
    """A ratio as a part of a claim, of which nothing else is left open."""
    result = {"id": name, "quantity": None, "asked": {}, "verdict": verdicts.INCONCLUSIVE, "whole": whole, "p": 1.0}
    result["holds"] = verdicts.AVERAGE if len(rows) > 1 else verdicts.EACH
    if whole and "shown" in whole:
        result["p"] = min(_shown(whole))
    of_table = [{**dict.fromkeys(compare.COLUMNS, math.nan), **row} for row in rows]
    return Part((name, 1, ""), result, of_table)


def wanted(
    ratios: Mapping[str, Part], noise: needs.Noise, alpha: float, least: int, elsewhere: needs.Elsewhere | None = None
) -> list[Need]:
    """Return the blocks that decide for each of the ratios (`parts`) whether it is a loss of the MARGIN, in their order.

    p is adjusted for their number. None needs fewer blocks than the `least`. Ratios that are clear already need no more than
    these, and neither do those of which it is not known what they need.
    """
    number = max(1, len(ratios))
    clear = [name for name, part in ratios.items() if number * part.result["p"] < needs.CLEAR]
    asked = needs.of({name: [part] for name, part in ratios.items()}, clear, noise, alpha / number, elsewhere)
    known = {need.finding: need for need in asked.needs}
    return [known.get(name, need).at_least(least) for name, need in zip(ratios, first(ratios.values(), least), strict=True)]


def first(ratios: Iterable[Part], least: int) -> list[Need]:
    """Return what ratios need for a first answer: the `least` blocks of each of their cells."""
    return [Need(part.name[0], dict.fromkeys(needs.cells_of_rows(part.rows), least)) for part in ratios]


def read(path: Path) -> pd.DataFrame:
    """The table as the stage `claims` left it, of this version or an older one; levels are text, whatever they look like."""
    named = pd.read_csv(path, nrows=0).columns.difference(COLUMNS)
    return pd.read_csv(path, dtype=dict.fromkeys(named, str), keep_default_na=False, na_values=[""])


def of(table: pd.DataFrame, answer: dict) -> pd.DataFrame:
    """The rows of one of a study's answers. A table of before a study could have several does not say whose a row is: there it
    is an answer's if it has its levels and one of its metrics."""
    if NAME in table:
        return table[table[NAME].fillna("") == answer["name"]]
    own = pd.Series(False, index=table.index)
    for rows in answers.rows_of(answer):
        levels = {**answer.get("each", {}), **rows}
        if levels.keys() <= set(table):
            own |= table[list(levels)].isin(levels).all(axis=1)
    return table[own & table["metric"].isin(answer["metrics"])]


def factors(study: dict) -> list[str]:
    """The factors that tell the rows of a study's answers apart."""
    levels = [level for one in answers.of(study) for level in (one.get("each", {}), *answers.rows_of(one))]
    return list(dict.fromkeys(factor for level in levels for factor in level))


def _of_answer(answer: dict, measured: Measured, arranged: Asked, alpha: float) -> Iterator[dict]:
    """The rows of one answer."""
    for each in _levels(answer.get("each", {})):
        for against, sides in _sides(answer):
            rows = [
                {
                    **{NAME: answer["name"], **each, "against": against, **levels},
                    "lacks": _lacks(answer, {**each, **levels}, measured),
                    **_ratio(_claim(answer, metric, each, a, b), measured, arranged, alpha),
                }
                for levels, a, b in sides
                for metric in answer["metrics"]
            ]
            for p in ("p_beyond", "p_no_loss"):
                paper_tests.adjust(rows, p, f"{p}_holm")
            yield from rows


def _levels(named: dict[str, list[str]]) -> list[dict[str, str]]:
    """Every combination of levels."""
    return [dict(zip(named, levels, strict=True)) for levels in product(*named.values())]


def _sides(answer: dict) -> list[tuple[str, list[tuple[dict, dict, dict]]]]:
    """(against what, [(levels of the row, side a, side b)]): each row and the baseline; the last and the first of the factor of
    its steps."""
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
    """What is asked, as a claim: that the metric is not worse on side a."""
    scope = {**answer.get("scope", {}), **_named(each)}
    return {"id": "answer", "metrics": [metric], "a": a, "b": b, "scope": scope, "expected": "not_worse", "margin": MARGIN}


def _lacks(answer: dict, levels: dict[str, str], measured: Measured) -> str:
    """What this host has not of what statements about a row with these levels need, in words."""
    needed = [need for factor, by_level in answer.get("needs", {}).items() for need in by_level.get(levels.get(factor), ())]
    return "; ".join(dict.fromkeys(measured.lacking[need] for need in needed if need in measured.lacking))


def _asked(claim: dict, measured: Measured, arranged: Asked) -> tuple[str, list]:
    """(how what the paper leaves open is arranged, in words; what is compared), in the first of the design's ways that breaks
    nothing of what the cells are. There are no words where every way comes to the same comparisons."""
    compared = {words: ask(claim) for words, ask in arranged.items()}
    fit = {words: asked for words, asked in compared.items() if not evaluate.unfit(asked, measured)}
    (words, contrasts), *_ = (fit or compared).items()
    others = [(other, asked) for other, asked in compared.items() if other != words]
    return words if any(other != contrasts for _, other in others) else "", contrasts


def _ratio(claim: dict, measured: Measured, arranged: Asked, alpha: float) -> dict:
    """The cells of a row from `metric` on; without a ratio where nothing was measured or too little."""
    metric = measured.metrics[claim["metrics"][0]]
    words, contrasts = _asked(claim, measured, arranged)
    begun = {"arrangement": words, "metric": claim["metrics"][0], **{key: metric[key] for key in ("label", "unit", "better")}}
    reasons = [reason for reason in map(measured.reason, contrasts) if reason]
    if not contrasts or reasons:
        return {**begun, "comparisons": 0, "n": 0, "reason": "; ".join(dict.fromkeys(reasons)) or evaluate.NO_CELLS}
    rows, whole = _compared(claim, measured, contrasts, alpha)
    begun |= {"comparisons": len(rows), "n": min(row["n"] for row in rows)}
    if len(rows) == 1:
        begun |= {"cell_a": rows[0]["cell_a"], "cell_b": rows[0]["cell_b"]}
    if whole is None or not math.isfinite(whole.get("low", math.nan)):
        if measured.short_of_time(needs.cells_of_rows(rows)):
            return {**begun, "reason": TOO_SHORT}
        return {**begun, "reason": rows[0]["test"] if len(rows) == 1 else "none: too few blocks have all cells"}
    beyond, no_loss = _shown(whole)
    return {
        **begun,
        **{"n": whole["n"], "ratio": 1 + whole["effect"], "low": 1 + whole["low"], "high": 1 + whole["high"]},
        **{"detectable": whole["detectable"], "p_beyond": beyond, "p_no_loss": no_loss},
        **(_worst(rows, metric["better"]) if len(rows) > 1 else {}),
    }


def _compared(claim: dict, measured: Measured, contrasts: list, alpha: float) -> tuple[list[dict], dict | None]:
    """(comparisons, what they say on the whole); None on the whole where several share too few blocks."""
    quantity = quantities.find(None)
    rows = [
        {**quantity.compare(claim, measured, one, compare.begun(claim, measured, one), alpha), "scale": quantity.scale}
        for one in contrasts
    ]
    return rows, rows[0] if len(rows) == 1 else compare.whole(rows, quantity, alpha)


def _shown(whole: dict) -> tuple[float, float]:
    """p for a difference of more than the MARGIN either way, and for no loss of more than that."""
    bounds = quantities.find(None).bounds(MARGIN)
    beyond = verdicts.strength("no_difference", whole["shown"], bounds, False).opposes
    return beyond, verdicts.strength(whole["expected"], whole["shown"], bounds, False).supports


def _worst(rows: list[dict], better: str) -> dict:
    sign = 1 if better == "higher" else -1
    worst = min(rows, key=lambda row: sign * row["effect"])
    return {"worst_cell": worst["cell_a"], "worst_ratio": 1 + worst["effect"]}
