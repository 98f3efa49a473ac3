"""What the values of one view come to: the summary statistics of jha2021 (section 5)."""

from collections.abc import Sequence

import numpy as np

# The trimmed mean is of the values from the 10th to the 90th percentile.
TRIMMED = (10, 90)
SUMMARY = ("n", "mean", "trimmed_mean", "median", "maximum", "minimum", "sd", "cv")


def summary(values: Sequence[float]) -> dict[str, float]:
    """n, mean, trimmed mean (of the values between the 10th and the 90th percentile), median, maximum, minimum, standard
    deviation (n - 1) and coefficient of variation; NaN where there are too few values. ValueError for none at all."""
    found = np.asarray(values, float)
    if not len(found):
        raise ValueError("there is nothing to summarise")
    # Of two values neither is an extreme, and none would be left.
    low, high = np.percentile(found, TRIMMED) if len(found) > 2 else (found.min(), found.max())
    deviation = found.std(ddof=1) if len(found) > 1 else float("nan")
    return {
        "n": len(found),
        "mean": found.mean(),
        "trimmed_mean": found[(found >= low) & (found <= high)].mean(),
        "median": float(np.median(found)),
        "maximum": found.max(),
        "minimum": found.min(),
        "sd": deviation,
        "cv": deviation / found.mean(),
    }
