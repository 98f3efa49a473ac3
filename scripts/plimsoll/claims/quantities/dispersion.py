"""Spread of single values relative to their mean: of two sides, or of one side and a value that the claim names."""

from dataclasses import replace

import numpy as np

from plimsoll.analysis import blocks, dispersions
from plimsoll.analysis.blocks import Sample
from plimsoll.claims.quantities.base import Observations, Quantity
from plimsoll.claims.quantities.value import AT_LIMIT, of_censored
from plimsoll.claims.sides import Contrast

# A spread needs three blocks of several values, or four blocks of one value.
NO_SPREAD = "none: too few blocks with a spread"
OF_BLOCKS = "paired t of log standard deviations"


class Spread(Quantity):
    """Coefficients of variation, as standard deviations of logarithms.

    Spreads that differ by at most 25 % are alike: the spread of a few values is not known more precisely.
    """

    usual_margin = 0.25

    def _row(self, row: dict, by_block: tuple[np.ndarray, np.ndarray], means: dict, alpha: float) -> dict:
        """Return the row of a test of spreads, which are of these blocks. `row` has `n`, the blocks that were measured."""
        which, differences = by_block
        if len(differences) < blocks.SMALLEST:
            return {**row, **means, "test": NO_SPREAD}
        row["n"] = len(differences)
        row["differences"] = Sample(differences, which, np.zeros(len(which), bool))
        return {**row, **means, "test": OF_BLOCKS, **blocks.about_zero(differences, alpha, self.back, which)}


class Dispersion(Spread):
    """Coefficients of variation of two sides. The effect is the relative difference of side a's from side b's."""

    name = "dispersion"
    effect_in_words = "difference of spread"

    def compare(self, claim: dict, observations: Observations, contrast: Contrast, row: dict, alpha: float) -> dict:
        """Return the row of a t test of the differences of log standard deviations, block by block (spread_differences).

        Sides with runs that hit their limit are compared by ranks.
        """
        a, b = (observations.sample(side) for side in (contrast.a, contrast.b))
        row = {**row, "n": len(np.intersect1d(a.blocks, b.blocks)), "n_a": len(a.values), "n_b": len(b.values)}
        if a.censored.any() or b.censored.any():
            return of_censored(row, a, b)
        means = {"mean_a": a.values.mean(), "mean_b": b.values.mean()} if len(a.values) and len(b.values) else {}
        a, b = self.spreading([observations.single(side.metric, side.cell) for side in (contrast.a, contrast.b)])
        return self._row(row, dispersions.spread_differences(a, b), means, alpha)

    def spreading(self, sides: list[Sample]) -> list[Sample]:
        """Return both sides' single values, transformed so that the spread of their logarithms is compared. Here they
        are unchanged."""
        return sides


class Deviation(Dispersion):
    """Standard deviations of two sides, whatever their means. The effect is the relative difference of side a's from
    side b's."""

    name = "standard deviation"
    effect_in_words = "difference of standard deviation"

    def spreading(self, sides: list[Sample]) -> list[Sample]:
        """Return values whose logarithms are the original values, in units of the largest value of both sides.

        The ratio of the spreads of these logarithms is the ratio of the spreads of the original values.
        """
        largest = max((side.values.max() for side in sides if len(side.values)), default=1.0)
        return [replace(side, values=np.exp(side.values / largest)) for side in sides]


class Variation(Spread):
    """Coefficient of variation of one side, compared with the one that the claim names (`cv`). The effect is the
    relative difference from that."""

    name = "variation"
    effect_in_words = "spread, relative to the named one"
    one_side = True
    needs = ("cv",)

    def compare(self, claim: dict, observations: Observations, contrast: Contrast, row: dict, alpha: float) -> dict:
        """Return the row of a t test of log standard deviations against the one that the claim names."""
        single = observations.single(contrast.a.metric, contrast.a.cell)
        number = len(np.unique(single.blocks))
        row = {**row, "n": number, "n_a": len(single.values), "cell_b": "the paper", "mean_b": claim["cv"]}
        if single.censored.any():
            return {**row, "test": AT_LIMIT}
        which, variation = dispersions.log_variation(single)
        return self._row(row, (which, variation - np.log(claim["cv"])), {}, alpha)


QUANTITIES = (Dispersion(), Deviation(), Variation())
