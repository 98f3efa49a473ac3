"""The judge: from what was measured to a verdict. Pure functions; tests/unit/test_verdicts.py is their truth table.

What bears a statement out and what speaks against it are two p-values of each comparison (`strength`), each to be held against
the same alpha. Those of a claim's comparisons become two p-values of the claim (`together`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from plimsoll.analysis import paper_tests

REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE = "reproduced", "contradicted", "inconclusive", "not testable here"
# It is reproduced in some arrangement of what the paper leaves open, and contradicted in another.
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
AS_LARGE, SMALLER, LARGER, OPPOSITE, UNCLEAR = "as large", "smaller", "larger", "opposite", "of unclear size"
# A size is as large as a printed one between half and twice of it, on the scale of the test. Half of a printed size is also
# what a difference must not be shown to be less than.
AS_LARGE_WITHIN = 2.0


class Shown(Protocol):
    """What a test says of where something lies: one-sided p-values."""

    def above(self, value: float) -> float:
        """p that it is above a value."""

    def below(self, value: float) -> float:
        """p that it is below a value."""

    def turned(self) -> "Shown":
        """The same with the other sign."""


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

    A difference has two directions, so its one-sided p-values count twice. It is contradicted by one the other way that is
    shown to be beyond the bound, and so is more than what counts as alike. A difference that is not there contradicts a claimed
    one only if the paper names a size, which is excluded then: the difference is shown to be less than the bound, and nothing
    points in the claimed direction (LOOSE), so that a small difference is never first contradicted and then found. Likeness is
    shown by two one-sided tests, the larger p of which counts (Schuirmann 1987), and opposed by a difference that is shown to
    be beyond one of the bounds. What is *not lower* may be higher by as much as it likes (non-inferiority).
    """
    lower, upper = bounds
    if expected == "higher":
        supports = _twice(shown.above(0))
        excluded = shown.below(upper) if named and supports >= LOOSE else 1.0
        return Strength(supports, _twice(min(shown.below(lower), excluded)))
    if expected == "lower":
        supports = _twice(shown.below(0))
        excluded = shown.above(lower) if named and supports >= LOOSE else 1.0
        return Strength(supports, _twice(min(shown.above(upper), excluded)))
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


def of_sentence(parts: Sequence[Strength], number: int) -> Strength:
    """Evidence for and against a sentence from that of its main parts that can be asked; it has `number` main parts in all.

    All must be reproduced (intersection-union test), and any of them contradicts it (Bonferroni).
    """
    return Strength(max(one.supports for one in parts), min(1.0, number * min(one.opposes for one in parts)))


def decide(arranged: Sequence[Strength | None], alpha: float, alpha_opposes: float) -> tuple[str, list[str]]:
    """Verdict on a claim, and the verdict in each arrangement of what its paper leaves open, from the evidence in each; None is
    that of an arrangement in which it cannot be asked.

    A verdict that all arrangements share is the claim's, each at the whole level (intersection-union test). Otherwise p is
    adjusted for their number (Holm). A claim that is then reproduced in one and contradicted in another is conditional. One
    that is decided in some and open in the others has the verdict of those, in part: one p below a level and another above it
    do not show that arrangements differ (Gelman and Stern 2006).
    """
    alone = [judge(one, alpha, alpha_opposes) if one else NOT_TESTABLE for one in arranged]
    if len(set(alone)) == 1:
        return alone[0], alone
    known = [one for one in arranged if one]
    adjusted = zip(*(paper_tests.holm([getattr(one, side) for one in known]) for side in Strength._fields), strict=True)
    each = [judge(Strength(*next(adjusted)), alpha, alpha_opposes) if one else NOT_TESTABLE for one in arranged]
    decided = set(each) & {REPRODUCED, CONTRADICTED}
    return CONDITIONAL if len(decided) > 1 else decided.pop() if decided else INCONCLUSIVE, each


def in_part(verdict: str, each: Sequence[str]) -> bool:
    """Whether a claim has its verdict in some arrangements alone; `each` is the verdict in each of them."""
    return verdict in (REPRODUCED, CONTRADICTED) and any(one != verdict for one in each)


def opposite(a: Mapping, b: Mapping) -> bool:
    """Whether one result of a finding is reproduced where another one is contradicted: in an arrangement of what its paper
    leaves open that both were asked in, or on the whole where they share none. One that is conditional opposes no whole."""
    arranged = [result.get("arrangements") or {} for result in (a, b)]
    shared = arranged[0].keys() & arranged[1].keys()
    pairs = [{of[words]["verdict"] for of in arranged} for words in shared] or [{a["verdict"], b["verdict"]}]
    return {REPRODUCED, CONTRADICTED} in pairs


def p_of(arranged: Sequence[Strength | None], alpha: float) -> float:
    """p of the decision on a claim: it is below `alpha` where `decide` decides at that level. It is p of what is decided: that
    it holds in all arrangements where that is shown, and otherwise that it does in some."""
    known = [one for one in arranged if one]
    shared = min(max(p) for p in zip(*known, strict=True)) if len(known) == len(arranged) else 1.0
    return shared if shared < alpha else min(1.0, shared, len(known) * min(min(one) for one in known))


def size(shown: Shown, paper: Bounds, alpha: float) -> str:
    """How a measured effect relates to the range that the paper prints, both on the scale of the test.

    `as large` is an equivalence test (Schuirmann 1987): the effect is shown to be at least half of the smallest and at most
    twice the largest printed size, and the ratio, too, where the scale is of logarithms (half and twice of a factor of 8 would
    be 2.8 and 64 otherwise). Otherwise it is `smaller`, `larger` or `opposite` in sign where that is shown, each
    direction at half of alpha, and else `of unclear size`.
    """
    first, last = paper
    if first + last < 0:
        shown, first, last = shown.turned(), -last, -first
    factor = math.log(AS_LARGE_WITHIN)
    least, most = max(first / AS_LARGE_WITHIN, first - factor), min(last * AS_LARGE_WITHIN, last + factor)
    if max(shown.above(least), shown.below(most)) < alpha:
        return AS_LARGE
    answers = ((OPPOSITE, shown.below(0)), (SMALLER, shown.below(first)), (LARGER, shown.above(last)))
    return next((answer for answer, p in answers if _twice(p) < alpha), UNCLEAR)
