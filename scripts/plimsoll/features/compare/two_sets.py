"""Comparison of two result sets with the same cells: by how much each metric differs, with an answer to whether it does.

A cell's difference is that of the means of its blocks' logarithms, with the variance between sessions (set_sides). Pure.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import paper_tests
from plimsoll.analysis.blocks import ROUNDING
from plimsoll.analysis.sample_sizes import MOST, POWER
from plimsoll.features.compare.set_sides import (
    SESSION_BLOCKS,
    Between,
    Side,
    Values,
    between,
    difference,
    side,
    variance_between,
)
from plimsoll.planning.availability import SMALLEST

ALIKE, BETTER, WORSE, DIFFERENT, UNDECIDED = "alike", "better", "worse", "different", "undecided"
# Largest number of sessions that is ever recommended.
MOST_SESSIONS = 100
HIGHER = "higher"
# Smallest p: it is never 0.
TINY = 1e-300
COLUMNS = (
    *("metric", "cell", "cells", "better", "blocks_a", "blocks_b", "sessions_a", "sessions_b", "mean_a", "mean_b"),
    *("half_a", "half_b", "ratio", "low", "high", "between_blocks", "between_sessions", "degrees"),
    *("p", "p_holm", "p_alike", "p_alike_holm", "answer", "test", "note", "blocks_needed", "sessions_needed"),
)
WELCH, RANKS, SAME, TOO_FEW, NO_RATIO = (
    "Welch, with sessions",
    "ranks",
    "none: the same in every run",
    "none: too few blocks",
    "none: no ratio",
)


@dataclass(frozen=True)
class Terms:
    """Terms of a comparison.

    Two sets are alike within the relative difference `margin`. `alpha` is the level. `session_blocks` is how many
    blocks a session is worth at most. If it is infinite, the answer is only about the sessions that were measured.
    """

    margin: float = 0.05
    alpha: float = 0.05
    session_blocks: float = SESSION_BLOCKS


USUAL = Terms()


def compare(a: pd.DataFrame, b: pd.DataFrame, terms: Terms = USUAL, tables: int = 1) -> pd.DataFrame:
    """Return one row per metric and cell that both tables have, with COLUMNS.

    The tables have `metric`, `cell`, `block`, `value` and `better` (higher or lower). They may have `session` and
    `censored` (whether the value is a limit that a run hit). Several values of a block are replaced by their geometric mean.

    `ratio` is that of b to a, of geometric means, with its 95 % interval. `half_a` and `half_b` are half the intervals
    of the means, relative to the means. `p` is for a difference, and `p_alike` for a difference within the margin (two
    one-sided tests). Both are adjusted by Holm's method for the rows of the table, and for the number of `tables` of
    one comparison.

    `answer` is alike, better, worse or undecided. A cell that is shown to differ by less than the margin is alike, even
    if its difference is significant. `note` says in words what is unusual. For an undecided row, `blocks_needed` is the
    number of blocks of a side that would decide it with a power of 80 %. `sessions_needed` is the number of sessions,
    each with as many blocks as now. Both assume that difference and variance are as measured, and are missing if no
    number would decide.
    """
    tables_of = [_prepared(table) for table in (a, b)]
    shared = set.intersection(*(_cells(table) for table in tables_of))
    return _rows([_only(table, shared) for table in tables_of], "cell", 1, terms, tables)


def averages(a: pd.DataFrame, b: pd.DataFrame, terms: Terms = USUAL, tables: int = 1, least: int = 2) -> pd.DataFrame:
    """Return one row per metric and `group`, with COLUMNS: the geometric mean over the cells that both tables have.

    `group` is a further column of both tables. Groups with fewer than `least` cells are left out. `cell` is the name of
    the group, and `cells` is the number of its cells.

    The variance of an average contains what the cells of a block have in common, whatever cells each block has. All of
    the variance between sessions is assumed to be common to the cells.
    """
    tables_of = [_prepared(table) for table in (a, b)]
    shared = set.intersection(*(_whole(table) for table in tables_of))
    return _rows([_only(table, shared) for table in tables_of], "group", least, terms, tables)


def _prepared(table: pd.DataFrame) -> pd.DataFrame:
    """Return one value per metric, cell, session and block, with its logarithm `log`. It is not finite if a value is not above
    0. The logarithm of a mean would depend on how often a cell runs in a block."""
    filled = table.assign(**{name: value for name, value in (("session", 1), ("censored", False)) if name not in table})
    keys = ["metric", "cell", "session", "block"]
    how = {"value": ("value", "mean"), "log": ("log", "mean"), "censored": ("censored", "any"), "better": ("better", "first")}
    how |= {"group": ("group", "first")} if "group" in table else {}
    each = filled.astype({"value": float, "censored": bool})
    each = each.assign(log=np.log(each["value"].where(each["value"] > 0)).fillna(-np.inf))
    return each.groupby(keys, sort=False).agg(**how).reset_index()


def _cells(table: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(table["metric"], table["cell"], strict=True))


def _only(table: pd.DataFrame, cells: set[tuple[str, str]]) -> pd.DataFrame:
    keys = zip(table["metric"], table["cell"], strict=True)
    return table[np.fromiter((key in cells for key in keys), bool, len(table))]


def _whole(table: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the metrics and cells that an average can have: enough blocks in every session, and a logarithm in each."""
    sessions = table["session"].nunique()
    return {key for key, values in _split(table, "cell").items() if _complete(values, sessions)}


