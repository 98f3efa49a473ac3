"""Claims that print a value (a share of time, or of memory accesses), with which the measured share is compared."""

from collections.abc import Mapping

import numpy as np
from scipy import special

from plimsoll.analysis import blocks, sample_sizes
from plimsoll.claims.quantities.base import DIFFERENCE, LEAST, Observations, Quantity
from plimsoll.claims.quantities.value import TOO_FEW
from plimsoll.claims.sides import PrintedSide
from plimsoll.claims.verdicts import Bounds
from plimsoll.errors import quote


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value < 1


class PrintedValue(Quantity):
    """The difference of the measured share from the printed one, tested on log odds.

    On this scale one margin fits shares near 0 and near 1 too. Odds that differ by less than a factor of 1.5 are alike:
    40 to 60 % around one half, and 1.0 to 2.2 % around 1.5 %. Effects and intervals are reported as differences of the
    shares (0.1 is ten percentage points).
    """

    name = "printed value"
    scale = DIFFERENCE
    effect_in_words = "difference from the printed value"
    shown_as = "points"
    change_as = "odds"
    says_sides = False
    printed = True
    needs = ("values",)
    usual_margin = 0.5

    def problem(self, claim: Mapping) -> str | None:
        """Return what is wrong with a claim, in words: a printed value has to be a share between 0 and 1."""
        wrong = ((name, value) for name, value in claim.get("values", {}).items() if not _is_share(value))
        told = (f"values.{quote(name)}: {quote(value)} is no share between 0 and 1" for name, value in wrong)
        return super().problem(claim) or next(told, None)

    def bounds(self, margin: float) -> Bounds:
        """Return the bounds of a factor in odds, the same in both directions."""
        return Bounds(-self.upper(margin), self.upper(margin))

    def forth(self, effect: float, row: Mapping) -> float:
        """Return the log odds of the measured share that an effect stands for: the printed share plus the effect.

        `back` takes differences from the log odds of the printed share. These are not subtracted here.
        """
        return float(special.logit(np.clip(row["mean_b"] + effect, LEAST, 1 - LEAST)))

    def compare(self, claim: dict, observations: Observations, contrast: PrintedSide, row: dict, alpha: float) -> dict:
        """Return the row of a t test of log odds against the log odds of the printed value."""
        sample, value = observations.sample(contrast), contrast.value
        row = {**row, "n": len(sample.values), "n_a": len(sample.values), "mean_b": value}
        if len(sample.values) < blocks.SMALLEST:
            return {**row, "test": TOO_FEW}
        row.update(test="t of log odds against the printed value", mean_a=sample.values.mean())
        printed = special.logit(value)
        odds = special.logit(np.clip(sample.values, LEAST, 1 - LEAST))

        def back(difference: float) -> float:
            return special.expit(printed + difference) - value

        compared = blocks.about_zero(odds - printed, alpha, back, sample.blocks)
        # The detectable difference has the unit of the margin: a factor in odds, less 1.
        compared["detectable"] = float(np.expm1(sample_sizes.detectable(compared["deviation"], len(odds), alpha)))
        return {**row, **compared}


QUANTITIES = (PrintedValue(),)
