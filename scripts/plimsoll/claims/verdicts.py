"""The judge: from what was measured to a verdict. Pure functions; tests/unit/test_verdicts.py is their truth table.

What bears a statement out and what speaks against it are two p-values of each comparison (`strength`), each to be held against
the same alpha. Those of a claim's comparisons become two p-values of the claim (`together`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE = "reproduced", "contradicted", "inconclusive", "not testable here"
# It holds in one arrangement of what the paper leaves open, and is contradicted in another.
CONDITIONAL = "conditional"
UNAVAILABLE = "study not available"
# Verdicts on one comparison, on a claim of a study that was measured, and all.
ON_COMPARISON = (REPRODUCED, CONTRADICTED, INCONCLUSIVE)
ON_CLAIM = (REPRODUCED, CONTRADICTED, CONDITIONAL, INCONCLUSIVE, NOT_TESTABLE)
VERDICTS = (*ON_CLAIM, UNAVAILABLE)
# Those that more repetitions are not asked for.
SETTLED = (REPRODUCED, CONTRADICTED, CONDITIONAL)
# How many of a claim's comparisons it is about.
EACH, MOST, SOME, AVERAGE = "each", "most", "some", "average"
# What the paper may say of side a that is no difference.
LIKENESS = ("no_difference", "not_lower", "not_higher")
# p above which nothing points in a direction.
LOOSE = 0.5
# How the measured size lies to the one that the paper prints.
AS_LARGE, SMALLER, LARGER, OPPOSITE = "as large", "smaller", "larger", "opposite"


class Shown(Protocol):
    """What a test says of where something lies: one-sided p-values."""

    def above(self, value: float) -> float:
        """p that it is above a value."""

    def below(self, value: float) -> float:
        """p that it is below a value."""


class Bounds(NamedTuple):
    """Differences, on the scale of the test, between which two sides count as alike."""

    lower: float
    upper: float


class Strength(NamedTuple):
    """p-values of the evidence for a statement and of that against it; each is small where there is some."""

    supports: float
    opposes: float


NOTHING = Strength(1.0, 1.0)


def strength(expected: str, shown: Shown, bounds: Bounds, named: bool) -> Strength:
    """Evidence of one comparison for and against a statement.

    `expected` is what the paper says of side a: `higher` or `lower`, `no_difference`, `not_lower` or `not_higher`. `named` says
    whether the paper names the size of a difference.

    A difference has two directions, so its one-sided p-values count twice. A difference that is not there contradicts a claimed
    one only if the paper names a size, which is excluded then: the difference is shown to be less than the bound, and nothing
    points in the claimed direction (LOOSE), so that a small difference is never first contradicted and then found. Likeness is
    shown by two one-sided tests, the larger p of which counts (Schuirmann 1987), and opposed by a difference that is shown to
    be beyond one of the bounds. What is *not lower* may be higher by as much as it likes (non-inferiority).
    """
    lower, upper = bounds
    if expected == "higher":
        supports = _twice(shown.above(0))
        excluded = shown.below(upper) if named and supports >= LOOSE else 1.0
        return Strength(supports, _twice(min(shown.below(0), excluded)))
    if expected == "lower":
        supports = _twice(shown.below(0))
        excluded = shown.above(lower) if named and supports >= LOOSE else 1.0
        return Strength(supports, _twice(min(shown.above(0), excluded)))
    if expected == "not_lower":
        return Strength(shown.above(lower), _twice(shown.below(lower)))
    if expected == "not_higher":
        return Strength(shown.below(upper), _twice(shown.above(upper)))
    return Strength(max(shown.above(lower), shown.below(upper)), _twice(min(shown.above(upper), shown.below(lower))))


def _twice(p: float) -> float:
    return min(1.0, 2 * p)


def judge(evidence: Strength, alpha: float, alpha_opposes: float) -> str:
    """Verdict on what has this evidence for and against it. Where there is neither, or both, it is inconclusive: above all a p
    above the threshold is no evidence that there is no difference."""
    supported, opposed = evidence.supports < alpha, evidence.opposes < alpha_opposes
    if supported == opposed:
        return INCONCLUSIVE
    return REPRODUCED if supported else CONTRADICTED


def together(evidence: Sequence[Strength], holds: str) -> Strength:
    """Evidence for and against a claim that `holds` for each of its comparisons, for most, or for some of them.

    At least u of m statements are true: p is (m - u + 1) times the u-th smallest (partial conjunction: Benjamini and Heller
    2008; valid however the comparisons depend on each other). For each, u = m, that is the largest p, without an adjustment
    (intersection-union test: Berger 1982). A claim about at least u is false if at least m - u + 1 are.
    """
    m = len(evidence)
    u = {EACH: m, MOST: m // 2 + 1, SOME: 1}[holds]
    return Strength(_at_least(u, [one.supports for one in evidence]), _at_least(m - u + 1, [one.opposes for one in evidence]))


def _at_least(number: int, p: list[float]) -> float:
    return min(1.0, (len(p) - number + 1) * sorted(p)[number - 1])


def of_parts(of_each: Sequence[str]) -> str:
    """Verdict on a sentence from those on its parts: all that can be asked must be reproduced, and one contradicts. Where some
    are conditional and the others reproduced, so is the sentence."""
    asked = {verdict for verdict in of_each if verdict != NOT_TESTABLE}
    if not asked:
        return NOT_TESTABLE
    if CONTRADICTED in asked:
        return CONTRADICTED
    if asked == {REPRODUCED}:
        return REPRODUCED
    return CONDITIONAL if asked <= {REPRODUCED, CONDITIONAL} else INCONCLUSIVE


def of_arrangements(of_each: Sequence[str], evidence: Sequence[Strength], alpha: float, alpha_opposes: float) -> str:
    """Verdict on a claim from those in each arrangement of what its paper leaves open, and their evidence.

    It is the one that all have. Otherwise it is conditional if some arrangement bears the claim out and another contradicts it,
    each with a p that is adjusted for the number of arrangements, as any of them would do (partial conjunction of one).
    """
    if len(set(of_each)) == 1:
        return of_each[0]
    if not {REPRODUCED, CONTRADICTED} <= set(of_each):
        return INCONCLUSIVE
    for_it, against_it = (_at_least(1, [getattr(one, side) for one in evidence]) for side in Strength._fields)
    return CONDITIONAL if for_it < alpha and against_it < alpha_opposes else INCONCLUSIVE


def size(low: float, high: float, paper: dict | None) -> str:
    """How an interval of the effect relates to the range that the paper gives (fractions, signed as the effect): `as large` if
    they overlap, `smaller`, `larger`, or `opposite` in sign; empty if the paper gives none. The papers round some numbers and
    cut others off, so a printed 14 % stands for what lies between 13 and 15 %."""
    if not paper or paper["low"] is None or not np.isfinite(low):
        return ""
    first, last = paper["low"] - _last_digit(paper["low"]), paper["high"] + _last_digit(paper["high"])
    if low <= last and high >= first:
        return AS_LARGE
    middle = (first + last) / 2
    if middle and (high < 0 < middle or low > 0 > middle):
        return OPPOSITE
    return SMALLER if (high < first) == (middle > 0) else LARGER


def _last_digit(fraction: float) -> float:
    """One unit of the last digit that was printed of a percentage, as a fraction; of a whole percentage one point."""
    return 10.0 ** -max(2, len(str(fraction).partition(".")[2]))
