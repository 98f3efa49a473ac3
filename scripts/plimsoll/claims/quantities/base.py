"""What a claim asks of the quantity that it is about: samples, comparisons, and how its effects are counted."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import Lent
from plimsoll.claims.sides import Contrast, Side
from plimsoll.claims.verdicts import Bounds

# How effects are counted: as relative differences of two values; as differences of what are fractions already; as a share of
# the runs that agree with the claim.
RATIO, DIFFERENCE, SHARE = "ratio", "difference", "share"
# Smallest relative difference that matters, where the paper names none.
MARGIN = 0.05
# A share of 0 has no logarithm, and one of 0 or 1 no odds; no share is measured this finely.
LEAST = 1e-6


class Observed(Protocol):
    """What a quantity may ask of what was observed (plimsoll.claims.measured.Measured)."""

    metrics: dict[str, dict]
    transports: dict[str, list[str]]
    brief: bool

    def values(self, metric: str, cell: str) -> Sample:
        """One value per block."""

    def single(self, metric: str, cell: str) -> Sample:
        """Every single value. A block may have several: iterations of a loop."""

    def sample(self, side: Side) -> Sample:
        """What a side is about, one value per block, by the quantity of the side."""

    def lent(self, contrast: Contrast) -> Lent:
        """What differences of logarithms within a block lend to one of them."""


class Quantity(ABC):
    """`name` is what claims call it, `scale` how its effects are counted, `effect_in_words` what pages call
    them, and `shown_as` how they print them: `percent`, percentage `points`, a signed `number`, or a `share` of runs.
    `change_as` is how they print the difference of two effects, that of two sets of results: as one of these, or as `odds`.

    `says_sides` is false where a claim need not say which of two sides is higher, `relative` true where each side is relative
    to a reference, `printed` where the other side is a value that the paper prints, `one_side` where there is no other side.
    `needs` are keys of a claim that it cannot do without (`values.a`: that one of its values).
    `usual_margin` is the difference within which two sides are alike, where the claim names none.
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
        """In words, what is wrong with what a claim gives; None if nothing is."""
        given = {*claim, *(f"values.{name}" for name in claim.get("values", {}))}
        lacking = next((key for key in self.needs if key not in given), None)
        return f"{lacking}: the quantity {self.name!r} needs it" if lacking else None

    def sample(self, observed: Observed, side: Side) -> Sample:
        """What a side is about, one value per block: the metric's values, unless the quantity is made of them.

        Half a count is added to counts, and a share is at least LEAST, so that 0 has a logarithm too.
        """
        own, unit = observed.values(side.metric, side.cell), observed.metrics[side.metric]["unit"]
        if unit == "count":
            return replace(own, values=own.values + 0.5)
        return replace(own, values=np.maximum(own.values, LEAST)) if unit.startswith("share") else own

    def rows(self, claim: dict, observed: Observed, asked: Sequence, row: dict, alpha: float) -> list[dict]:
        """One row per comparison that is asked for (`compare`); `row(contrast)` gives what every row begins with."""
        return [self.compare(claim, observed, one, row(one), alpha) for one in asked]

    def upper(self, margin: float) -> float:
        """The largest difference at which two sides are alike, on the scale of the test: here that of logarithms."""
        return float(np.log1p(margin))

    def bounds(self, margin: float) -> Bounds:
        """Between which differences two sides are alike, on the scale of the test."""
        # Nothing is lower than nothing.
        return Bounds(float(np.log1p(-min(margin, 1 - LEAST))), self.upper(margin))

    def back(self, difference: float) -> float:
        """An effect of a difference on the scale of the test."""
        return float(np.expm1(difference))

    def forth(self, effect: float, row: Mapping) -> float:
        """An effect of a comparison on the scale of the test, what `back` undoes; infinite for one that has no place there."""
        with np.errstate(divide="ignore"):
            return float(np.log1p(effect))

    @abstractmethod
    def compare(self, claim: dict, observed: Observed, contrast, row: dict, alpha: float) -> dict:
        """A row with n, test, effect, interval and p, and `shown` (plimsoll.claims.verdicts.Shown), from which its verdict
        follows; a quantity that has nothing to test gives the `verdict` itself. Where an average over comparisons has a
        meaning, `differences` (Sample) holds their differences by block, on the scale of the test."""


def with_reference(observed: Observed, side: Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(values of the side's cell, those of its reference, their blocks), of the blocks that have both."""
    own, reference = (observed.values(side.metric, cell) for cell in (side.cell, side.reference))
    value, before = blocks.within_blocks(own, reference)
    return value, before, np.intersect1d(own.blocks, reference.blocks)
