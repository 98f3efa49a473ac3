"""Error rates of two stages: blocks of the second follow from the spread of the first (plimsoll.features.time_budget.needs).

True spreads differ within a group of comparisons, as those of a metric between two runtimes do. After a first stage the
number of blocks follows from the pooled spread and the margin, within what the time pays for. A comparison that is
clear at a level of a thousandth gets no more blocks. All blocks together are then judged like any others. The rates say
how often a difference is found without a true one, and likeness where the true difference is just the margin. They are
also given for a number of blocks from each comparison's own spread.
"""

import numpy as np
import pandas as pd
from plimsoll.analysis import independence, sample_sizes
from plimsoll.features.time_budget import metric_noise, needs
from scipy import stats

from tests.bench.calibration import wilson, write
from tests.bench.calibration.study import ALPHA

MARGIN = np.log(1.05)
GROUPS, DRAWS = 400, 25
# True standard deviations within a group differ by a factor of 1.5 up and down (one standard deviation).
UNEQUAL = np.log(1.5)


def main() -> None:
    """Simulate every combination, print and write the table."""
    random = np.random.default_rng(20261125)
    rows = [
        simulate(random, size, noise, first, most, rule)
        for size in (metric_noise.FEW, metric_noise.ENOUGH, 12, 40)
        for noise in (0.03, 0.1, 0.2)
        for first in (3, 5)
        for most in (15, 60)
        for rule in ("pooled spread", "own spread")
    ]
    table = pd.DataFrame(rows)
    write(table.round(4), "stages")
    shown = table.groupby("rule")[["found", "alike"]].agg(["mean", "max"])
    with pd.option_context("display.width", 250, "display.max_rows", None):
        print(table.to_string(index=False))
        print(f"\nnominal: found {ALPHA / 2} in each direction, alike {ALPHA}\n{shown.to_string()}")


def simulate(random: np.random.Generator, size: int, noise: float, first: int, most: int, rule: str) -> dict:
    """Return one row: how often a difference, and how often likeness, was wrongly found."""
    found = alike = tried = 0
    for _ in range(GROUPS):
        spreads = noise * np.exp(UNEQUAL * random.standard_normal(size))
        drawn = spreads[None, :, None] * random.standard_normal((DRAWS, size, most))
        stage = drawn[..., :first]
        variance = stage.var(axis=-1, ddof=1)
        planned = np.sqrt(variance.mean(axis=1, keepdims=True) if rule == "pooled spread" else variance)
        for shift, alike_asked in ((0.0, False), (MARGIN, True)):
            number = _blocks(np.broadcast_to(planned, variance.shape), first, most, alike_asked)
            shifted = drawn + shift
            clear = _clear(shifted[..., :first], alike_asked)
            number = np.where(clear, first, number)
            decided = _decided(shifted, number, alike_asked)
            if alike_asked:
                alike += decided.sum()
            else:
                found += decided.sum()
        tried += variance.size
    row = {"rule": rule, "comparisons": size, "noise": noise, "first": first, "most": most, "draws": tried}
    for name, count in (("found", found), ("alike", alike)):
        low, high = wilson(int(count), tried)
        row |= {name: count / tried, f"{name}_low": low, f"{name}_high": high}
    return row


def _blocks(planned: np.ndarray, first: int, most: int, alike: bool) -> np.ndarray:
    """Return the blocks of each comparison, at least those of the first stage. What the time does not pay for gets no more."""
    known = {value: sample_sizes.sample_size(value, MARGIN, ALPHA, alike=alike) for value in np.unique(planned)}
    number = np.vectorize(known.get)(planned)
    return np.where(number > most, first, np.maximum(number, first)).astype(int)


def _one_sided(values: np.ndarray, number: np.ndarray, bound: float) -> np.ndarray:
    """Return the p that the mean is above a bound, from the first `number` values of each comparison."""
    p = np.empty(number.shape)
    for count in np.unique(number):
        own = number == count
        found = independence.units(values[own][:, :count].T)
        p[own] = stats.t.sf((found.mean(axis=0) - bound) / stats.sem(found), len(found) - 1)
    return p


def _clear(values: np.ndarray, alike: bool) -> np.ndarray:
    number = np.full(values.shape[:-1], values.shape[-1])
    return _judged(values, number, alike, needs.CLEAR)


def _decided(values: np.ndarray, number: np.ndarray, alike: bool) -> np.ndarray:
    return _judged(values, number, alike, ALPHA)


def _judged(values: np.ndarray, number: np.ndarray, alike: bool, level: float) -> np.ndarray:
    """Return whether a comparison is found to be higher, or with `alike` to be alike."""
    if not alike:
        return _one_sided(values, number, 0.0) < level / 2
    return (_one_sided(values, number, -MARGIN) < level) & (_one_sided(-values, number, -MARGIN) < level)


if __name__ == "__main__":
    main()
