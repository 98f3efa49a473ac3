"""Share of a reference's performance that a side loses, as a fraction: positive is worse."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.claims.quantities.base import DIFFERENCE, Observations, with_reference
from plimsoll.claims.quantities.value import AT_LIMIT, Value
from plimsoll.claims.sides import Side
from plimsoll.claims.verdicts import Bounds


class OfFractions(Value):
    """Fractions that are computed from a side's values and its reference's values. The effect is the difference of two
    fractions."""

    scale = DIFFERENCE
    relative = True
    of_means = False

    def sample(self, observations: Observations, side: Side) -> Sample:
        """Return the fractions, one per block in which both the cell and its reference have a value."""
        value, reference, shared = with_reference(observations, side)
        fractions = self.fraction(value, reference, observations.metrics[side.metric]["better"])
        both = (observations.values(side.metric, cell) for cell in (side.cell, side.reference))
        limited = [blocks.values_at(sample.censored, sample.blocks, shared) for sample in both]
        return Sample(fractions, shared, limited[0] | limited[1])

    def of_censored(self, row: dict, a: Sample, b: Sample) -> dict:
        """Return the row without a test: a fraction of a limit is not a fraction of the time that the run would have taken."""
        return {**row, "test": AT_LIMIT}

    @abstractmethod
    def fraction(self, value: np.ndarray, reference: np.ndarray, better: str) -> np.ndarray:
        """Return the fractions for values and references of the same blocks. `better` is `higher` or `lower`: which way
        is better."""

    def differences(self, in_a: np.ndarray, in_b: np.ndarray) -> np.ndarray:
        """Return the plain differences of the fractions."""
        return in_a - in_b

    def upper(self, margin: float) -> float:
        """Return the margin unchanged."""
        return margin

    def bounds(self, margin: float) -> Bounds:
        return Bounds(-margin, margin)

    def back(self, difference: float) -> float:
        return difference

    def forth(self, effect: float, row: Mapping) -> float:
        """Return the effect unchanged."""
        return effect

    def by_the_paper(self, a: Sample, b: Sample, alpha: float) -> dict:
        """Return an empty dictionary: the paper's procedure is for values of runs."""
        return {}


class RelativeLoss(OfFractions):
    """Relative loss: 1 - value / reference where more is better, and 1 - reference / value where less is better."""

    name = "relative loss"
    effect_in_words = "difference of losses"
    shown_as = "points"
    change_as = "points"

    def fraction(self, value: np.ndarray, reference: np.ndarray, better: str) -> np.ndarray:
        return 1 - (value / reference if better == "higher" else reference / value)


QUANTITIES = (RelativeLoss(),)
