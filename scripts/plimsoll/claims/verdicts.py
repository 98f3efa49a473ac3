"""The judge: from measured evidence to a verdict. Pure functions; tests/unit/test_verdicts.py is their truth table.

Each comparison has two p-values (`strength`): one for the evidence that supports a statement, one for the evidence
against it. `combine` makes two p-values of a claim from those of its comparisons.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from plimsoll.analysis import paper_tests

REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE = "reproduced", "contradicted", "inconclusive", "not testable here"
# Reproduced in one arrangement of what the paper leaves open, and contradicted in another.
CONDITIONAL = "conditional"
UNAVAILABLE = "study not available"
# In the place of a verdict where no block has what is compared.
UNMEASURED = "not measured"
# Verdicts on one comparison, on a claim of a measured study, and all verdicts.
ON_COMPARISON = (REPRODUCED, CONTRADICTED, INCONCLUSIVE)
ON_CLAIM = (REPRODUCED, CONTRADICTED, CONDITIONAL, INCONCLUSIVE, NOT_TESTABLE)
VERDICTS = (*ON_CLAIM, UNAVAILABLE)
# Decided: no further repetitions are planned for these.
DECIDED = (REPRODUCED, CONTRADICTED, CONDITIONAL)
# What a claim is about: each of its comparisons, most of them, some of them, or their average.
EACH, MOST, SOME, AVERAGE = "each", "most", "some", "average"
# Values of `expected` that state no difference.
LIKENESS = ("no_difference", "not_lower", "not_higher")
# With a p above this, nothing points in the direction that is tested.
LOOSE = 0.5
# How the measured size compares with the size that the paper prints.
AS_LARGE, SMALLER, LARGER, OPPOSITE, UNCLEAR = "as large", "smaller", "larger", "opposite", "of unclear size"
# A size is as large as a printed one if it is between half and twice of it, on the scale of the test. Half of a printed
# size is also the least: a difference that is shown to be smaller speaks against the claim.
AS_LARGE_WITHIN = 2.0


class PValues(Protocol):
    """What a test shows of where a true value lies, as one-sided p-values."""

    def above(self, value: float) -> float:
        """Return p for the true value being above `value`."""

    def below(self, value: float) -> float:
        """Return p for the true value being below `value`."""

    def turned(self) -> "PValues":
        """Return the result of the same test with the other sign."""


class Bounds(NamedTuple):
    """Differences, on the scale of the test, between which two sides count as alike."""

    lower: float
    upper: float


class Strength(NamedTuple):
    """Two p-values: of the evidence for a statement and of the evidence against it. A small p is strong evidence."""

    supports: float
    opposes: float


NOTHING = Strength(1.0, 1.0)


def strength(expected: str, shown: PValues, bounds: Bounds, named: bool) -> Strength:
    """Return the evidence of one comparison for and against a statement.

    `expected` is what the paper says of side a: `higher`, `lower`, `no_difference`, `not_lower` or `not_higher`.
    `named` says whether the paper names the size of a difference.

    A claimed difference (`higher` or `lower`) has one-sided p-values that are doubled, because a difference has two
    directions. A difference in the other direction contradicts it if it is shown to be beyond the bound, so more than
    what counts as alike. The absence of a difference contradicts it only if the paper names a size, which is then
    excluded. For that, the difference is shown to be less than the bound, and nothing points in the claimed direction
    (LOOSE). A difference far below the printed size may so be contradicted with few blocks, and be found with many.

    Likeness (`no_difference`) is shown by two one-sided tests, of which the larger p counts (Schuirmann 1987). A
    difference that is shown to be beyond one of the bounds opposes it. `not_lower` and `not_higher` are one-sided
    (non-inferiority): what is *not lower* may be higher by any amount.
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
    """Return the verdict for evidence for and against a statement. It is inconclusive if there is neither, or both.

    Above all, a p above the threshold is no evidence that there is no difference.
    """
    supported, opposed = evidence.supports < alpha, evidence.opposes < alpha_opposes
    if supported == opposed:
        return INCONCLUSIVE
    return REPRODUCED if supported else CONTRADICTED


def combine(evidence: Sequence[Strength], holds: str) -> Strength:
    """Return the evidence for and against a claim that `holds` for each of its comparisons, for most, or for some of them.

    To show that at least u of m statements are true, p is (m - u + 1) times the u-th smallest p (partial conjunction:
    Benjamini and Heller 2008). This is valid however the comparisons depend on each other. For each of them (u = m) it
    is the largest p, without an adjustment (intersection-union test: Berger 1982). A claim about at least u is false if
    at least m - u + 1 are.
    """
    m, u = len(evidence), required(holds, len(evidence))
    return Strength(_at_least(u, [one.supports for one in evidence]), _at_least(m - u + 1, [one.opposes for one in evidence]))


