"""Comparison of two result sets with the same cells: by how much each metric differs, with an answer to whether it does.

The blocks of two sets have nothing in common. A cell's difference is therefore Welch's: of the means of the blocks'
logarithms. But two days of one machine differ by more than their blocks show. A session is a level above blocks, so its
part of the variance is added to that of the blocks. First this is a share of the blocks' variance, as found between
sessions of machines that were not changed (docs/reports/compare.md). The more sessions a set has, the more these count. Pure.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import blocks, paper_tests
from plimsoll.analysis.blocks import MOST, POWER, ROUNDING, SMALLEST

ALIKE, BETTER, WORSE, DIFFERENT, UNDECIDED = "alike", "better", "worse", "different", "undecided"
# A session says no more than this many blocks of different days would, however many blocks it has. So the variance
# between sessions is that between blocks divided by this number. It counts as if it were known from SESSION_DEGREES
# sessions.
SESSION_BLOCKS, SESSION_DEGREES = 6.0, 8.0
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


class Values(NamedTuple):
    """One value per cell, session and block, with its logarithm (NaN if it has none). Cells, sessions and blocks are
    numbers."""

    cell: np.ndarray
    session: np.ndarray
    block: np.ndarray
    value: np.ndarray
    log: np.ndarray
    censored: np.ndarray

    def of(self, chosen: np.ndarray) -> "Values":
        """Return the values that are `chosen` (a mask)."""
        return Values(*(column[chosen] for column in self))


class Side(NamedTuple):
    """What a set says of a cell, or of an average over cells, on logarithms.

    It has the `mean`, the variance of the mean from the blocks (`error`) with its `degrees` of freedom, and the numbers
    of `blocks` and `sessions`.
    """

    mean: float
    error: float
    degrees: float
    blocks: int
    sessions: int


class Between(NamedTuple):
    """The variance between sessions of a metric, and its degrees of freedom."""

    variance: float
    degrees: float


def compare(a: pd.DataFrame, b: pd.DataFrame, terms: Terms = USUAL, tables: int = 1) -> pd.DataFrame:
    """Return one row per metric and cell that both tables have, with COLUMNS.

    The tables have `metric`, `cell`, `block`, `value` and `better` (higher or lower). They may have `session` and
    `censored` (whether the value is a limit that a run hit). Several values of a block are replaced by their mean.

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
    """Return one value per metric, cell, session and block, with its logarithm `log`."""
    filled = table.assign(**{name: value for name, value in (("session", 1), ("censored", False)) if name not in table})
    keys = ["metric", "cell", "session", "block"]
    how = {"value": ("value", "mean"), "censored": ("censored", "any"), "better": ("better", "first")}
    how |= {"group": ("group", "first")} if "group" in table else {}
    whole = filled.astype({"value": float, "censored": bool}).groupby(keys, sort=False).agg(**how).reset_index()
    return whole.assign(log=np.log(whole["value"].where(whole["value"] > 0)))


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


def between(sets: Sequence[Values], session_blocks: float = SESSION_BLOCKS) -> Between:
    """Return the variance between sessions of one metric, from all cells of one or several sets (`between_sessions`)."""
    return between_sessions([_spreads(one.of(np.isfinite(one.log) & ~one.censored)) for one in sets], session_blocks)


class Spreads(NamedTuple):
    """Mean and spread of each cell and session of a set, from the values of its blocks on the scale of the test.

    `cell` is a number, `mean` the mean, and `squares` the sum of squares about it (variance times degrees of freedom).
    `number` is the number of values, with their `degrees` of freedom.
    """

    cell: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    number: np.ndarray
    degrees: np.ndarray


