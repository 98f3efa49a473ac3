"""Comparisons of two cells: differences within blocks, intervals, tests of a difference and of likeness, and what n can show.

Every block holds each cell once, so what one block does to all its runs (a warm machine, a drift) cancels in the differences
within it. Relative differences are taken on the logarithms.
"""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from plimsoll.analysis import paper_tests

POWER = 0.8
MOST = 10_000  # repetitions beyond which we say only "more than"
# Fewer blocks give no verdict.
SMALLEST = 3


@dataclass(frozen=True)
class Sample:
    """Observations of one side by block: `values` and `blocks` of equal length, `censored` where a run hit its limit."""

    values: np.ndarray
    blocks: np.ndarray
    censored: np.ndarray


def by_block(sample: Sample, middle: Callable[[np.ndarray], float]) -> Sample:
    """One value per block: the `middle` (mean or median) of its values. A block with a censored value is censored."""
    blocks = np.unique(sample.blocks)
    if len(blocks) == len(sample.blocks):
        return sample
    values = np.array([middle(sample.values[sample.blocks == block]) for block in blocks])
    return Sample(values, blocks, np.array([sample.censored[sample.blocks == block].any() for block in blocks]))


def relative_to_block(sample: Sample) -> np.ndarray:
    """Values divided by the mean of their block; the values themselves where each block has one."""
    means = by_block(sample, np.mean)
    if means is sample:
        return sample.values
    return sample.values / means.values[np.searchsorted(means.blocks, sample.blocks)]


def within_blocks(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Values of a and b of the blocks that have both, in the order of the blocks."""
    _, in_a, in_b = np.intersect1d(a.blocks, b.blocks, return_indices=True)
    return a.values[in_a], b.values[in_b]


def t_interval(differences: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """(mean, low, high) of Student's t for the mean of differences; NaN for fewer than SMALLEST."""
    if len(differences) < SMALLEST:
        return (float("nan"),) * 3
    return (differences.mean(), *paper_tests.mean_interval(differences, level))


def p_difference(differences: np.ndarray) -> float:
    """Two-sided p of the paired t test. NaN for fewer than SMALLEST differences, or for differences that are all the same,
    which no clock gives."""
    n, deviation = len(differences), np.std(differences, ddof=1) if len(differences) > 1 else 0.0
    if n < SMALLEST or deviation == 0:
        return float("nan")
    return float(2 * special.stdtr(n - 1, -abs(differences.mean()) / (deviation / np.sqrt(n))))


def p_alike(differences: np.ndarray, margin: float) -> float:
    """p of two one-sided t tests (TOST) that the mean lies within [-margin, margin]: the larger one."""
    n, deviation = len(differences), np.std(differences, ddof=1) if len(differences) > 1 else 0.0
    if n < SMALLEST or deviation == 0:
        return float("nan")
    error = deviation / np.sqrt(n)
    above = special.stdtr(n - 1, -(differences.mean() + margin) / error)
    below = special.stdtr(n - 1, -(margin - differences.mean()) / error)
    return float(max(above, below))


def about_zero(differences: np.ndarray, margin: float, alpha: float, back=lambda value: value) -> dict:
    """What differences say of their mean: `effect` with `low` and `high`, `p`, `p_like` and `detectable`, and the `spread`
    (mean, standard deviation, margin) that the number of repetitions follows from. `back` undoes the transformation of the
    differences, such as a logarithm."""
    mean, low, high = t_interval(differences)
    deviation = differences.std(ddof=1)
    return {
        "effect": back(mean),
        "low": back(low),
        "high": back(high),
        "p": p_difference(differences),
        "p_like": p_alike(differences, margin),
        "detectable": back(detectable(deviation, len(differences), alpha)),
        "spread": (mean, deviation, margin),
    }


def detectable(deviation: float, n: int, alpha: float) -> float:
    """Smallest mean difference that a two-sided paired t test of n differences finds with a power of 80 %."""
    if n < SMALLEST:
        return float("nan")
    return float(_shown_by(n, alpha / 2, POWER) * deviation)


def needed(deviation: float, target: float, alpha: float, alike: bool = False) -> int:
    """Differences that it takes to find a mean difference of `target` with a power of 80 %; with `alike`, to show a mean
    difference of zero to be within `target`. At most MOST + 1."""
    if not np.isfinite(deviation) or target <= 0:
        return MOST + 1
    enough = _smallest_ratios(alpha, alike) * deviation <= target
    return int(SMALLEST + enough.argmax()) if enough.any() else MOST + 1


@functools.lru_cache
def _smallest_ratios(alpha: float, alike: bool) -> np.ndarray:
    """Difference that n = SMALLEST .. MOST can show with a power of 80 %, in standard deviations."""
    n = np.arange(SMALLEST, MOST + 1)
    error, power = (alpha, (1 + POWER) / 2) if alike else (alpha / 2, POWER)
    return _shown_by(n, error, power)


def _shown_by(n, error: float, power: float):
    """Difference, in standard deviations, that a one-sided t test of n differences shows with this error and power."""
    return (special.stdtrit(n - 1, 1 - error) + special.stdtrit(n - 1, power)) / np.sqrt(n)


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float:
    """Probability that a value of a is above one of b, less the probability that it is below."""
    return float(np.sign(a[:, None] - b[None, :]).mean())


def bootstrap_ratios(a: np.ndarray, b: np.ndarray, resamples: int, seed: int) -> dict[str, np.ndarray]:
    """95 % intervals (BCa) of the ratios of means and of medians, a over b, resampling whole blocks.

    `a` and `b` are of shape (comparisons, blocks); the result has `mean` and `median`, each of shape (comparisons, 2).
    """
    from scipy import stats

    def ratio(middle):
        return lambda x, y, axis: middle(x, axis=axis) / middle(y, axis=axis)

    found = {}
    for name, middle in (("mean", np.mean), ("median", np.median)):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # Of a few blocks a resampled median may not vary; its interval is then not a number, and says so.
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
        found[name] = np.stack([np.atleast_1d(interval.low), np.atleast_1d(interval.high)], axis=-1)
    return found


def dispersion(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    """(effect, low, high, p): relative difference of the coefficients of variation of a and b.

    The standard deviation of logarithms stands for the coefficient of variation. The interval is F's, which holds for normal
    logarithms; p is of the Brown-Forsythe test (Levene's on deviations from the median), which does not need that.
    """
    from scipy import stats

    if min(len(a), len(b)) < SMALLEST:
        return (float("nan"),) * 4
    logs_a, logs_b = np.log(a), np.log(b)
    var_a, var_b = logs_a.var(ddof=1), logs_b.var(ddof=1)
    if var_a == 0 or var_b == 0:
        return (float("nan"),) * 4
    ratio, degrees = var_a / var_b, (len(a) - 1, len(b) - 1)
    low, high = ratio / stats.f.ppf(0.975, *degrees), ratio / stats.f.ppf(0.025, *degrees)
    p = stats.levene(logs_a, logs_b, center="median").pvalue
    return np.sqrt(ratio) - 1, np.sqrt(low) - 1, np.sqrt(high) - 1, float(p)


def trend(levels: np.ndarray) -> tuple[float, float]:
    """(p rising, p falling) of Page's trend test; `levels` is of shape (blocks, levels), complete, at least three levels."""
    from scipy import stats

    rising = stats.page_trend_test(levels)
    falling = stats.page_trend_test(levels[:, ::-1])
    return float(rising.pvalue), float(falling.pvalue)
