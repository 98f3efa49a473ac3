"""The judge: from what was measured to a verdict. Pure functions; tests/unit/test_verdicts.py is their truth table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE = "reproduced", "contradicted", "inconclusive", "not testable here"
UNAVAILABLE = "study not available"
VERDICTS = (REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE, UNAVAILABLE)


@dataclass(frozen=True)
class Evidence:
    """What one comparison gives.

    `effect` is the relative difference of side a from side b (0.1: ten percent more), or a difference of losses, in fractions;
    `low` and `high` its 95 % interval. `p` is for no difference at all, adjusted for the comparisons of the claim; `p_like` for
    a difference of at least the margin (the larger p of two one-sided tests): small means alike. `n` is the number of blocks.
    """

    n: int
    effect: float
    low: float
    high: float
    p: float
    p_like: float
    margin: float


def judge(expected: str, evidence: Evidence, alpha: float) -> str:
    """Verdict on one comparison; `expected` is what the paper says of side a: higher, lower or no_difference.

    A difference is reproduced if it is significant and has the sign; contradicted if it is significant with the other sign,
    or if the two sides are shown to be alike, closer than the margin. No difference is reproduced if the two sides are shown
    to be alike; contradicted if they differ significantly and the whole interval is outside the margin. Everything else is
    inconclusive: above all a p above the threshold, which is no evidence that there is no difference.
    """
    if not np.isfinite(evidence.effect) or not np.isfinite(evidence.p):
        return INCONCLUSIVE
    differs, alike = evidence.p < alpha, evidence.p_like < alpha
    if expected == "no_difference":
        outside = evidence.low > evidence.margin or evidence.high < -evidence.margin
        return REPRODUCED if alike else CONTRADICTED if differs and outside else INCONCLUSIVE
    if differs:
        return REPRODUCED if (evidence.effect > 0) == (expected == "higher") else CONTRADICTED
    return CONTRADICTED if alike else INCONCLUSIVE


def together(verdicts: Sequence[str], holds: str = "all") -> str:
    """Verdict on a claim from those on its comparisons.

    A claim that holds for `all` of them is reproduced if every comparison is, and contradicted if one is: p-values are
    adjusted, so one of them suffices. A claim that holds for `most` needs more than half of them, for either, and is not
    reproduced where another comparison contradicts it. One that holds for `some` needs one, and is contradicted by all.
    """
    if not verdicts:
        return NOT_TESTABLE
    yes, no = verdicts.count(REPRODUCED), verdicts.count(CONTRADICTED)
    if holds == "some":
        return REPRODUCED if yes else CONTRADICTED if no == len(verdicts) else INCONCLUSIVE
    if holds == "most":
        return REPRODUCED if 2 * yes > len(verdicts) and not no else CONTRADICTED if 2 * no > len(verdicts) else INCONCLUSIVE
    return CONTRADICTED if no else REPRODUCED if yes == len(verdicts) else INCONCLUSIVE


def magnitude(low: float, high: float, paper: dict | None) -> str:
    """How an interval of the effect relates to the range that the paper gives (fractions, signed as the effect): `overlaps`,
    `smaller` or `larger` in size, `opposite` in sign; empty if the paper gives none."""
    if not paper or not np.isfinite(low):
        return ""
    first, last = paper["low"], paper["high"]
    if low <= last and high >= first:
        return "overlaps"
    middle = (first + last) / 2
    if middle and (high < 0 < middle or low > 0 > middle):
        return "opposite"
    return "smaller" if (high < first) == (middle > 0) else "larger"
