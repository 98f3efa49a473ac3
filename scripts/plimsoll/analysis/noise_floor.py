"""What a machine can show: how much single runs vary, which difference a number of runs finds, and how long noise lasts."""

import numpy as np
import pandas as pd

from plimsoll.analysis import sample_sizes

# Numbers of blocks for which the smallest difference is reported.
BLOCKS = (5, 10, 30)
# Groups of pairs of runs: at most this many seconds apart, and more than in the group before.
APART = (1.0, 3.0, 10.0, 30.0, 300.0)
# Fewer pairs of runs say nothing about their correlation.
ENOUGH = 100
# Below this correlation, the noise of two runs has practically nothing in common.
NOTHING = 0.1


def describe(observations: pd.DataFrame, factors: list[str], alpha: float) -> list[dict]:
    """Return one row per metric, from the runs that did not hit a limit. `factors` are the columns that tell cells apart.

    `spread` is the standard deviation of a run's logarithm within its cell, pooled over cells, as a relative
    difference. `shows` has the smallest relative difference of two cells that a paired t test finds with a power of
    80 %, for each number of BLOCKS. It assumes that noise within a block is independent. `correlations` has the
    correlation of the noise of two runs by how far apart they are (APART); NaN for too few pairs. Counts, and metrics
    with values of 0 or less, are left out.
    """
    rows = []
    for metric, group in observations[~observations["censored"].astype(bool)].groupby("metric", sort=False):
        values = group["value"].astype(float)
        if (values <= 0).any() or group["unit"].iloc[0] == "count":
            continue
        logs = np.log(values)
        cells = logs.groupby([group[name] for name in factors])
        rest, number = logs - cells.transform("mean"), cells.transform("size")
        degrees = len(logs) - cells.ngroups
        if degrees < 1 or not (spread := float(np.sqrt((rest**2).sum() / degrees))):
            continue
        # Corrects for the mean of the cell, which contains the value itself.
        whole = (rest / np.sqrt(1 - 1 / number.where(number > 1))).dropna()
        rows.append(
            {"metric": metric, "label": group["label"].iloc[0], "runs": len(group), "spread": float(np.expm1(spread))}
            | {"shows": {n: float(np.expm1(sample_sizes.detectable(spread * np.sqrt(2), n, alpha))) for n in BLOCKS}}
            | {"correlations": _correlations(whole, group.loc[whole.index, "started"])}
        )
    return rows


def _correlations(rest: pd.Series, started: pd.Series) -> dict[float, float]:
    """Return the correlation of the noise of two runs, by the largest number of seconds between them."""
    order = np.argsort(started.to_numpy(), kind="stable")
    noise, moments = rest.to_numpy()[order], started.to_numpy()[order]
    variance = float((noise**2).mean()) if len(noise) else 0.0
    found, least = {}, 0.0
    for most in APART:
        products = []
        for place in range(len(noise) - 1):
            first, last = np.searchsorted(moments, (moments[place] + least, moments[place] + most), side="right")
            products.append(noise[place] * noise[max(first, place + 1) : last])
        joined = np.concatenate(products) if products else np.empty(0)
        found[most] = float(joined.mean() / variance) if len(joined) >= ENOUGH and variance else float("nan")
        least = most
    return found


def lasts(correlations: dict[float, float]) -> str:
    """Return in words how long noise lasts: until its correlation is below NOTHING. Empty if no correlation is known."""
    known = {most: value for most, value in correlations.items() if value == value}
    if not known:
        return ""
    for most, value in known.items():
        if value < NOTHING:
            return f"less than {most:g} s"
    return f"more than {max(known):g} s"
