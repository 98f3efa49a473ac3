"""Comparisons of two cells: differences within blocks, intervals, tests of a difference and of likeness, and what n can show.

Every block holds each cell once. What a block does to all its runs (a warm machine, a drift) therefore cancels in the
differences within it. Relative differences are taken on the logarithms.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from plimsoll.analysis import independence, paper_tests, sample_sizes
from plimsoll.analysis.spreads import NOTHING, Lent
from plimsoll.planning.availability import SMALLEST

if TYPE_CHECKING:
    import pandas as pd  # not at run time, as in cell_paths

# Probability that an interval leaves out on each side.
OUTSIDE = 0.025
# Differences (of logarithms or of fractions) that are this close count as equal, as those of counts may be. The
# computed standard deviation of equal numbers is not always exactly 0.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Sample:
    """Observations of one side by block: `values` and `blocks` of equal length, `censored` where a run hit its limit."""

    values: np.ndarray
    blocks: np.ndarray
    censored: np.ndarray


def by_block(sample: Sample, middle: Callable[[np.ndarray], float]) -> Sample:
    """Return one value per block: the `middle` (mean or median) of its values. A block with a censored value is censored."""
    blocks = np.unique(sample.blocks)
    if len(blocks) == len(sample.blocks):
        return sample
    values = np.array([middle(sample.values[sample.blocks == block]) for block in blocks])
    return Sample(values, blocks, np.array([sample.censored[sample.blocks == block].any() for block in blocks]))


def geometric_mean(values: np.ndarray) -> float:
    """Return the geometric mean of values. It is their mean if one of them is not above 0, as a count may be.

    Blocks are compared by logarithms, and the logarithm of a mean is above the mean of the logarithms. So a side that runs
    several times in a block would seem larger than one that runs once.
    """
    return float(np.exp(np.log(values).mean()) if (values > 0).all() else values.mean())


def numbers(observations: "pd.DataFrame") -> np.ndarray:
    """Return the block of each observation.

    Tables of earlier versions name only the repetition: there each block had one.
    """
    return observations["block" if "block" in observations else "repetition"].to_numpy()


def sample(group: "pd.DataFrame") -> Sample:
    """Return observations of one side as a Sample in which no run hit a limit."""
    return Sample(group["value"].to_numpy(float), numbers(group), np.zeros(len(group), bool))


def change(own: Sample, baseline: Sample) -> tuple[float, float, float]:
    """Return (relative difference, low, high) of the blocks' geometric means from a baseline's, over the blocks of both.

    It follows from the mean of the log ratios, with Student's 95 % interval. NaN if no block has both, or if a mean is
    not positive.
    """
    in_own, in_baseline = within_blocks(*(by_block(one, geometric_mean) for one in (own, baseline)))
    if not len(in_own) or (in_own <= 0).any() or (in_baseline <= 0).any():
        return (float("nan"),) * 3
    ratios = np.log(in_own / in_baseline)
    middle, low, high = t_interval(ratios)
    return tuple(float(value) for value in np.expm1((ratios.mean() if np.isnan(middle) else middle, low, high)))


def in_sessions(sample: Sample) -> Sample:
    """Return the sample with sessions in the place of blocks, if blocks are numbered by session. Otherwise it is unchanged."""
    if not independence.by_sessions(sample.blocks):
        return sample
    return Sample(sample.values, sample.blocks // independence.SESSION * independence.SESSION, sample.censored)


def within_blocks(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a and b in the blocks that both have, in the order of the blocks."""
    _, in_a, in_b = np.intersect1d(a.blocks, b.blocks, return_indices=True)
    return a.values[in_a], b.values[in_b]


