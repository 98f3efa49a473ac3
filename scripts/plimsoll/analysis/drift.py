"""How the machine behaved while it measured: drift over the order of the runs, outliers, and cells with two modes.

Outliers and drift are reported, and no value is removed: readers should see when a claim rests on one.
"""

import math

import numpy as np
import pandas as pd

from plimsoll.analysis import paper_tests
from plimsoll.analysis.blocks import ROUNDING

# A value that is this many scaled median deviations from its cell's median is an outlier (Iglewicz and Hoaglin 1993).
FAR = 3.5
# Fewer values of a cell say nothing about its modes.
ENOUGH = 10
# A slope says nothing if the upper end of its interval is more than this many times the lower end.
WIDEST = 10.0
# Bimodality coefficient of the uniform distribution: above it, two modes are likely (Pfister and others 2013).
UNIFORM = 5 / 9


def describe(observations: pd.DataFrame, factors: list[str]) -> list[dict]:
    """Return one row per metric. `factors` are the columns that tell cells apart.

    A row has the drift per hour (a fraction) with its 95 % interval and its Holm-adjusted p. It also has the share of
    outliers, and how many of the cells with enough runs look bimodal. Censored runs are left out, because their values
    are limits.
    """
    rows = []
    for metric, group in observations[~observations["censored"].astype(bool)].groupby("metric", sort=False):
        logs = np.log(group["value"].astype(float))
        cells = logs.groupby([group[name] for name in factors])
        counted = cells.transform("size") > 2
        rest = (logs - cells.transform("mean"))[counted]
        rows.append(
            {"metric": metric, "label": group["label"].iloc[0], "runs": len(group)}
            | _drift(rest, group.loc[rest.index, "started"])
            | _outliers(logs, cells)
            | _modes(cells)
        )
    paper_tests.adjust(rows, "drift_p", "drift_p_holm")
    return rows


def _drift(rest: pd.Series, started: pd.Series) -> dict:
    """Return the slope of the values' distance from their cell's mean over time, as a fraction per hour.

    NaN if the runs are too few to show it.
    """
    from scipy import stats

    nothing = dict.fromkeys(("drift", "drift_low", "drift_high", "drift_p", "drift_p_holm"), float("nan"))
    if len(rest) < ENOUGH or np.ptp(started) == 0 or np.ptp(rest) < ROUNDING:
        return nothing
    line = stats.linregress((started - started.min()) / 3600, rest)
    half = line.stderr * stats.t.ppf(0.975, len(rest) - 2)
    if 2 * half > math.log(WIDEST):
        return nothing
    slopes = (line.slope, line.slope - half, line.slope + half)
    return {**nothing, **dict(zip(("drift", "drift_low", "drift_high"), np.expm1(slopes), strict=True)), "drift_p": line.pvalue}


def _outliers(logs: pd.Series, cells) -> dict:
    distance = (logs - cells.transform("median")).abs()
    scale = 1.4826 * distance.groupby(cells.ngroup()).transform("median")
    far = (distance > FAR * scale) & (scale > 0) & (cells.transform("size") > 4)
    return {"outliers": int(far.sum()), "outlier_share": float(far.mean())}


def _modes(cells) -> dict:
    from scipy import stats

    looked = [values.to_numpy() for _, values in cells if len(values) >= ENOUGH and np.ptp(values) > 0]
    two = 0
    for values in looked:
        n = len(values)
        excess = stats.kurtosis(values, bias=False) + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
        two += (stats.skew(values, bias=False) ** 2 + 1) / excess > UNIFORM
    return {"cells_looked_at": len(looked), "bimodal": int(two)}