def _complete(values: Values, sessions: int) -> bool:
    number = np.unique(values.session, return_counts=True)[1]
    return bool(
        len(number) == sessions and number.min() >= SMALLEST and np.isfinite(values.log).all() and not values.censored.any()
    )


def _split(table: pd.DataFrame, by: str) -> dict[tuple[str, str], Values]:
    """Return the values of a prepared table, by the metric and the column `by`."""
    if table.empty:
        return {}
    codes, keys = pd.factorize(pd.MultiIndex.from_frame(table[["metric", by]]))
    order = np.argsort(codes, kind="stable")
    numbered = (pd.factorize(table[name])[0] for name in ("cell", "session", "block"))
    columns = [*numbered, *(table[name].to_numpy() for name in ("value", "log", "censored"))]
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    parts = zip(*(np.split(column[order], cuts) for column in columns), strict=True)
    return {tuple(key): Values(*part) for key, part in zip(keys, parts, strict=True)}


def _rows(pair: list[pd.DataFrame], by: str, least: int, terms: Terms, tables: int) -> pd.DataFrame:
    """Return one row per metric and value of the column `by`, without those that have fewer than `least` cells."""
    of_a, of_b = (_split(table, by) for table in pair)
    metrics = [{key[0]: values for key, values in _split(table.assign(all=""), "all").items()} for table in pair]
    spread = {metric: between([of_set[metric] for of_set in metrics], terms.session_blocks) for metric in metrics[0]}
    better = dict(zip(pair[0]["metric"], pair[0]["better"], strict=True))
    rows = []
    for (metric, name), own in of_a.items():
        cells = len(np.unique(own.cell))
        if cells >= least:
            described = {"metric": metric, "cell": name, "cells": cells, "better": better[metric]}
            rows.append(described | _row(own, of_b[metric, name], spread[metric], terms))
    return pd.DataFrame(with_answers(rows, terms, tables, _direction), columns=list(COLUMNS))


