"""How much single values spread, relative to their block's mean."""

from plimsoll.analysis import blocks
from plimsoll.claims.quantities.base import Observed, Quantity
from plimsoll.claims.quantities.value import of_censored
from plimsoll.claims.sides import Contrast


class Dispersion(Quantity):
    """Coefficients of variation: the effect is the relative difference of side a's from side b's."""

    name = "dispersion"
    effect_in_words = "difference of spread"

    def compare(self, claim: dict, observed: Observed, contrast: Contrast, row: dict, alpha: float) -> dict:
        """The Brown-Forsythe test."""
        a, b = (observed.sample(side) for side in (contrast.a, contrast.b))
        row = {**row, "n_a": len(a.values), "n_b": len(b.values)}
        if a.censored.any() or b.censored.any():
            return of_censored(row, a, b)
        a, b = (observed.single(side.metric, side.cell) for side in (contrast.a, contrast.b))
        row["n"] = min(len(a.values), len(b.values))
        if row["n"] < blocks.SMALLEST:
            return {**row, "test": "none: too few values"}
        effect, low, high, p = blocks.dispersion(*map(blocks.relative_to_block, (a, b)))
        means = {"mean_a": a.values.mean(), "mean_b": b.values.mean()}
        return {**row, **means, "test": "Brown-Forsythe", "effect": effect, "low": low, "high": high, "p": p}


QUANTITIES = (Dispersion(),)
