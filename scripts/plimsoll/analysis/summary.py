"""Summary statistics of the values of one view, as in jha2021 (section 5)."""

from collections.abc import Sequence

import numpy as np

# Percentiles between which values count in the trimmed mean.
TRIMMED = (10, 90)
SUMMARY = ("n", "mean", "trimmed_mean", "median", "maximum", "minimum", "sd", "cv")


def summary(values: Sequence[float]) -> dict[str, float]:
    """Return n, mean, trimmed mean, median, maximum, minimum, standard deviation (n - 1) and coefficient of variation.

    The trimmed mean is that of the values between the 10th and the 90th percentile. A statistic is NaN if there are too
    few values. Raises ValueError if there are no values at all.
    """
    numbers = np.asarray(values, float)
    if not len(numbers):
        raise ValueError("there is nothing to summarise")
    # Two values are not trimmed, because no value would be left.
    low, high = np.percentile(numbers, TRIMMED) if len(numbers) > 2 else (numbers.min(), numbers.max())
    deviation = numbers.std(ddof=1) if len(numbers) > 1 else float("nan")
    return {
        "n": len(numbers),
        "mean": numbers.mean(),
        "trimmed_mean": numbers[(numbers >= low) & (numbers <= high)].mean(),
        "median": float(np.median(numbers)),
        "maximum": numbers.max(),
        "minimum": numbers.min(),
        "sd": deviation,
        "cv": deviation / numbers.mean(),
    }