def _row(a: Values, b: Values, between: Between, terms: Terms) -> dict:
    """Return the columns of a row from its numbers of blocks on, before p is adjusted."""
    counted = {**_counted(a, "a"), **_counted(b, "b")}
    if a.censored.any() or b.censored.any():
        return counted | _at_limit(a, b)
    if not (np.isfinite(a.log).all() and np.isfinite(b.log).all()):
        return counted | {"test": NO_RATIO, "note": "a value is 0 or less, and has no ratio"}
    sides = [side(values) for values in (a, b)]
    if None in sides:
        return counted | _means(a, b) | {"test": TOO_FEW, "note": f"a side has fewer than {SMALLEST} blocks"}
    return counted | _ratios(*sides, of_sides(*sides, between, math.log1p(terms.margin), terms.alpha))


def _counted(values: Values, which: str) -> dict[str, int]:
    blocks_of_all = set(zip(values.session.tolist(), values.block.tolist(), strict=True))
    return {f"blocks_{which}": len(blocks_of_all), f"sessions_{which}": len(set(values.session.tolist()))}


def _means(a: Values, b: Values) -> dict:
    """Return geometric means and their ratio, without an interval."""
    mean_a, mean_b = (float(np.exp(values.log.mean())) for values in (a, b))
    return {"mean_a": mean_a, "mean_b": mean_b, "ratio": mean_b / mean_a}


def _distinct(of_a: int, of_b: int) -> float:
    """Return the smallest two-sided p of ranks: all values of one side lie beyond all values of the other."""
    return 2 / math.comb(of_a + of_b, of_a)


def _ratios(a: Side, b: Side, compared: dict) -> dict:
    """Return a comparison on logarithms, as means and their ratio."""
    told = {"ratio": "difference", "low": "low", "high": "high"}
    return {
        **compared,
        **{"mean_a": math.exp(a.mean), "mean_b": math.exp(b.mean), "half_a": _half(a), "half_b": _half(b)},
        **{name: math.exp(compared[own]) for name, own in told.items() if own in compared},
    }


def of_sides(a: Side, b: Side, between: Between, margin: float, alpha: float) -> dict:
    """Return what two sets say of the same thing, on the scale of its test, before p is adjusted (`with_answers`).

    It has the `difference` (b less a) with its 95 % interval, p for a difference, and p for a difference within the `margin`.
    """
    found = difference(a, b, between)
    row = {
        "difference": found.mean,
        "between_blocks": math.sqrt(a.error + b.error),
        "between_sessions": math.sqrt(variance_between(a, b, between)),
    }
    if found.error < ROUNDING:
        return row | _constant(found.mean, _distinct(a.blocks, b.blocks))
    half = float(special.stdtrit(found.degrees, 0.975)) * found.error
    return {
        **row,
        **{"low": found.mean - half, "high": found.mean + half, "degrees": found.degrees, "test": WELCH},
        "p": max(TINY, float(2 * special.stdtr(found.degrees, -abs(found.mean) / found.error))),
        "p_alike": max(TINY, found.above(-margin), found.below(margin)),
        "needing": lambda number: _needed(a, b, between, margin, alpha / number),
    }


def _half(of: Side) -> float:
    """Return half of the 95 % interval of a mean, from its blocks, relative to the mean."""
    return float(np.expm1(special.stdtrit(of.degrees, 0.975) * math.sqrt(of.error)))


def _constant(mean: float, by_ranks: float) -> dict:
    """Return the result for values that do not vary: alike without a test if both sides are equal, otherwise a test of
    ranks."""
    if abs(mean) < ROUNDING:
        return {"test": SAME, "note": "the same in every run", "answer": ALIKE, "low": 0.0, "high": 0.0}
    return {"test": RANKS, "p": by_ranks, "note": "no run of either side varies, so that only ranks can be compared"}


def _at_limit(a: Values, b: Values) -> dict:
    """Return the result for sides with runs that hit their limit, of which only ranks are known."""
    told = [f"{int(values.censored.sum())} of {len(values.censored)}" for values in (a, b)]
    found = paper_tests.compare_censored(a.value, b.value, a.censored, b.censored)
    note = f"runs at their limit: {told[0]} in A, {told[1]} in B"
    if math.isnan(found["p"]):
        return {"test": found["test"], "note": note}
    return {
        **{
            "test": RANKS,
            "p": max(found["p"], _distinct(len(a.log), len(b.log))),
            "note": f"{note}; the ratio is a bound, and days are not allowed for",
        },
        **{"mean_a": found["mean_a"], "mean_b": found["mean_b"], "ratio": 1 / found["ratio_of_means"]},
    }