def between_sessions(sets: Sequence[Spreads], session_blocks: float = SESSION_BLOCKS) -> Between:
    """Return the variance between sessions, from all cells of one or several sets.

    The prior is the blocks' variance divided by `session_blocks`, a share that counts as known from SESSION_DEGREES
    sessions. Sets of several sessions add what they show, with the degrees of freedom of their sessions and not of
    their cells: a session affects all cells. If `session_blocks` is infinite, the variance is 0.
    """
    degrees = sum(float(each.degrees.sum()) for each in sets)
    if not degrees or math.isinf(session_blocks):
        return Between(0.0, SESSION_DEGREES)
    within = sum(float(each.squares.sum()) for each in sets) / degrees
    # The prior is a product of two numbers, of which each is known with limited precision: the share, and the blocks' variance.
    known = 1 / (1 / SESSION_DEGREES + 1 / degrees)
    total = known * within / session_blocks
    for each in sets:
        seen, sessions = _seen(each, within)
        total, known = total + sessions * seen, known + sessions
    return Between(total / known, known)


def _spreads(values: Values) -> Spreads:
    pairs, each = np.unique(np.stack([values.cell, values.session]), axis=1, return_inverse=True)
    each = each.ravel()
    number = np.bincount(each)
    mean = np.bincount(each, values.log) / number
    squares = np.bincount(each, (values.log - mean[each]) ** 2)
    return Spreads(pairs[0], mean, np.where(squares > ROUNDING**2, squares, 0.0), number, number - 1)


def _seen(spreads: Spreads, within: float) -> tuple[float, int]:
    """Return (variance between the sessions of a set, degrees of freedom).

    It is the variance of the sessions' means, less the part that their blocks explain.
    """
    each = np.unique(spreads.cell, return_inverse=True)[1]
    number = np.bincount(each)
    free = int((number - 1).sum())
    if not free:
        return 0.0, 0
    middle = np.bincount(each, spreads.mean) / number
    squares = float(((spreads.mean - middle[each]) ** 2).sum())
    by_blocks = float(((1 - 1 / number[each]) * within / spreads.number).sum())
    return max(0.0, (squares - by_blocks) / free), int(number.max()) - 1


def side(values: Values) -> Side | None:
    """Return what a set says of a cell, or of an average over the cells that the values are of.

    None if a session has fewer than SMALLEST blocks. The variance of an average is that of the sums over a block of
    what each value adds to the mean. So it contains what the values of a block have in common. For one cell it is the
    variance of its values divided by their number.
    """
    found = [_session(values.of(values.session == one)) for one in np.unique(values.session)]
    return None if not found or any(one is None for one in found) else of_sessions(found)


def of_sessions(found: Sequence[tuple[float, float, int, int]]) -> Side:
    """Return what the sessions of a set say together: the mean of their means.

    `found` has (mean, variance of the mean, blocks, degrees of freedom of the variance) of each session.
    """
    means, errors, numbers, degrees = zip(*found, strict=True)
    number = len(found)
    return Side(float(np.mean(means)), float(sum(errors)) / number**2, float(sum(degrees)), int(sum(numbers)), number)


def _session(values: Values) -> tuple[float, float, int, int] | None:
    """Return (mean, variance of the mean, blocks, degrees of freedom) of one session; None for fewer than SMALLEST blocks."""
    (_, cell), (_, block) = (np.unique(column, return_inverse=True) for column in (values.cell, values.block))
    number = np.bincount(cell)
    means = np.bincount(cell, values.log) / number
    added = np.bincount(block, (values.log - means[cell]) / number[cell]) / len(number)
    count = len(added)
    if count < SMALLEST:
        return None
    varies = np.abs(added).max() > ROUNDING
    return float(means.mean()), float((added**2).sum()) * count / (count - 1) if varies else 0.0, count, count - 1


def difference(a: Side, b: Side, between: Between) -> blocks.Mean:
    """Return the difference of two sides (b less a) with its standard error and degrees of freedom (Welch and Satterthwaite).

    The variance between sessions is one more part of the variance.
    """
    parts = [(a.error, a.degrees), (b.error, b.degrees), (_apart(a, b, between), between.degrees)]
    variance = sum(part for part, _ in parts)
    spread = sum(part**2 / degrees for part, degrees in parts)
    return blocks.Mean(b.mean - a.mean, math.sqrt(variance), variance**2 / spread if spread else math.inf)


def _apart(a: Side, b: Side, between: Between) -> float:
    """Return the part of a difference's variance that is between sessions."""
    return between.variance * (1 / a.sessions + 1 / b.sessions)


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
        "between_sessions": math.sqrt(_apart(a, b, between)),
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
