"""What a set of results says of a cell, on logarithms, and the difference of two sets, with the variance between sessions.

The blocks of two sets have nothing in common, so the difference is Welch's. Two days of one machine differ by more than their
blocks show: the variance between sessions is added. First it is a share of the blocks' variance, as found between sessions of
machines that were not changed (docs/reports/compare.md). The more sessions a set has, the more these count. Pure.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import ROUNDING
from plimsoll.planning.availability import SMALLEST

# A session says no more than this many blocks of different days would, however many blocks it has. So the variance
# between sessions is that between blocks divided by this number. It counts as if it were known from SESSION_DEGREES
# sessions.
SESSION_BLOCKS, SESSION_DEGREES = 6.0, 8.0


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
    parts = [(a.error, a.degrees), (b.error, b.degrees), (variance_between(a, b, between), between.degrees)]
    variance = sum(part for part, _ in parts)
    spread = sum(part**2 / degrees for part, degrees in parts)
    return blocks.Mean(b.mean - a.mean, math.sqrt(variance), variance**2 / spread if spread else math.inf)


def variance_between(a: Side, b: Side, between: Between) -> float:
    """Return the part of a difference's variance that is between sessions."""
    return between.variance * (1 / a.sessions + 1 / b.sessions)
