"""liu2020's figures 27 and 28: the memory contention ratio by scheme, runtime and hardware setting."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.claims.quantities import memory_contention
from plimsoll.designs.splitting.charts import cells, granularity
from plimsoll.designs.splitting.scheme import ALONE
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

KEYS = ["hardware", "runtime"]


class Contention(Chart):
    """Bars of the ratio: one panel per hardware setting on a common scale, one group per scheme, one bar per runtime."""

    name = "contention"
    notebook = "why"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        together = [cell for cell in data.cells if cell["scheme"] != ALONE]
        return cells.summarise(replace(data, observations=ratios(data)), *data.metrics, together)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        points = ratios(data)
        settings = sorted(summary["hardware"].unique())
        size = (style.COLUMN_INCHES, 0.9 + 1.6 * len(settings))
        shape = {"squeeze": False, "layout": "constrained", "sharey": True}
        figure, axes = plt.subplots(len(settings), 1, figsize=size, **shape)
        for axis, hardware in zip(axes.flat, settings, strict=True):
            part = bars.only(summary, {"hardware": hardware})
            granularity.panel(axis, part, bars.only(points, {"hardware": hardware}), bars.top(summary))
            axis.set_title(f"{cells.title(hardware, 'exact')}, {cells.level('any')}", loc="left")
            axis.set_ylabel("contention ratio")
        granularity.legend(figure, summary)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Memory contention ratio after Tudor and Teo: stall cycles that one rank alone does not have, over all other "
            f"cycles. Bars: mean of {cells.sample_size(summary)} runs per cell {cells.planned_runs(data, summary)} against the "
            "mean of the runs of one rank on one core. Whiskers: 95 % interval of the mean (Student's t). Dots: single runs. "
            f"Profile {data.profile}."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        means = summary.groupby("hardware")["mean"].agg(["min", "max"]).dropna()
        ranges = [f"{row.Index.upper()} {row.min:.2f} to {row.max:.2f}" for row in means.itertuples()]
        return f"{data.title} by hardware setting, scheme and runtime. Mean ratios: {'; '.join(ranges) or 'none'}."


def ratios(data: FigureData) -> pd.DataFrame:
    """Return observations of the ratio: each run against the mean stalls of one rank alone, in the same setting and runtime."""
    (metric,) = data.metrics
    rates = data.observations[data.observations["metric"] == metric]
    alone = rates[rates["scheme"] == ALONE].groupby(KEYS)["value"].mean()
    together = rates[rates["scheme"] != ALONE]
    reference = np.array([alone.get(key, np.nan) for key in together[KEYS].itertuples(index=False, name=None)])
    return together.assign(value=memory_contention.ratio(together["value"].to_numpy(float), reference))


CHARTS = [Contention()]
