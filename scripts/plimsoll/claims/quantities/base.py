"""The interface of a quantity that a claim can be about: its samples, its comparisons, and the scale of its effects."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import Lent
from plimsoll.analysis.summaries import Summary
from plimsoll.claims.sides import Contrast, Side
from plimsoll.claims.verdicts import Bounds

# Scales of effects: relative differences of two values; differences of two fractions; the share of the runs that agree
# with the claim.
RATIO, DIFFERENCE, SHARE = "ratio", "difference", "share"
# Smallest relative difference that matters if the paper names none.
MARGIN = 0.05
# Smallest share: 0 has no logarithm, and 0 and 1 have no odds. No share is measured this finely.
LEAST = 1e-6


class Observations(Protocol):
    """The observations that a quantity may use; plimsoll.claims.study_observations.StudyObservations has them."""

    metrics: dict[str, dict]
    transports: dict[str, list[str]]
    brief: bool

    def values(self, metric: str, cell: str) -> Sample:
        """Return one value per block."""

    def summary(self, metric: str, cell: str) -> Summary | None:
        """Return the mean of a metric in a cell, if nothing pairs its values with those of other cells."""

    def single(self, metric: str, cell: str) -> Sample:
        """Return every single value. A block may have several values, such as iterations of a loop."""

    def sample(self, side: Side) -> Sample:
        """Return what a side is about, one value per block, as the quantity of the side defines it."""

    def lent(self, contrast: Contrast) -> Lent:
        """Return the spread that similar differences of logarithms within a block lend to this one."""


class Quantity(ABC):
    """A quantity that a claim can be about.

    `name` is the name that claims use, and `scale` says how its effects are counted. `effect_in_words` is what pages
    call an effect. `shown_as` is how they print it: `percent`, percentage `points`, a signed `number`, or a `share` of
    runs. `change_as` is how they print the difference between the effects of two result sets: one of these, or `odds`.

    `says_sides` is false if a claim need not say which of two sides is higher. `relative` is true if each side is
    relative to a reference. `printed` is true if the other side is a value that the paper prints, and `one_side` if
    there is no other side. `needs` are the keys that a claim must have (`values.a` is the key `a` of its `values`).
    `usual_margin` is the difference within which two sides are alike if the claim names none.
    """

    name: str
    scale = RATIO
    effect_in_words = "difference"
    shown_as = "percent"
    change_as = "percent"
    says_sides = True
    relative = False
    printed = False
    one_side = False
    needs: tuple[str, ...] = ()
    usual_margin = MARGIN

    def problem(self, claim: Mapping) -> str | None:
        """Return what is wrong with the keys of a claim, in words; None if nothing is wrong."""
        given = {*claim, *(f"values.{name}" for name in claim.get("values", {}))}
        lacking = next((key for key in self.needs if key not in given), None)
        return f"{lacking}: the quantity {self.name!r} needs it" if lacking else None

    def sample(self, observations: Observations, side: Side) -> Sample:
        """Return what a side is about, one value per block: the values of the metric. Quantities that are computed
        override this.

        Half a count is added to counts, and a share is at least LEAST, so that 0 has a logarithm too.
        """
        own, unit = observations.values(side.metric, side.cell), observations.metrics[side.metric]["unit"]
        if unit == "count":
            return replace(own, values=own.values + 0.5)
        return replace(own, values=np.maximum(own.values, LEAST)) if unit.startswith("share") else own

    def rows(self, claim: dict, observations: Observations, contrasts: Sequence, row: dict, alpha: float) -> list[dict]:
        """Return one row per comparison in `contrasts` (`compare`). `row(contrast)` returns what every row begins with."""
        return [self.compare(claim, observations, one, row(one), alpha) for one in contrasts]

    def upper(self, margin: float) -> float:
        """Return the largest difference at which two sides are alike, on the scale of the test. Here the scale is
        logarithmic."""
        return float(np.log1p(margin))

    def bounds(self, margin: float) -> Bounds:
        """Return the differences between which two sides are alike, on the scale of the test."""
        # No value can fall by 100 % or more: the logarithm needs a margin below 1.
        return Bounds(float(np.log1p(-min(margin, 1 - LEAST))), self.upper(margin))

    def back(self, difference: float) -> float:
        """Convert a difference on the scale of the test into an effect."""
        return float(np.expm1(difference))

    def forth(self, effect: float, row: Mapping) -> float:
        """Convert an effect of a comparison to the scale of the test: the inverse of `back`. An effect without a place
        there becomes infinite."""
        with np.errstate(divide="ignore"):
            return float(np.log1p(effect))

    @abstractmethod
    def compare(self, claim: dict, observations: Observations, contrast, row: dict, alpha: float) -> dict:
        """Return `row` with n, test, effect, interval and p, and with `shown` (verdicts.PValues) for the verdict.

        A quantity without a test sets the `verdict` itself. If an average over comparisons has a meaning, `differences`
        (Sample) holds the differences by block, on the scale of the test.
        """


def with_reference(observations: Observations, side: Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (values of the side's cell, values of its reference, their blocks) for the blocks that have both."""
    own, reference = (observations.values(side.metric, cell) for cell in (side.cell, side.reference))
    value, before = blocks.within_blocks(own, reference)
    return value, before, np.intersect1d(own.blocks, reference.blocks)
