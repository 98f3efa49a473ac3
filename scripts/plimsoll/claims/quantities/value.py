"""Plain values of a metric, and statistics of each block's values, compared as ratios."""

from collections.abc import Callable

import numpy as np

from plimsoll.analysis import blocks, paper_tests, summaries, summary
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import NOTHING
from plimsoll.claims import verdicts
from plimsoll.claims.quantities.base import Observations, Quantity
from plimsoll.claims.sides import Contrast, Side

WITHIN_BLOCKS = "paired t within blocks"
CONSTANT = "signs within blocks, whose differences are all the same"
TOO_FEW = "none: too few blocks"
AT_LIMIT = "none: runs at their limit"
SAME = "none: the same in every run"


class Value(Quantity):
    """Values of a metric, by differences of logarithms within blocks. The effect is the relative difference of side a
    from side b."""

    name = "value"
    # Whether differences are of logarithms of the blocks' means. Other cells lend only the spread of these.
    of_means = True

    def compare(self, claim: dict, observations: Observations, contrast: Contrast, row: dict, alpha: float) -> dict:
        """Return the row of a paired t test within blocks. Sides with runs that hit their limit are compared by ranks.

        If the claim states likeness, two metrics of one cell that are the same in every run are alike without a test. A
        part and its whole are the same if there is nothing else.
        """
        paired = _of_one_run(contrast) and len(observations.values(contrast.a.metric, contrast.a.cell).values)
        if self.of_means and not paired and (told := of_summaries(observations, contrast, alpha, self.back)):
            return {**row, **told}
        a, b = (observations.sample(side) for side in (contrast.a, contrast.b))
        row = {**row, "n_a": len(a.values), "n_b": len(b.values)}
        if a.censored.any() or b.censored.any():
            return self.of_censored(row, a, b)
        in_a, in_b = blocks.within_blocks(a, b)
        row["n"] = len(in_a)
        if len(in_a) < blocks.SMALLEST:
            return {**row, "test": TOO_FEW}
        row.update(mean_a=in_a.mean(), mean_b=in_b.mean(), test=WITHIN_BLOCKS)
        if row["expected"] in verdicts.LIKENESS and _of_one_run(contrast) and (in_a == in_b).all():
            return {**row, "test": SAME, "effect": 0.0, "verdict": verdicts.REPRODUCED}
        differences = self.differences(in_a, in_b)
        shared = np.intersect1d(a.blocks, b.blocks)
        row["differences"] = Sample(differences, shared, np.zeros(len(shared), bool))
        lent = observations.lent(contrast) if self.of_means else NOTHING
        beside = {} if observations.brief else self.by_the_paper(a, b, alpha)
        told = blocks.about_zero(differences, alpha, self.back, shared, lent)
        return {**row, **told, **({} if told["shown"].error else {"test": CONSTANT}), **beside}

    def of_censored(self, row: dict, a: Sample, b: Sample) -> dict:
        """Return the row of two sides with runs that hit their limit, compared by ranks."""
        return of_censored(row, a, b)

    def differences(self, in_a: np.ndarray, in_b: np.ndarray) -> np.ndarray:
        """Return the differences of values of the same blocks, on the scale of the test."""
        return np.log(in_a) - np.log(in_b)

    def by_the_paper(self, a: Sample, b: Sample, alpha: float) -> dict:
        """Return the result of the paper's own procedure for the two sides (liu2020, section 4.3), and effect sizes."""
        compared = paper_tests.compare(a.values, b.values, alpha)
        return {
            **{"paper_test": compared["test"], "paper_p": compared["p"], "paper_p_exact": compared["p_exact"]},
            **{"hedges_g": compared["hedges_g"], "cliffs_delta": blocks.cliffs_delta(a.values, b.values)},
        }


def of_summaries(observations: Observations, contrast: Contrast, alpha: float, back: Callable[[float], float]) -> dict | None:
    """Return the columns of a comparison of two means with their spreads, and its `terms`; None if values are paired."""
    sides = [(side.metric, side.cell) for side in (contrast.a, contrast.b)]
    known = [observations.summary(*side) for side in sides]
    if None in known:
        return None
    terms = {side: (sign, one) for side, sign, one in zip(sides, (1.0, -1.0), known, strict=True)}
    about = {f"{name}_{side}": getattr(one, name) for side, one in zip("ab", known, strict=True) for name in ("n", "mean")}
    return {**about, **summaries.told(terms, alpha, back), "terms": terms}


def _of_one_run(contrast: Contrast) -> bool:
    return contrast.a.cell == contrast.b.cell and contrast.a.metric != contrast.b.metric


class Statistic(Value):
    """A statistic of each block's single values, such as the mean on one side and the median on the other."""

    of_means = False

    def __init__(self, name: str, middle: Callable[[np.ndarray], float]):
        self.name, self.middle = name, middle

    def sample(self, observations: Observations, side: Side) -> Sample:
        return blocks.by_block(observations.single(side.metric, side.cell), self.middle)


def of_censored(row: dict, a: Sample, b: Sample) -> dict:
    """Return the row of two sides with runs that hit their limit. These took longer than the limit; how much longer is
    unknown."""
    a, b = (blocks.by_block(blocks.in_sessions(side), np.mean) for side in (a, b))
    compared = paper_tests.compare_censored(a.values, b.values, a.censored, b.censored)
    effect = compared["ratio_of_means"] - 1
    row = {**row, "n": min(len(a.values), len(b.values)), "test": compared["test"], "effect": effect, "p": compared["p"]}
    one, other = compared["p"] / 2, 1 - compared["p"] / 2
    # `superiority` is the share of pairs in which the run of side a took longer.
    directions = (one, other) if compared["superiority"] > 0.5 else (other, one)
    # The limit is less than the time that its run would have taken. So this estimate does not exaggerate how much
    # longer that side took.
    estimate = blocks.Mean.of(np.log(np.divide(*blocks.within_blocks(a, b))))
    estimates = (None if b.censored.any() else estimate, None if a.censored.any() else estimate)
    return {**row, "shown": blocks.Signs(*directions, *estimates)}


QUANTITIES = (
    Value(),
    Statistic("mean", np.mean),
    Statistic("median", np.median),
    Statistic("trimmed_mean", lambda values: summary.summary(values)["trimmed_mean"]),
)
