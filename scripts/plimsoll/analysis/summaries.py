"""Means, standard deviations and numbers of values, as papers print them, and of values that nothing pairs.

The logarithm of the ratio of two means has, to first order, the sum of both squared relative standard errors as its variance
(delta method). Its degrees of freedom are Welch's and Satterthwaite's. Means of different cells are taken as independent.
Several means of one cell may be of the same runs. They are taken to move together, so an average of them is not more certain.
Of values that are known, the logarithms themselves have a mean and a variance.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from plimsoll.analysis import blocks, sample_sizes
from plimsoll.analysis.blocks import Mean
from plimsoll.planning.availability import SMALLEST

WELCH = "Welch's t of the ratio of means, from standard deviations"
NO_SPREAD = "none: no standard deviations and numbers of runs"
WELCH_OF_LOGARITHMS = "Welch's t of the logarithms, unpaired"
NOT_TESTED = f"none: fewer than {SMALLEST} runs of a side, or all of them the same"


@dataclass(frozen=True)
class Summary:
    """The mean of a cell, with the standard deviation and the number of its values; NaN if they are not known."""

    mean: float
    sd: float
    n: float
    TEST: ClassVar[str] = WELCH
    NO_TEST: ClassVar[str] = NO_SPREAD

    @property
    def log(self) -> float:
        """Logarithm that ratios are compared by."""
        return math.log(self.mean)

    @property
    def variance(self) -> float:
        """Variance of the logarithm of the mean, to first order; NaN if it is not known."""
        return (self.sd / self.mean) ** 2 / self.n if self.n > 1 else math.nan


@dataclass(frozen=True)
class OfValues(Summary):
    """The mean of known values. `middle` and `spread` are the mean and the standard deviation of their logarithms."""

    middle: float
    spread: float
    TEST: ClassVar[str] = WELCH_OF_LOGARITHMS
    NO_TEST: ClassVar[str] = NOT_TESTED

    @classmethod
    def of(cls, values: np.ndarray) -> "OfValues":
        """Return the summary of values above 0, of which there is at least one."""
        logs = np.log(values)
        sd, spread = (float(each.std(ddof=1)) if len(values) > 1 else math.nan for each in (values, logs))
        return cls(float(values.mean()), sd, len(values), float(logs.mean()), spread)

    @property
    def log(self) -> float:
        """Mean of the logarithms."""
        return self.middle

    @property
    def variance(self) -> float:
        """Variance of the mean logarithm; NaN for fewer than SMALLEST values. Equal values vary by rounding alone: 0."""
        varies = self.spread > blocks.ROUNDING
        return self.spread**2 / self.n * varies if self.n >= SMALLEST else math.nan


# The means that an estimate is of, by metric and cell, each with its coefficient: 1 and -1 for the logarithm of a ratio.
Terms = Mapping[tuple[str, Hashable], tuple[float, Summary]]


def estimate(terms: Terms) -> Mean:
    """Return the weighted sum of the logarithms of means, with its standard error and degrees of freedom.

    Its mean is NaN if a variance is not known, or if nothing varies.
    """
    of_cells: dict[Hashable, list[tuple[float, float]]] = {}
    for (_, cell), (weight, one) in terms.items():
        of_cells.setdefault(cell, []).append((abs(weight) * math.sqrt(one.variance), one.n - 1))
    variances = [(sum(error for error, _ in each) ** 2, min(freedom for _, freedom in each)) for each in of_cells.values()]
    total = sum(variance for variance, _ in variances)
    mean = sum(weight * one.log for weight, one in terms.values() if weight)
    if not total > 0:
        return Mean(math.nan, 0.0, 1.0)
    degrees = total**2 / sum(variance**2 / freedom for variance, freedom in variances)
    return Mean(mean, math.sqrt(total), degrees)


def together(each: Sequence[Terms], weights: Sequence[float]) -> Terms:
    """Return the terms of a weighted sum of estimates. A mean that several share counts once, with its weight in all."""
    coefficients, known = Counter(), {}
    for weight, terms in zip(weights, each, strict=True):
        for key, (own, one) in terms.items():
            coefficients[key] += weight * own
            known[key] = one
    return {key: (coefficients[key], one) for key, one in known.items()}


def told(terms: Terms, alpha: float, back) -> dict:
    """Return what an estimate shows, with the keys of blocks.about_zero; without an interval if nothing is known of spreads.

    `detectable` and `deviation` are those of as many pairs of runs as the mean with fewest values has.
    """
    first = next(one for _, one in terms.values())
    numbers = [one.n for _, one in terms.values()]
    n = min(numbers) if all(number >= 1 for number in numbers) else math.nan
    shown = estimate(terms)
    if math.isnan(shown.mean):
        ratio = sum(weight * one.log for weight, one in terms.values())
        return {"n": 0 if math.isnan(n) else int(n), "test": first.NO_TEST, "effect": back(ratio)}
    low, high = shown.ends(blocks.OUTSIDE)
    deviation = shown.error * math.sqrt(n)
    shows = special.stdtrit(shown.degrees, 1 - alpha / 2) + special.stdtrit(shown.degrees, sample_sizes.POWER)
    return {
        **{"n": int(n), "test": first.TEST, "effect": back(shown.mean), "low": back(low), "high": back(high)},
        **{"p": shown.p, "detectable": back(float(shows * shown.error))},
        **{"shown": shown, "deviation": deviation},
    }
