"""What a number of differences can show, and how many are needed to show it: the power of paired t tests."""

import functools

import numpy as np
from scipy import special

from plimsoll.analysis import independence
from plimsoll.planning.availability import SMALLEST

POWER = 0.8
MOST = 10_000  # repetitions beyond which we say only "more than"


def detectable(deviation: float, n: int, alpha: float) -> float:
    """Return the smallest mean difference that a two-sided paired t test of n differences finds with a power of 80 %."""
    if n < SMALLEST:
        return float("nan")
    return float(_shown_by(n, alpha / 2, POWER) * deviation)


def sample_size(deviation: float, target: float, alpha: float, alike: bool = False, power: float = POWER) -> int:
    """Return the number of differences that are needed to find a mean difference of `target` with this power.

    With `alike`, they show that a mean difference of zero is within `target`. At most MOST + 1.
    """
    if not np.isfinite(deviation) or target <= 0:
        return MOST + 1
    enough = _smallest_ratios(alpha, alike, power) * deviation <= target
    return int(SMALLEST + enough.argmax()) if enough.any() else MOST + 1


@functools.lru_cache
def _smallest_ratios(alpha: float, alike: bool, power: float) -> np.ndarray:
    """Return the difference that n = SMALLEST .. MOST can show with this power, in standard deviations, for each n."""
    n = np.arange(SMALLEST, MOST + 1)
    return _shown_by(n, alpha, (1 + power) / 2) if alike else _shown_by(n, alpha / 2, power)


def _shown_by(n, error: float, power: float):
    """Return the difference, in standard deviations, that a one-sided t test of n differences shows with this error and
    power."""
    return (special.stdtrit(independence.degrees(n), 1 - error) + special.stdtrit(independence.degrees(n), power)) / np.sqrt(n)
