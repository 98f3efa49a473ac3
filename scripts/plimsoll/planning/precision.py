"""More repetitions where they are needed: until every comparison's interval is narrow enough, or a maximum is reached.

The rule looks at the width of intervals and never at p or at a verdict. Stopping when a p gets small enough would make small
p-values as often as one cares to look; stopping when an interval is narrow enough does not favour either side.
"""

import math

import pandas as pd

from plimsoll.errors import PlimsollError
from plimsoll.planning import amounts

# What `make precise` is given if nothing else is said (Makefile): the width of intervals, and the most repetitions of a cell.
WIDTH, MAXIMUM = 0.1, 30
# Stopping as soon as an interval happens to be narrow favours samples whose spread happens to be small, and their intervals are
# too narrow. So it is the width with a spread at the upper end of its own one-sided 80 % interval that must get there.
CAUTION = 0.8
# Widths of few values are guesses: a cell gets at most this many times what it has before we look again.
GROWTH = 2
# The cells of a comparison: its two sides, and what the loss of each is relative to, where it is about losses.
CELLS = ("a", "b", "reference_a", "reference_b")
WITHIN_BLOCKS = ("paired t within blocks", "none: too few blocks")


def widths(comparisons: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """What is compared, with the width of its interval: columns `what`, `metric`, those of CELLS, `n`, the
    `degrees` of freedom of its spread, and `width`. The comparisons say theirs in a column of that name.

    The interval of a claim's comparison, and that of a test, is that of a ratio. Its width is a fraction of that ratio: an
    interval from 76 to 84 is as wide as one from 0.95 to 1.05. Differences of losses are fractions already. Comparisons that
    have too few blocks for an interval are infinitely wide; those of another kind (counts, ranks, dispersion) are left out.
    Not every design's tests compare two cells: where they don't, the claims' comparisons alone have widths.
    """
    intervals = []
    compare_cells = "comparison" in tests
    for row in comparisons[comparisons["test"].isin(WITHIN_BLOCKS)].itertuples():
        scale = 1 + row.effect if row.scale == "ratio" else 1
        width = (row.high - row.low) / scale if pd.notna(row.low) else math.inf
        cells = (row.cell_a, row.cell_b, row.reference_a, row.reference_b)
        intervals.append((row.claim, row.metric, *cells, row.n, row.degrees, width))
    for row in tests[tests["ratio_low"].notna()].to_dict("records") if compare_cells else []:
        width = (row["ratio_high"] - row["ratio_low"]) / row["ratio"]
        n = min(row["n_a"], row["n_b"])
        intervals.append((row["comparison"], row["metric"], row["cell"], row["reference"], None, None, n, n - 1, width))
    return pd.DataFrame(intervals, columns=["what", "metric", *CELLS, "n", "degrees", "width"])


def cautious(intervals: pd.DataFrame) -> pd.Series:
    """Widths that the intervals would have with a spread at the upper end of its own interval (CAUTION)."""
    from scipy import stats

    degrees = intervals["degrees"].clip(lower=1)
    return intervals["width"] * (degrees / stats.chi2.ppf(1 - CAUTION, degrees)) ** 0.5


def next_repetitions(now: dict[str, int], intervals: pd.DataFrame, target: float, maximum: int) -> dict[str, int]:
    """Repetitions by cell for the next round; equal to `now` where nothing more is asked for.

    The width of an interval falls with the square root of the number of repetitions, so as many are asked for as that takes,
    but at most GROWTH times what there is, and at least one more.
    """
    wanted = dict(now)
    intervals = intervals.assign(width=cautious(intervals))
    for row in intervals[intervals["width"] > target].to_dict("records"):
        for cell in (row[name] for name in CELLS):
            if cell in now:
                estimate = now[cell] * min(GROWTH, (row["width"] / target) ** 2)
                wanted[cell] = max(wanted[cell], min(math.ceil(estimate), maximum))
    return {cell: max(number, now[cell]) for cell, number in wanted.items()}


def width_of(text: str) -> float:
    """The width that is asked for, a share of what an interval is about. PlimsollError for a text that is no width."""
    return amounts.positive(text, f"The width {text!r}", "The width", "give a share, such as 0.1 for 10 %")


def maximum_of(text: str) -> int:
    """The most repetitions that a cell may get. PlimsollError for a text that is no such number."""
    if not text.isdecimal() or int(text) < 1:
        raise PlimsollError(f"The maximum {text!r} is not a whole number of repetitions of at least 1, such as 30.")
    return int(text)