def values_at(values: np.ndarray, blocks: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the values of the `wanted` blocks, in their order. There is one value per block."""
    return values[np.searchsorted(blocks, wanted)]


def t_interval(differences: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return (mean, low, high) of Student's t for the mean of differences, one per block in the order of the blocks.

    All are NaN for fewer than SMALLEST differences.
    """
    differences = independence.units(differences)
    if len(differences) < SMALLEST:
        return (float("nan"),) * 3
    return (differences.mean(), *paper_tests.mean_interval(differences, level))


def p_difference(differences: np.ndarray) -> float:
    """Return the two-sided p of the paired t test, or of signs if all differences are the same.

    NaN for fewer than SMALLEST differences.
    """
    return Mean.of(differences).p


def _vary(differences: np.ndarray) -> bool:
    return bool(np.ptp(differences) > ROUNDING)


def _of_signs(difference: float, n: int) -> float:
    """Return the one-sided p of the sign test for n equal differences: that of n heads, or 1 if they are not above 0."""
    return 0.5**n if difference > ROUNDING else 1.0


def p_alike(differences: np.ndarray, margin: float) -> float:
    """Return p of two one-sided t tests (TOST) that the mean lies within [-margin, margin]: the larger of both."""
    mean = Mean.of(differences)
    return math.nan if math.isnan(mean.mean) else max(mean.above(-margin), mean.below(margin))


@dataclass(frozen=True)
class Mean:
    """Student's estimate of the mean of differences, with its standard error and degrees of freedom.

    Without an error, all differences are the same, and signs are tested in place of the mean: a t test would be certain.
    `pooled` is the same with the spread of all comparisons like this one, if there are some.
    """

    mean: float
    error: float
    degrees: float
    pooled: "Mean | None" = None

    @staticmethod
    def of(differences: np.ndarray) -> "Mean":
        """Return the Mean of differences, one per block in the order of the blocks.

        Its mean is NaN for fewer than SMALLEST differences.
        """
        differences = independence.units(differences)
        n = len(differences)
        deviation = differences.std(ddof=1) if n > 1 and _vary(differences) else 0.0
        mean = float(differences.mean()) if n >= SMALLEST else math.nan
        return Mean(mean, float(deviation / math.sqrt(max(n, 1))), n - 1)

    def above(self, value: float) -> float:
        """Return p of the one-sided test that the true mean is above a value; 1 if the mean is not known."""
        if math.isnan(self.mean):
            return 1.0
        if not self.error:
            return _of_signs(self.mean - value, round(self.degrees) + 1)
        return float(special.stdtr(self.degrees, (value - self.mean) / self.error))

    def below(self, value: float) -> float:
        """Return p of the one-sided test that the true mean is below a value; 1 if the mean is not known."""
        return self.turned().above(-value)

    @property
    def p(self) -> float:
        """Two-sided p for the true mean being another than 0; NaN if the mean is not known."""
        return math.nan if math.isnan(self.mean) else min(1.0, 2 * min(self.above(0), self.below(0)))

    def turned(self) -> "Mean":
        """Return the Mean of the differences with the other sign."""
        return Mean(-self.mean, self.error, self.degrees, self.pooled and self.pooled.turned())

    def ends(self, alpha: float) -> tuple[float, float]:
        """Return the one-sided bounds of the true mean, each wrong with probability `alpha`; NaN if the mean is not known."""
        half = float(special.stdtrit(self.degrees, 1 - alpha)) * self.error
        return self.mean - half, self.mean + half

    def moderated(self, lent: Lent) -> "Mean":
        """Return the Mean with the spread that similar comparisons lend to this one (Smyth 2004)."""
        root = math.sqrt(self.degrees + 1)
        spread = lent.prior.with_own(self.error * root, self.degrees)
        pooled = Mean(self.mean, lent.pooled.deviation / root, lent.pooled.degrees)
        return Mean(self.mean, spread.deviation / root, spread.degrees, pooled)

    @property
    def strictly(self) -> "Mean | Both":
        """Evidence that also holds beside many other comparisons: the blocks of a few of these are alike by chance."""
        return Both(self, self.pooled) if self.pooled else self


@dataclass(frozen=True)
class Both:
    """Two tests of one mean, of which the weaker evidence counts. It is valid if one of them is, and which one need not
    be known."""

    one: Mean
    other: Mean

    def above(self, value: float) -> float:
        """Return p for the true mean being above a value."""
        return max(self.one.above(value), self.other.above(value))

    def below(self, value: float) -> float:
        """Return p for the true mean being below a value."""
        return max(self.one.below(value), self.other.below(value))


@dataclass(frozen=True)
class Signs:
    """Result of a test of a direction: p that something rises, and p that it falls.

    `rise` and `fall` are estimates of how far it rises and falls, if there are estimates that do not exaggerate.
    """

    rises: float
    falls: float
    rise: Mean | None = None
    fall: Mean | None = None

    def above(self, value: float) -> float:
        """Return p that the change is above a value of 0 or more.

        It is 1 for a value below 0, because such a test says nothing about likeness. Above 0, both the direction and
        the estimate must show it (intersection-union test). Without an estimate it is not shown.
        """
        if value < 0 or math.isnan(self.rises):
            return 1.0
        return max(self.rises, self._beyond(value))

    def below(self, value: float) -> float:
        """Return p that the change is below a value of 0 or less; 1 for a value above 0."""
        return self.turned().above(-value)

    def turned(self) -> "Signs":
        """Return the result of the same test with the other sign."""
        rise, fall = (one and one.turned() for one in (self.fall, self.rise))
        return Signs(self.falls, self.rises, rise, fall)

    def _beyond(self, value: float) -> float:
        if value == 0:
            return 0.0
        return self.rise.above(value) if self.rise else 1.0

    @property
    def strictly(self) -> "Signs":
        """Evidence that also holds beside many other comparisons. It is unchanged, because ranks use no spread."""
        return self


def about_zero(
    differences: np.ndarray, alpha: float, back=lambda value: value, which: np.ndarray | None = None, lent: Lent = NOTHING
) -> dict:
    """Return what differences within blocks say of their mean; `which` are the numbers of the blocks.

    The result has `effect` with `low` and `high`, `p`, `detectable`, `shown` (Mean), from which the verdict follows,
    and the standard `deviation`, from which the number of repetitions follows. `back` undoes the transformation of the
    differences, such as a logarithm. The deviation is that of one block. Where blocks are batched (`units`), it
    contains what consecutive blocks have in common.

    `lent` is what similar comparisons lend to one of fewer than independence.BATCHED blocks (plimsoll.analysis.spreads). A
    comparison with more blocks, or with sessions in their place, uses its own spread.
    """
    independent = independence.units(differences, which)
    mean, low, high = t_interval(independent)
    of_one = independent.std(ddof=1) if len(independent) > 1 else math.nan
    deviation = of_one * math.sqrt(len(differences) / len(independent))
    own = {
        "effect": back(mean),
        "low": back(low),
        "high": back(high),
        "p": p_difference(independent),
        "detectable": back(sample_sizes.detectable(of_one, len(independent), alpha)),
        "shown": Mean.of(independent),
        "deviation": float(deviation),
    }
    of_blocks = len(independent) == len(differences) and not (which is not None and independence.by_sessions(which))
    if not of_blocks or lent == NOTHING or math.isnan(own["shown"].mean) or not own["shown"].error:
        return own
    shown = own["shown"].moderated(lent)
    return own | ({"shown": shown} if shown.degrees == own["shown"].degrees else _told(shown, alpha, back))


def _told(shown: "Mean", alpha: float, back: Callable[[float], float]) -> dict:
    """Return what is reported of a mean whose spread is not only that of its own blocks."""
    half, shows = (special.stdtrit(shown.degrees, level) * shown.error for level in (1 - OUTSIDE, sample_sizes.POWER))
    return {
        "low": back(float(shown.mean - half)),
        "high": back(float(shown.mean + half)),
        "p": shown.p,
        "detectable": back(float(special.stdtrit(shown.degrees, 1 - alpha / 2) * shown.error + shows)),
        "shown": shown,
    }


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cliff's delta: the probability that a value of a is above one of b, less the probability that it is below."""
    return float(np.sign(a[:, None] - b[None, :]).mean())


def bootstrap_ratios(a: np.ndarray, b: np.ndarray, resamples: int, seed: int) -> dict[str, np.ndarray]:
    """Return 95 % intervals (BCa) of the ratios of means and of medians, a over b, resampling whole blocks.

    `a` and `b` are of shape (comparisons, blocks). The result has `mean` and `median`, each of shape (comparisons, 2).
    """
    from scipy import stats

    def ratio(middle):
        return lambda x, y, axis: middle(x, axis=axis) / middle(y, axis=axis)

    ratios = {}
    for name, middle in (("mean", np.mean), ("median", np.median)):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # The median of a few resampled blocks may not vary. Its interval is then NaN, which says so.
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            result = stats.bootstrap(
                (a, b),
                ratio(middle),
                paired=True,
                axis=-1,
                vectorized=True,
                n_resamples=resamples,
                method="BCa",
                rng=np.random.default_rng(seed),
                batch=200,
            )
        interval = result.confidence_interval
        ratios[name] = np.stack([np.atleast_1d(interval.low), np.atleast_1d(interval.high)], axis=-1)
    return ratios


def trend(levels: np.ndarray, which: np.ndarray | None = None) -> tuple[float, float]:
    """Return (p rising, p falling) of Page's trend test.

    `levels` is of shape (blocks, levels), complete, with at least three levels. `which` are the numbers of the blocks.
    NaN for fewer than SMALLEST rows that are independent (`units`).
    """
    from scipy import stats

    levels = independence.units(levels, which)
    if len(levels) < SMALLEST:
        return math.nan, math.nan
    rising = stats.page_trend_test(levels)
    falling = stats.page_trend_test(levels[:, ::-1])
    return float(rising.pvalue), float(falling.pvalue)
