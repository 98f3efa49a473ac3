"""What a busy neighbour does to a benchmark: the statistics of jha2021 (section 5)."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 4000


def ratio(mean: float, baseline: float, better: str) -> float:
    """The interference ratio (equation 1): how much better (positive) or worse than the baseline, as a share of it.

    `better` is `higher` or `lower`: which values of the metric are good ones.
    """
    sign = {"higher": 1, "lower": -1}[better]
    return sign * (mean - baseline) / baseline


def ratio_interval(values: Sequence[float], baseline: Sequence[float], better: str, seed: int = 1) -> tuple[float, float]:
    """95 % interval of the interference ratio: bootstrap (BCa), both samples resampled. (NaN, NaN) for fewer than three values
    on a side, or for values that are all the same."""
    from scipy import stats

    samples = np.asarray(values, float), np.asarray(baseline, float)
    if min(map(len, samples)) < 3 or any(np.ptp(sample) == 0 for sample in samples):
        return float("nan"), float("nan")

    def statistic(a, b, axis=-1):
        return ratio(a.mean(axis=axis), b.mean(axis=axis), better)

    resampled = stats.bootstrap(
        samples, statistic, n_resamples=RESAMPLES, vectorized=True, method="BCa", rng=np.random.default_rng(seed)
    )
    low, high = resampled.confidence_interval
    return float(low), float(high)
