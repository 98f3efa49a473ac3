"""liu2020's figures 27 and 28: the memory contention ratio by scheme, runtime and hardware setting."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from plimsoll import contention
from plimsoll.charts import bars, cells, granularity, style
from plimsoll.scheme import ALONE

KEYS = ["hardware", "runtime"]


def ratios(observations: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Observations of the ratio: each run against the mean stalls of one rank alone in the same setting and runtime."""
    found = observations[observations["metric"] == metric]
    alone = found[found["scheme"] == ALONE].groupby(KEYS)["value"].mean()
    together = found[found["scheme"] != ALONE]
    reference = np.array([alone.get(key, np.nan) for key in together[KEYS].itertuples(index=False, name=None)])
    return together.assign(value=contention.ratio(together["value"].to_numpy(float), reference))


def summarise(observations: pd.DataFrame, metric: str, plan: dict) -> pd.DataFrame:
    """One row a cell: see `cells.summarise`, of the ratio."""
    own = {**plan, "cells": [cell for cell in plan["cells"] if cell["scheme"] != ALONE]}
    return cells.summarise(ratios(observations, metric), metric, own)


def draw(summary: pd.DataFrame, observations: pd.DataFrame, metric: str) -> Figure:
    """A panel a hardware setting on a common scale; in it a group a scheme, and in that a bar a runtime."""
    style.apply()
    points = ratios(observations, metric)
    settings = sorted(summary["hardware"].unique())
    figure, axes = plt.subplots(
        len(settings),
        1,
        figsize=(style.COLUMN_INCHES, 0.8 + 1.6 * len(settings)),
        squeeze=False,
        layout="constrained",
        sharey=True,
    )
    order = [name for name in style.COLOURS if name in set(summary["runtime"])]
    for axis, hardware in zip(axes.flat, settings, strict=True):
        part = bars.only(summary, {"hardware": hardware})
        granularity.panel(axis, part, bars.only(points, {"hardware": hardware}), order, bars.top(summary))
        axis.set_title(f"{hardware.upper()}, exactly subscribed, ANY", loc="left")
        axis.set_ylabel("contention ratio")
    figure.legend(handles=granularity.legend(order, summary), loc="outside lower center", ncols=2, frameon=False)
    return figure


def caption(summary: pd.DataFrame, plan: dict) -> str:
    """What the ratio, bars and whiskers are, and how many runs there are."""
    return (
        "Memory contention ratio after Tudor and Teo: stall cycles that one rank alone does not have, over all other cycles. "
        f"Bars: mean of {cells.sample_size(summary)} runs a cell ({plan['repetitions']} planned) against the mean of the "
        f"runs of one rank on one core; whiskers: 95 % interval of the mean (Student's t). Profile {plan['profile']}."
    ) + cells.not_measured(plan)
