"""Request more repetitions until every comparison's interval is narrow enough, or a maximum is reached.

The rule looks at the width of intervals, never at p or at a verdict. To stop when p gets small enough would find small
p-values too often. To stop when an interval is narrow enough favours neither side.
"""

import math

import pandas as pd

from plimsoll.errors import PlimsollError
from plimsoll.planning import amounts

# Defaults of `plimsoll precise` (plimsoll.cli.precise): the width of intervals, and the most repetitions of a cell.
WIDTH, MAXIMUM = 0.1, 30
# To stop as soon as an interval happens to be narrow favours samples whose spread happens to be small, and their
# intervals are too narrow. So the rule takes the width for a spread at the upper end of its own one-sided 80 %
# interval.
CAUTION = 0.8
# Widths from few values are rough, so a round gives a cell at most this many times its repetitions.
GROWTH = 2
# Columns with the cells of a comparison: its two sides and, for losses, the cells that each loss is relative to.
CELLS = ("a", "b", "reference_a", "reference_b")
WITHIN_BLOCKS = ("paired t within blocks", "none: too few blocks")


def widths(comparisons: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons with the widths of their intervals.

    The columns are `what`, `metric`, those of CELLS, `n`, `degrees` (degrees of freedom of the spread) and `width`.
    `comparisons` gives its degrees in a column of that name.

    The interval of a claim's comparison, and that of a test, is the interval of a ratio. Its width is a fraction of
    that ratio: an interval from 76 to 84 is as wide as one from 0.95 to 1.05. Differences of losses are fractions
    already. A comparison with too few blocks for an interval has an infinite width. Comparisons of another kind
    (counts, ranks, dispersion) are left out. If a design's tests do not compare two cells, only the claims' comparisons
    have widths.
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
    """Return the widths that the intervals would have with a spread at the upper end of its own interval (CAUTION)."""
    from scipy import stats

    degrees = intervals["degrees"].clip(lower=1)
    return intervals["width"] * (degrees / stats.chi2.ppf(1 - CAUTION, degrees)) ** 0.5


def next_repetitions(now: dict[str, int], intervals: pd.DataFrame, target: float, maximum: int) -> dict[str, int]:
    """Return the repetitions of each cell for the next round. They equal `now` if nothing more is needed.

    The width of an interval falls with the square root of the number of repetitions. By this rule a cell gets the
    repetitions that the `target` needs. It gets at least one more than now, at most GROWTH times as many as now, and at
    most the `maximum`.
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
    """Parse the requested width, a fraction of what an interval is about. Raise PlimsollError for a text that is no width."""
    return amounts.positive(text, f"The width {text!r}", "The width", "give a share, such as 0.1 for 10 %")


def maximum_of(text: str) -> int:
    """Parse the most repetitions that a cell may get. Raise PlimsollError for a text that is no such number."""
    if not text.isdecimal() or int(text) < 1:
        raise PlimsollError(f"The maximum {text!r} is not a whole number of repetitions of at least 1, such as 30.")
    return int(text)
