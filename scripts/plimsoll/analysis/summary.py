"""What the values of one view come to: the summary statistics of jha2021 (section 5)."""

from collections.abc import Sequence

import numpy as np

# The trimmed mean is of the values from the 10th to the 90th percentile.
TRIMMED = (10, 90)
SUMMARY = ("n", "mean", "trimmed_mean", "median", "maximum", "minimum", "sd", "cv")


def summary(values: Sequence[float]) -> dict[str, float]:
    """n, mean, trimmed mean (of the values between the 10th and the 90th percentile), median, maximum, minimum, standard
    deviation (n - 1) and coefficient of variation; NaN where there are too few values. ValueError for none at all."""
    numbers = np.asarray(values, float)
    if not len(numbers):
        raise ValueError("there is nothing to summarise")
    # Of two values neither is an extreme, and none would be left.
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
