"""Claims that print a value: a share of time, or of memory accesses, that ours is set against."""

from dataclasses import dataclass

from plimsoll.claims import estimates
from plimsoll.claims.estimates import Sample
from plimsoll.claims.sides import Side


@dataclass(frozen=True)
class Printed(Side):
    """A metric in a cell, and the value that the paper prints for it."""

    value: float = float("nan")


def compare(row: dict, sample: Sample, value: float, alpha: float) -> dict:
    """A row: the mean against the printed value. The difference is of the shares themselves (0.1: ten percentage points)."""
    row = {**row, "n": len(sample.values), "n_a": len(sample.values), "mean_b": value}
    if len(sample.values) < estimates.SMALLEST:
        return {**row, "test": "none: too few blocks"}
    row.update(test="t against the printed value", mean_a=sample.values.mean())
    return {**row, **estimates.about_zero(sample.values - value, row["margin"], alpha)}
