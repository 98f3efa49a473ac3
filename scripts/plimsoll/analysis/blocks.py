"""Comparisons of two cells: differences within blocks, intervals, tests of a difference and of likeness, and what n can show.

Every block holds each cell once, so what one block does to all its runs (a warm machine, a drift) cancels in the differences
within it. Relative differences are taken on the logarithms.
"""

import functools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from plimsoll.analysis import paper_tests
from plimsoll.analysis.spreads import NOTHING, Lent
from plimsoll.planning.availability import SMALLEST

if TYPE_CHECKING:
    import pandas as pd  # as in cell_paths

POWER = 0.8
# Intervals leave out so much on each side.
OUTSIDE = 0.025
MOST = 10_000  # repetitions beyond which we say only "more than"
# Differences (of logarithms or of fractions) that are as close as this are all the same, as those of counts may be: the
# standard deviation of equal numbers is not always exactly 0.
ROUNDING = 1e-12
# Blocks in which few cells are measured follow each other within seconds, and what lasts longer is in several of them. Of so
# many blocks or more, consecutive ones are one value together, and there are so many of these (batch means).
BATCHED, BATCHES = 40, 20
# Where blocks are numbered by session that many times the session's number, from 1 on, are added to each.
SESSION = 1_000_000


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


def numbers(observations: "pd.DataFrame") -> np.ndarray:
    """The block of each observation; tables of an earlier version name only the repetition, of which a block had one."""
    return observations["block" if "block" in observations else "repetition"].to_numpy()


def sample(group: "pd.DataFrame") -> Sample:
    """Observations of one side, none of which hit a limit."""
    return Sample(group["value"].to_numpy(float), numbers(group), np.zeros(len(group), bool))


def change(own: Sample, baseline: Sample) -> tuple[float, float, float]:
    """(relative difference, low, high) of the blocks' means from a baseline's, of the blocks that both have: from the mean of
    the log ratios, with Student's 95 % interval. NaN where no block has both, or a mean is not positive."""
    in_own, in_baseline = within_blocks(*(by_block(one, np.mean) for one in (own, baseline)))
    if not len(in_own) or (in_own <= 0).any() or (in_baseline <= 0).any():
        return (float("nan"),) * 3
    ratios = np.log(in_own / in_baseline)
    middle, low, high = t_interval(ratios)
    return tuple(float(value) for value in np.expm1((ratios.mean() if np.isnan(middle) else middle, low, high)))


