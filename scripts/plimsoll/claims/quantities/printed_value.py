"""Claims that print a value: a share of time, or of memory accesses, that ours is set against."""

from plimsoll.analysis import blocks
from plimsoll.claims.quantities.base import DIFFERENCE, Observed, Quantity
from plimsoll.claims.quantities.value import TOO_FEW
from plimsoll.claims.sides import Printed


class PrintedValue(Quantity):
    """The difference of the mean from the printed value, of the shares themselves (0.1: ten percentage points)."""

    name = "printed value"
    scale = DIFFERENCE
    effect_in_words = "difference from the printed value"
    shown_as = "points"
    says_sides = False
    printed = True

    def compare(self, claim: dict, observed: Observed, contrast: Printed, row: dict, alpha: float) -> dict:
        """A t test against the printed value."""
        sample, value = observed.sample(contrast), contrast.value
        row = {**row, "n": len(sample.values), "n_a": len(sample.values), "mean_b": value}
        if len(sample.values) < blocks.SMALLEST:
            return {**row, "test": TOO_FEW}
        row.update(test="t against the printed value", mean_a=sample.values.mean())
        return {**row, **blocks.about_zero(sample.values - value, row["margin"], alpha)}


QUANTITIES = (PrintedValue(),)