def required(holds: str, number: int) -> int:
    """Return how many of a `number` of statements must be true if each, most or some of them must."""
    return {EACH: number, MOST: number // 2 + 1, SOME: 1}[holds]


def _at_least(number: int, p: list[float]) -> float:
    return min(1.0, (len(p) - number + 1) * sorted(p)[number - 1])


def of_sentence(parts: Sequence[Strength], number: int) -> Strength:
    """Return the evidence for and against a sentence, from the evidence of its main parts that can be tested.

    It has `number` main parts in all. All of them must be reproduced (intersection-union test), and any one of them
    contradicts the sentence (Bonferroni).
    """
    return Strength(max(one.supports for one in parts), min(1.0, number * min(one.opposes for one in parts)))


def decide(arranged: Sequence[Strength | None], alpha: float, alpha_opposes: float) -> tuple[str, list[str]]:
    """Return the verdict on a claim, and its verdict in each arrangement of what its paper leaves open.

    `arranged` has the evidence in each arrangement, and None for one in which the claim cannot be tested. If all
    arrangements have the same verdict, it is the claim's. Each of them is tested at the full level (intersection-union
    test).

    Otherwise p is adjusted for the number of arrangements (Holm). A claim that is then reproduced in one and
    contradicted in another is conditional. A claim that is decided in some and inconclusive in the others has the
    verdict of the decided ones, in part. One p below a level and another one above it do not show that arrangements
    differ (Gelman and Stern 2006).
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
    """Return whether a decided claim has its verdict in some arrangements only; `each` is the verdict in each of them."""
    return verdict in (REPRODUCED, CONTRADICTED) and any(one != verdict for one in each)


def opposite(a: Mapping, b: Mapping) -> bool:
    """Return whether one of two results of a claim is reproduced where the other one is contradicted.

    They are compared in each arrangement of what the paper leaves open that both were tested in. If they share none,
    their overall verdicts are compared. A conditional verdict is the opposite of no overall verdict.
    """
    arranged = [result.get("arrangements") or {} for result in (a, b)]
    shared = arranged[0].keys() & arranged[1].keys()
    pairs = [{of[words]["verdict"] for of in arranged} for words in shared] or [{a["verdict"], b["verdict"]}]
    return {REPRODUCED, CONTRADICTED} in pairs


def p_of(arranged: Sequence[Strength | None], alpha: float) -> float:
    """Return the p of the decision on a claim. It is below `alpha` if `decide` decides at that level.

    If the decision is shown in all arrangements, it is the p for that. Otherwise it is the p that the decision holds in
    some arrangement. A conditional claim is reproduced in one and contradicted in another: the larger p counts.
    """
    if not (known := [one for one in arranged if one]):
        return 1.0
    shared = min(max(p) for p in zip(*known, strict=True)) if len(known) == len(arranged) else 1.0
    somewhere = [min(1.0, len(known) * min(p)) for p in zip(*known, strict=True)]
    if shared < alpha:
        return shared
    return max(somewhere) if max(somewhere) < alpha else min(shared, *somewhere)


def size(shown: PValues, paper: Bounds, alpha: float) -> str:
    """Return how a measured effect compares with the range that the paper prints, both on the scale of the test.

    `as large` is the result of an equivalence test (Schuirmann 1987). The effect is shown to be at least half of the
    smallest and at most twice the largest printed size. Where the scale is logarithmic, the ratio must be within half
    and twice, too. Otherwise a printed factor of 8 would be matched by factors from 2.8 to 64.

    If that is not shown, the result is `smaller`, `larger` or `opposite` (in sign) where a test shows it, each
    direction at half of alpha. Else it is `of unclear size`.
    """
    first, last = paper
    if first + last < 0:
        shown, first, last = shown.turned(), -last, -first
    factor = math.log(AS_LARGE_WITHIN)
    half = first / AS_LARGE_WITHIN if first > 0 else first * AS_LARGE_WITHIN
    least, most = max(half, first - factor), min(last * AS_LARGE_WITHIN, last + factor)
    if max(shown.above(least), shown.below(most)) < alpha:
        return AS_LARGE
    answers = ((OPPOSITE, shown.below(0)), (SMALLER, shown.below(first)), (LARGER, shown.above(last)))
    return next((answer for answer, p in answers if _twice(p) < alpha), UNCLEAR)