def with_answers(rows: list[dict], terms: Terms, tables: int, changed: Callable[[dict], str]) -> list[dict]:
    """Return the rows with an `answer`, and with p adjusted for their number and for the `tables` of one comparison.

    The answer is ALIKE, UNDECIDED (with what would decide it), or the result of `changed` for a significantly different row.
    """
    tested = max(paper_tests.adjust(rows, p, f"{p}_holm") for p in ("p", "p_alike"))
    for row in rows:
        for p in ("p_holm", "p_alike_holm"):
            if p in row:
                row[p] = min(1.0, tables * row[p])
        row.setdefault("answer", _answer(row, terms.alpha, changed))
        needing = row.pop("needing", None)
        if needing and row["answer"] == UNDECIDED:
            row.update(needing(tables * tested))
        row.setdefault("note", "")
    return rows


def _answer(row: dict, alpha: float, changed: Callable[[dict], str]) -> str:
    if row.get("p_alike_holm", 1.0) < alpha:
        return ALIKE
    return changed(row) if row.get("p_holm", 1.0) < alpha else UNDECIDED


def _direction(row: dict) -> str:
    """Return whether a ratio is BETTER or WORSE, by the direction of its metric."""
    return BETTER if (row["ratio"] > 1) == (row["better"] == HIGHER) else WORSE


def _needed(a: Side, b: Side, between: Between, margin: float, level: float) -> dict:
    """Return the blocks of a side in one session, or the sessions with as many blocks as now, that decide a row at a level."""
    now = min(a.blocks / a.sessions, b.blocks / b.sessions)

    def blocks_do(number: int) -> bool:
        return _decides(*(_scaled(one, number * one.sessions / one.blocks, 1) for one in (a, b)), between, margin, level)

    def sessions_do(number: int) -> bool:
        times = (number / one.sessions for one in (a, b))
        return _decides(*(_scaled(one, more, more) for one, more in zip((a, b), times, strict=True)), between, margin, level)

    return {
        "blocks_needed": _smallest(blocks_do, math.ceil(now) + 1, MOST),
        "sessions_needed": _smallest(sessions_do, max(a.sessions, b.sessions) + 1, MOST_SESSIONS),
    }


def _scaled(of: Side, blocks_times: float, sessions_times: float) -> Side:
    """Return a side with `blocks_times` as many blocks, in `sessions_times` as many sessions."""
    number = of.blocks * blocks_times
    sessions = of.sessions * sessions_times
    return Side(of.mean, of.error / blocks_times, max(1.0, number - sessions), round(number), sessions)


def _decides(a: Side, b: Side, between: Between, margin: float, level: float) -> bool:
    """Return whether a test at a level would show this difference, or that it is within the margin, with a power of 80 %."""
    found = difference(a, b, between)
    size = abs(found.mean)
    ahead = special.stdtrit(found.degrees, POWER)
    if size >= (special.stdtrit(found.degrees, 1 - level / 2) + ahead) * found.error:
        return True
    room = margin - size
    return room >= (special.stdtrit(found.degrees, 1 - level) + special.stdtrit(found.degrees, (1 + POWER) / 2)) * found.error


def _smallest(does: Callable[[int], bool], least: int, most: int) -> float:
    """Return the smallest number from `least` to `most` for which `does` is true; NaN if it is true for no number.

    If `does` is true for a number, it must be true for all larger ones.
    """
    if not does(most):
        return math.nan
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if does(middle) else (middle + 1, most)
    return float(most)
