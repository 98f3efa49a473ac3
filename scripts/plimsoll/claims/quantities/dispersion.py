"""How much single values spread, relative to their mean: of two sides, or of one."""

from dataclasses import replace

import numpy as np

from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.claims.quantities.base import Observed, Quantity
from plimsoll.claims.quantities.value import AT_LIMIT, of_censored
from plimsoll.claims.sides import Contrast

# A spread needs three blocks of several values, or four of one.
NO_SPREAD = "none: too few blocks with a spread"
OF_BLOCKS = "paired t of log standard deviations"


class Spread(Quantity):
    """Coefficients of variation, as standard deviations of logarithms. A spread within 25 % of another is like it: spreads of a
    few values are known no better."""

    usual_margin = 0.25

    def _row(self, row: dict, by_block: tuple[np.ndarray, np.ndarray], means: dict, alpha: float) -> dict:
        which, differences = by_block
        row["n"] = len(differences)
        if row["n"] < blocks.SMALLEST:
            return {**row, "test": NO_SPREAD}
        row["differences"] = Sample(differences, which, np.zeros(len(which), bool))
        return {**row, **means, "test": OF_BLOCKS, **blocks.about_zero(differences, alpha, self.back, which)}


class Dispersion(Spread):
    """The effect is the relative difference of side a's coefficient of variation from side b's."""

    name = "dispersion"
    effect_in_words = "difference of spread"

    def compare(self, claim: dict, observed: Observed, contrast: Contrast, row: dict, alpha: float) -> dict:
        """A t test of the differences of log standard deviations, block by block (blocks.spread_differences)."""
        a, b = (observed.sample(side) for side in (contrast.a, contrast.b))
        row = {**row, "n_a": len(a.values), "n_b": len(b.values)}
        if a.censored.any() or b.censored.any():
            return of_censored(row, a, b)
        means = {"mean_a": a.values.mean(), "mean_b": b.values.mean()} if len(a.values) and len(b.values) else {}
        a, b = self.spreading([observed.single(side.metric, side.cell) for side in (contrast.a, contrast.b)])
        return self._row(row, blocks.spread_differences(a, b), means, alpha)

    def spreading(self, sides: list[Sample]) -> list[Sample]:
        """Both sides' single values, as values whose logarithms spread by what is compared: as they are."""
        return sides


class Deviation(Dispersion):
    """The effect is the relative difference of side a's standard deviation from side b's, whatever their means."""

    name = "standard deviation"
    effect_in_words = "difference of standard deviation"

    def spreading(self, sides: list[Sample]) -> list[Sample]:
        """The logarithms are the values themselves, in units of both sides' largest: their ratio of spreads is that of the
        values."""
        largest = max((side.values.max() for side in sides if len(side.values)), default=1.0)
        return [replace(side, values=np.exp(side.values / largest)) for side in sides]


class Variation(Spread):
    """A side's own coefficient of variation is higher (or lower) than the one that the claim names (`cv`): the effect is the
    relative difference from that."""

    name = "variation"
    effect_in_words = "spread, relative to the named one"
    one_side = True
    needs = ("cv",)

    def compare(self, claim: dict, observed: Observed, contrast: Contrast, row: dict, alpha: float) -> dict:
        """A t test of log standard deviations against the named one."""
        single = observed.single(contrast.a.metric, contrast.a.cell)
        row = {**row, "n_a": len(single.values), "cell_b": "the paper", "mean_b": claim["cv"]}
        if single.censored.any():
            return {**row, "test": AT_LIMIT}
        which, variation = blocks.log_variation(single)
        return self._row(row, (which, variation - np.log(claim["cv"])), {}, alpha)


QUANTITIES = (Dispersion(), Deviation(), Variation())
