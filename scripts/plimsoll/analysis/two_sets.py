"""Two sets of results of the same cells: by how much each metric differs, with an answer to whether it does.

The blocks of two sets have nothing in common, so a cell's difference is Welch's: of the means of the blocks' logarithms. But
two days of one machine differ by more than their blocks tell. A session is a level above blocks, and its part of the variance
stands beside that of the blocks: at first a share of the blocks' variance, as it was between sessions of machines that nobody
had changed (docs/compare.md), and the more sessions a set has of its own, the more what these say. Pure.
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
# However many blocks a session has, it tells no more than so many would if each were of another day: the variance between
# sessions is that between blocks over this. It is taken as if it were known from so many sessions.
SESSION_BLOCKS, SESSION_DEGREES = 6.0, 8.0
# More sessions than this are never foretold.
MOST_SESSIONS = 100
HIGHER = "higher"
# No p is 0.
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
    """What is asked: within which relative difference two sets are alike, the level, and how many blocks a session is worth at
    most (infinitely many: nothing is said beyond the sessions that were measured)."""

    margin: float = 0.05
    alpha: float = 0.05
    session_blocks: float = SESSION_BLOCKS


USUAL = Terms()


class Values(NamedTuple):
    """One value per cell, session and block, with its logarithm (NaN of what has none); cells and the others are numbers."""

    cell: np.ndarray
    session: np.ndarray
    block: np.ndarray
    value: np.ndarray
    log: np.ndarray
    censored: np.ndarray

    def of(self, chosen: np.ndarray) -> "Values":
        """Those of the values that are chosen."""
        return Values(*(column[chosen] for column in self))


class Side(NamedTuple):
    """What a set says of a cell or of an average over cells, on logarithms: the `mean`, its variance as the blocks tell it
    (`error`) with its degrees of freedom, and how many blocks and sessions it has."""

    mean: float
    error: float
    degrees: float
    blocks: int
    sessions: int


class Between(NamedTuple):
    """The variance between sessions of a metric, and the degrees of freedom with which it is known."""

    variance: float
    degrees: float


def compare(a: pd.DataFrame, b: pd.DataFrame, terms: Terms = USUAL, tables: int = 1) -> pd.DataFrame:
    """One row per metric and cell that both tables have, with COLUMNS.

    The tables have `metric`, `cell`, `block`, `value` and `better` (higher or lower), and perhaps `session` and `censored`
    (whether the value is a limit that a run hit). Several values of a block stand for their mean.

    `ratio` is that of b to a, of geometric means, with its 95 % interval; `half_a` and `half_b` are half the intervals of the
    means, relative to them. `p` is for a difference, `p_alike` for one within the margin (two one-sided tests); both are
    adjusted by Holm's method for the rows of the table, and for the number of `tables` of one comparison. `answer` is one of
    the four; a cell that differs by less than the margin is alike, even if its difference is not chance. `note` says in words
    what is unusual. Of an undecided row, `blocks_needed` is how many blocks a side would decide it with a power of 80 %, and
    `sessions_needed` how many sessions of as many blocks as now, if both are what they seem to be; missing if none would.
    """
    tables_of = [_prepared(table) for table in (a, b)]
    shared = set.intersection(*(_cells(table) for table in tables_of))
    return _rows([_only(table, shared) for table in tables_of], "cell", 1, terms, tables)


def averages(a: pd.DataFrame, b: pd.DataFrame, terms: Terms = USUAL, tables: int = 1, least: int = 2) -> pd.DataFrame:
    """One row per metric and `group`, a further column of both tables, with COLUMNS: the geometric mean over the cells that
    both have, of groups that have at `least` so many. `cell` is the group's name, `cells` their number.

    The variance of an average is that of what blocks have in common, whatever cells each of them has. All of the variance
    between sessions is taken to be common to the cells.
    """
    tables_of = [_prepared(table) for table in (a, b)]
    shared = set.intersection(*(_whole(table) for table in tables_of))
    return _rows([_only(table, shared) for table in tables_of], "group", least, terms, tables)


def _prepared(table: pd.DataFrame) -> pd.DataFrame:
    """One value per metric, cell, session and block, with its logarithm `log`."""
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
    """Metrics and cells that an average can have: enough blocks in every session, and a logarithm in each."""
    sessions = table["session"].nunique()
    return {key for key, values in _split(table, "cell").items() if _complete(values, sessions)}


def _complete(values: Values, sessions: int) -> bool:
    number = np.unique(values.session, return_counts=True)[1]
    return bool(
        len(number) == sessions and number.min() >= SMALLEST and np.isfinite(values.log).all() and not values.censored.any()
    )


def _split(table: pd.DataFrame, by: str) -> dict[tuple[str, str], Values]:
    """The values of a prepared table, by metric and another column."""
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
    """One row per metric and what the tables are split `by`."""
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
    return pd.DataFrame(answered(rows, terms, tables, _direction), columns=list(COLUMNS))


def between(sets: Sequence[Values], session_blocks: float = SESSION_BLOCKS) -> Between:
    """The variance between sessions of one metric, from the values of all cells of one or several sets (`between_sessions`)."""
    return between_sessions([_spreads(one.of(np.isfinite(one.log) & ~one.censored)) for one in sets], session_blocks)


class Spreads(NamedTuple):
    """One value for each cell and session of a set: the cell (a number), and of its blocks' values, on the scale of the test,
    the mean, the squares about it (their variance times its degrees of freedom), how many there are, and these degrees."""

    cell: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    number: np.ndarray
    degrees: np.ndarray


def between_sessions(sets: Sequence[Spreads], session_blocks: float = SESSION_BLOCKS) -> Between:
    """The variance between sessions, from all cells of one or several sets.

    Beforehand it is the blocks' variance over `session_blocks`, the share as if known from SESSION_DEGREES sessions. Sets that
    have several sessions add what these show, with the degrees of freedom of their sessions and not of their cells: what a
    session does it does to all of them.
    """
    degrees = sum(float(each.degrees.sum()) for each in sets)
    if not degrees or math.isinf(session_blocks):
        return Between(0.0, SESSION_DEGREES)
    within = sum(float(each.squares.sum()) for each in sets) / degrees
    # It is a product of two numbers that are each known so well: the share, and the blocks' variance.
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
    """(variance between the sessions of a set, degrees of freedom): of the sessions' means, less what their blocks make of
    it."""
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
    """What a set says of a cell, or of an average over the cells that the values are of. None where some session has fewer than
    SMALLEST blocks.

    An average's variance is that of the sums over a block of what each value adds to the mean: it keeps what the values of a
    block have in common, and for one cell it is the variance of its values over their number.
    """
    found = [_session(values.of(values.session == one)) for one in np.unique(values.session)]
    return None if not found or any(one is None for one in found) else of_sessions(found)


def of_sessions(found: Sequence[tuple[float, float, int, int]]) -> Side:
    """What the sessions of a set say together: the mean of theirs. Of each (mean, variance of the mean, blocks, degrees of
    freedom of the variance)."""
    means, errors, numbers, degrees = zip(*found, strict=True)
    number = len(found)
    return Side(float(np.mean(means)), float(sum(errors)) / number**2, float(sum(degrees)), int(sum(numbers)), number)


def _session(values: Values) -> tuple[float, float, int, int] | None:
    """(mean, variance of the mean, blocks, degrees of freedom) of one session."""
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
    """The difference of two sides (b less a) with its standard error and degrees of freedom (Welch and Satterthwaite, with the
    variance between sessions as one part more)."""
    parts = [(a.error, a.degrees), (b.error, b.degrees), (_apart(a, b, between), between.degrees)]
    variance = sum(part for part, _ in parts)
    spread = sum(part**2 / degrees for part, degrees in parts)
    return blocks.Mean(b.mean - a.mean, math.sqrt(variance), variance**2 / spread if spread else math.inf)


def _apart(a: Side, b: Side, between: Between) -> float:
    """The part of a difference's variance that is between sessions."""
    return between.variance * (1 / a.sessions + 1 / b.sessions)