def units(values: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
    """What a t test takes as independent, of one value per block in the order of the blocks (or of one row per block, `values`
    of shape (blocks, columns)): the mean of each session where blocks are numbered (`which`) by session, and otherwise the
    means of batches of consecutive blocks where there are BATCHED or more."""
    if which is not None and by_sessions(which):
        return per_session(values, which)
    if len(values) < BATCHED:
        return values
    return np.stack([batch.mean(axis=0) for batch in np.array_split(values, BATCHES)])


def by_sessions(which: np.ndarray) -> bool:
    """Whether blocks are numbered by session."""
    return bool(len(which)) and bool(which.max() >= SESSION)


def per_session(values: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The mean of each session where blocks are numbered by session, and otherwise the values as they are."""
    if not by_sessions(which):
        return values
    return np.stack([values[which // SESSION == session].mean(axis=0) for session in np.unique(which // SESSION)])


def in_sessions(sample: Sample) -> Sample:
    """The same with sessions in the place of blocks, where blocks are numbered by session."""
    if not by_sessions(sample.blocks):
        return sample
    return Sample(sample.values, sample.blocks // SESSION * SESSION, sample.censored)


def degrees(n):
    """Degrees of freedom of the t test of so many blocks of one session (a number, or an array of them)."""
    return np.where(np.asarray(n) >= BATCHED, BATCHES, n) - 1


def within_blocks(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Values of a and b of the blocks that have both, in the order of the blocks."""
    _, in_a, in_b = np.intersect1d(a.blocks, b.blocks, return_indices=True)
    return a.values[in_a], b.values[in_b]


def at(values: np.ndarray, blocks: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The values of these blocks, in their order, of one value per block."""
    return values[np.searchsorted(blocks, wanted)]


def t_interval(differences: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """(mean, low, high) of Student's t for the mean of differences, one per block in their order; NaN for fewer than
    SMALLEST."""
    differences = units(differences)
    if len(differences) < SMALLEST:
        return (float("nan"),) * 3
    return (differences.mean(), *paper_tests.mean_interval(differences, level))


def p_difference(differences: np.ndarray) -> float:
    """Two-sided p of the paired t test. NaN for fewer than SMALLEST differences, or for differences that are all the same,
    which no clock gives."""
    differences = units(differences)
    n = len(differences)
    if n < SMALLEST or not _vary(differences):
        return float("nan")
    return float(2 * special.stdtr(n - 1, -abs(differences.mean()) / (differences.std(ddof=1) / np.sqrt(n))))


def _vary(differences: np.ndarray) -> bool:
    return bool(np.ptp(differences) > ROUNDING)


def p_alike(differences: np.ndarray, margin: float) -> float:
    """p of two one-sided t tests (TOST) that the mean lies within [-margin, margin]: the larger one."""
    mean = Mean.of(differences)
    return math.nan if math.isnan(mean.mean) else max(mean.above(-margin), mean.below(margin))


@dataclass(frozen=True)
class Mean:
    """What Student's t says of the mean of differences: the estimate, its standard error and degrees of freedom. `pooled` is
    what it says with the spread of all comparisons like this one, where there are some."""

    mean: float
    error: float
    degrees: float
    pooled: "Mean | None" = None

    @staticmethod
    def of(differences: np.ndarray) -> "Mean":
        """Of differences, one per block in their order. Nothing is known (NaN) of fewer than SMALLEST, or of some that are all
        the same."""
        differences = units(differences)
        n = len(differences)
        deviation = differences.std(ddof=1) if n > 1 else 0.0
        known = n >= SMALLEST and _vary(differences)
        return Mean(float(differences.mean()) if known else math.nan, float(deviation / math.sqrt(max(n, 1))), n - 1)

    def above(self, value: float) -> float:
        """p of the one-sided t test that the true mean is above a value; 1 where nothing is known."""
        return 1.0 if math.isnan(self.mean) else float(special.stdtr(self.degrees, (value - self.mean) / self.error))

    def below(self, value: float) -> float:
        """p of the one-sided t test that the true mean is below a value; 1 where nothing is known."""
        return self.turned().above(-value)

    def turned(self) -> "Mean":
        """The same of the differences with the other sign."""
        return Mean(-self.mean, self.error, self.degrees, self.pooled and self.pooled.turned())

    def ends(self, alpha: float) -> tuple[float, float]:
        """One-sided bounds of the true mean, each wrong in a share of `alpha`; NaN where nothing is known."""
        half = float(special.stdtrit(self.degrees, 1 - alpha)) * self.error
        return self.mean - half, self.mean + half

    def moderated(self, lent: Lent) -> "Mean":
        """The same with what comparisons like this one lend to it (Smyth 2004)."""
        root = math.sqrt(self.degrees + 1)
        spread = lent.prior.with_own(self.error * root, self.degrees)
        pooled = Mean(self.mean, lent.pooled.deviation / root, lent.pooled.degrees)
        return Mean(self.mean, spread.deviation / root, spread.degrees, pooled)

    @property
    def strictly(self) -> "Mean | Both":
        """What holds beside many other comparisons too: the blocks of a few of them are alike by chance."""
        return Both(self, self.pooled) if self.pooled else self


@dataclass(frozen=True)
class Both:
    """What two tests say: the weaker of their evidence. It is valid where one of them is, and nobody need know which."""

    one: Mean
    other: Mean

    def above(self, value: float) -> float:
        """p that the true mean is above a value."""
        return max(self.one.above(value), self.other.above(value))

    def below(self, value: float) -> float:
        """p that the true mean is below a value."""
        return max(self.one.below(value), self.other.below(value))


@dataclass(frozen=True)
class Signs:
    """What a test of a direction says: p that something rises, and that it falls.

    `rise` and `fall` are estimates of how far it rises and falls, where there are any that do not exaggerate.
    """

    rises: float
    falls: float
    rise: Mean | None = None
    fall: Mean | None = None

    def above(self, value: float) -> float:
        """p that it is above a value of 0 or more; 1 for a value below 0, as such a test says nothing of likeness.

        Above 0 both the direction and the estimate must show it (intersection-union test), and without an estimate nothing
        does."""
        if value < 0 or math.isnan(self.rises):
            return 1.0
        return max(self.rises, self._beyond(value))

    def below(self, value: float) -> float:
        """p that it is below a value of 0 or less; 1 for a value above 0."""
        return self.turned().above(-value)

    def turned(self) -> "Signs":
        """The same with the other sign."""
        rise, fall = (one and one.turned() for one in (self.fall, self.rise))
        return Signs(self.falls, self.rises, rise, fall)

    def _beyond(self, value: float) -> float:
        if value == 0:
            return 0.0
        return self.rise.above(value) if self.rise else 1.0

    @property
    def strictly(self) -> "Signs":
        """What holds beside many other comparisons too: ranks ask for no spread."""
        return self


def about_zero(
    differences: np.ndarray, alpha: float, back=lambda value: value, which: np.ndarray | None = None, lent: Lent = NOTHING
) -> dict:
    """What differences within blocks (of the numbers `which`) say of their mean: `effect` with `low` and `high`, `p` and
    `detectable`, and `shown` (Mean) and their standard `deviation`, from which the verdict and the number of repetitions
    follow. `back` undoes the transformation of the differences, such as a logarithm. The deviation is that of one block, with
    what consecutive blocks have in common where they are batched (`units`).

    `lent` is what comparisons like this one lend to one of fewer than BATCHED blocks (plimsoll.analysis.spreads). What has more
    blocks, or sessions in their place, has a spread of its own."""
    independent = units(differences, which)
    mean, low, high = t_interval(independent)
    of_one = independent.std(ddof=1) if len(independent) > 1 else math.nan
    deviation = of_one * math.sqrt(len(differences) / len(independent))
    own = {
        "effect": back(mean),
        "low": back(low),
        "high": back(high),
        "p": p_difference(independent),
        "detectable": back(detectable(of_one, len(independent), alpha)),
        "shown": Mean.of(independent),
        "deviation": float(deviation),
    }
    of_blocks = len(independent) == len(differences) and not (which is not None and by_sessions(which))
    if not of_blocks or lent == NOTHING or math.isnan(own["shown"].mean):
        return own
    shown = own["shown"].moderated(lent)
    return own | ({"shown": shown} if shown.degrees == own["shown"].degrees else _told(shown, alpha, back))


def _told(shown: "Mean", alpha: float, back: Callable[[float], float]) -> dict:
    """What is told of a mean whose spread is not its blocks' own."""
    half, shows = (special.stdtrit(shown.degrees, level) * shown.error for level in (1 - OUTSIDE, POWER))
    return {
        "low": back(float(shown.mean - half)),
        "high": back(float(shown.mean + half)),
        "p": 2 * min(shown.above(0), shown.below(0)),
        "detectable": back(float(special.stdtrit(shown.degrees, 1 - alpha / 2) * shown.error + shows)),
        "shown": shown,
    }


def detectable(deviation: float, n: int, alpha: float) -> float:
    """Smallest mean difference that a two-sided paired t test of n differences finds with a power of 80 %."""
    if n < SMALLEST:
        return float("nan")
    return float(_shown_by(n, alpha / 2, POWER) * deviation)


def needed(deviation: float, target: float, alpha: float, alike: bool = False, power: float = POWER) -> int:
    """Differences that it takes to find a mean difference of `target` with this power; with `alike`, to show a mean difference
    of zero to be within `target`. At most MOST + 1."""
    if not np.isfinite(deviation) or target <= 0:
        return MOST + 1
    enough = _smallest_ratios(alpha, alike, power) * deviation <= target
    return int(SMALLEST + enough.argmax()) if enough.any() else MOST + 1


@functools.lru_cache
def _smallest_ratios(alpha: float, alike: bool, power: float) -> np.ndarray:
    """Difference that n = SMALLEST .. MOST can show with this power, in standard deviations."""
    n = np.arange(SMALLEST, MOST + 1)
    return _shown_by(n, alpha, (1 + power) / 2) if alike else _shown_by(n, alpha / 2, power)


def _shown_by(n, error: float, power: float):
    """Difference, in standard deviations, that a one-sided t test of n differences shows with this error and power."""
    return (special.stdtrit(degrees(n), 1 - error) + special.stdtrit(degrees(n), power)) / np.sqrt(n)


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

    ratios = {}
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
        ratios[name] = np.stack([np.atleast_1d(interval.low), np.atleast_1d(interval.high)], axis=-1)
    return ratios


def log_spreads(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """(blocks, log standard deviations): of each block's logarithms, of the blocks that have several values.

    log s^2 - psi(v/2) + log(v/2), with v degrees of freedom, has no bias for normal logarithms however many values a block has
    (Bartlett and Kendall 1946); its half is the log standard deviation.
    """
    spreads, which = [], []
    for block in np.unique(sample.blocks):
        logs = np.log(sample.values[sample.blocks == block])
        half = (len(logs) - 1) / 2
        if half > 0 and np.ptp(logs) > 0:
            spreads.append((np.log(logs.var(ddof=1)) - special.psi(half) + np.log(half)) / 2)
            which.append(block)
    return np.array(which), np.array(spreads)


def spread_differences(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """(blocks, differences of log standard deviations, a less b), whose mean a t test judges.

    Where at least SMALLEST blocks have several values of both sides, these are differences of the blocks' own spreads.
    Otherwise the first value of each block counts, and the differences are the pseudo-values of a jackknife of the log ratio of
    the standard deviations over blocks (Miller 1968): it leaves out whole blocks, so it keeps the pairing and does not need
    normal values. Where blocks are numbered by session, a session has a spread in their place.
    """
    found = _differences_of_spreads(a, b)
    if len(found[0]) >= SMALLEST:
        return found
    if by_sessions(a.blocks):
        return _differences_of_spreads(in_sessions(a), in_sessions(b))
    one_a, one_b = (by_block(sample, lambda values: values[0]) for sample in (a, b))
    logs = np.log(np.stack(within_blocks(one_a, one_b)))
    differences = _jackknife(logs, lambda kept: np.log(kept[0].std(ddof=1)) - np.log(kept[1].std(ddof=1)))
    return np.intersect1d(one_a.blocks, one_b.blocks)[: len(differences)], differences


def _differences_of_spreads(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    (blocks_a, of_a), (blocks_b, of_b) = log_spreads(a), log_spreads(b)
    shared, in_a, in_b = np.intersect1d(blocks_a, blocks_b, return_indices=True)
    return shared, of_a[in_a] - of_b[in_b]


def log_variation(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """(blocks, log standard deviations of the logarithms of a sample), whose mean a t test judges: of each block that has
    several values, or the pseudo-values of a jackknife over blocks of one value."""
    which, logs = log_spreads(sample)
    if len(logs) >= SMALLEST:
        return which, logs
    if by_sessions(sample.blocks):
        return log_spreads(in_sessions(sample))
    first = by_block(sample, lambda values: values[0])
    logs = _jackknife(np.log(first.values)[None], lambda kept: np.log(kept[0].std(ddof=1)))
    return first.blocks[: len(logs)], logs


def _jackknife(logs: np.ndarray, statistic: Callable[[np.ndarray], float]) -> np.ndarray:
    """Pseudo-values of a statistic of columns (blocks); none where there are too few for it or values do not vary."""
    n = logs.shape[1]
    if n <= SMALLEST or (np.ptp(logs, axis=1) == 0).any():
        return np.empty(0)
    kept = [np.delete(logs, column, axis=1) for column in range(n)]
    if any((np.ptp(one, axis=1) == 0).any() for one in kept):
        return np.empty(0)
    return n * statistic(logs) - (n - 1) * np.array([statistic(one) for one in kept])


def trend(levels: np.ndarray, which: np.ndarray | None = None) -> tuple[float, float]:
    """(p rising, p falling) of Page's trend test; `levels` is of shape (blocks, levels), complete, at least three levels, and
    `which` the numbers of the blocks. NaN for fewer than SMALLEST rows that are independent (`units`)."""
    from scipy import stats

    levels = units(levels, which)
    if len(levels) < SMALLEST:
        return math.nan, math.nan
    rising = stats.page_trend_test(levels)
    falling = stats.page_trend_test(levels[:, ::-1])
    return float(rising.pvalue), float(falling.pvalue)
