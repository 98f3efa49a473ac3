"""The interference ratio of jha2021 (section 5): what a busy neighbour does to a benchmark, with a bootstrap interval."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 4000


def ratio(mean: float, baseline: float, better: str) -> float:
    """Return the interference ratio (equation 1): the relative difference from the baseline.

    It is positive where `mean` is better than `baseline`, and negative where it is worse. `better` says which values of
    the metric are good: `higher` or `lower`.
    """
    sign = {"higher": 1, "lower": -1}[better]
    return sign * (mean - baseline) / baseline


def ratio_interval(values: Sequence[float], baseline: Sequence[float], better: str, seed: int = 1) -> tuple[float, float]:
    """Return (low, high), the 95 % interval of the interference ratio by a BCa bootstrap that resamples both samples.

    Return (NaN, NaN) if a sample has fewer than three values, or if all its values are the same.
    """
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