def _row(a: Values, b: Values, between: Between, terms: Terms) -> dict:
    """The columns of a row from its numbers of blocks on, before p is adjusted."""
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
    """Geometric means and their ratio, of which nothing can be said."""
    mean_a, mean_b = (float(np.exp(values.log.mean())) for values in (a, b))
    return {"mean_a": mean_a, "mean_b": mean_b, "ratio": mean_b / mean_a}


def _distinct(of_a: int, of_b: int) -> float:
    """Two-sided p of ranks where all values of one side lie beyond all of the other: there is no smaller one."""
    return 2 / math.comb(of_a + of_b, of_a)


def _ratios(a: Side, b: Side, compared: dict) -> dict:
    """What was compared on logarithms, as means and their ratio."""
    told = {"ratio": "difference", "low": "low", "high": "high"}
    return {
        **compared,
        **{"mean_a": math.exp(a.mean), "mean_b": math.exp(b.mean), "half_a": _half(a), "half_b": _half(b)},
        **{name: math.exp(compared[own]) for name, own in told.items() if own in compared},
    }


def of_sides(a: Side, b: Side, between: Between, margin: float, alpha: float) -> dict:
    """What two sets say of the same thing, on the scale of its test, before p is adjusted (`answered`): the `difference` (b
    less a) with its 95 % interval, and p for one and for one within the `margin`."""
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
    """Half of the 95 % interval of a mean as its blocks tell it, relative to the mean."""
    return float(np.expm1(special.stdtrit(of.degrees, 0.975) * math.sqrt(of.error)))


def _constant(mean: float, by_ranks: float) -> dict:
    """What varies nowhere: the same on both sides without a test, or as different as ranks can tell."""
    if abs(mean) < ROUNDING:
        return {"test": SAME, "note": "the same in every run", "answer": ALIKE, "low": 0.0, "high": 0.0}
    return {"test": RANKS, "p": by_ranks, "note": "no run of either side varies, so that only ranks can be compared"}


def _at_limit(a: Values, b: Values) -> dict:
    """Sides with runs that hit their limit, of which only ranks are known."""
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


def answered(rows: list[dict], terms: Terms, tables: int, changed: Callable[[dict], str]) -> list[dict]:
    """The rows, with p adjusted for their number and that of the `tables` of one comparison, and with an `answer`: ALIKE,
    UNDECIDED (with what would decide it), or what `changed` calls a row that is significantly different."""
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
    """Whether a ratio is a change for the better, by the direction of its metric."""
    return BETTER if (row["ratio"] > 1) == (row["better"] == HIGHER) else WORSE


def _needed(a: Side, b: Side, between: Between, margin: float, level: float) -> dict:
    """Blocks of a side in one session, or sessions with as many blocks as now, that would decide a row at a level."""
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
    """A side with so many times the blocks, in so many times the sessions."""
    number = of.blocks * blocks_times
    sessions = of.sessions * sessions_times
    return Side(of.mean, of.error / blocks_times, max(1.0, number - sessions), round(number), sessions)


def _decides(a: Side, b: Side, between: Between, margin: float, level: float) -> bool:
    """Whether a test at a level would show a difference of this size, or that it is within the margin, with a power of 80 %."""
    found = difference(a, b, between)
    size = abs(found.mean)
    ahead = special.stdtrit(found.degrees, POWER)
    if size >= (special.stdtrit(found.degrees, 1 - level / 2) + ahead) * found.error:
        return True
    room = margin - size
    return room >= (special.stdtrit(found.degrees, 1 - level) + special.stdtrit(found.degrees, (1 + POWER) / 2)) * found.error


def _smallest(does: Callable[[int], bool], least: int, most: int) -> float:
    """The smallest number from `least` to `most` that does; NaN if none does. What a number does a larger one does too."""
    if not does(most):
        return math.nan
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if does(middle) else (middle + 1, most)
    return float(most)
