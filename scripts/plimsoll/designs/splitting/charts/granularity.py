"""liu2020's figures 5, 6, 9 to 13, 15 and 40: a metric by scheme and runtime, with bare metal as a reference line."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plimsoll.designs.splitting.charts import cells
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

BARE = "bare"
# Number of schemes up to which a panel fits into half of a column.
BESIDE = 2


class Granularity(Chart):
    """Bars of a metric: one panel per hardware setting, mode and affinity, one group per scheme, one bar per runtime."""

    name = "granularity"
    notebook = "splitting"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return cells.summarise(data, *data.metrics)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        (metric,) = data.metrics
        points = data.observations[data.observations["metric"] == metric]
        table = cells.with_ratio(points, summary, "ratio_to_bare", cells.bare_metal)
        table, points, unit = bars.scaled(table, points, data.metrics[metric]["unit"], ["hardware", "mode"])
        lines = cells.panels(summary, {"hardware": [], "mode": cells.MODES})
        levels = style.in_order(cells.LEVELS, summary["affinity"])
        beside = len(levels) > 1 and summary.groupby(["hardware", "mode"])["scheme"].nunique().max() <= BESIDE
        present = cells.panels(summary, {"hardware": [], "mode": cells.MODES, "affinity": cells.LEVELS})
        shape = (len(lines), len(levels)) if beside else (len(present), 1)
        size = (style.COLUMN_INCHES, 0.85 + 1.75 * shape[0])
        figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, layout="constrained", sharey="row")
        for number, (hardware, mode, level) in enumerate(present):
            place = (lines.index((hardware, mode)), levels.index(level)) if beside else (number, 0)
            chosen = {"hardware": hardware, "mode": mode, "affinity": level}
            highest = bars.top(bars.only(table, {"hardware": hardware, "mode": mode} if beside else chosen))
            panel(axes[place], bars.only(table, chosen), bars.only(points, chosen), highest)
            first = place[1] == 0
            named = cells.title(hardware, mode) if first else ""
            words = f"{named}\n{cells.level(level)}" if beside else f"{named}, {cells.level(level)}"
            # Of panels beside each other, only the title of the first names the setting.
            axes[place].set_label(f"{cells.title(hardware, mode)}, {cells.level(level)}")
            axes[place].set_title(words, loc="left", fontsize=6.5 if beside else 8)
            if first:
                axes[place].set_ylabel(cells.axis_label(data.metrics[metric]["label"], unit))
        figure.align_ylabels(axes[:, 0])
        legend(figure, summary)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            f"{cells.bars_are(data, summary, 'bare metal')} Below the bars: containers x ranks in each."
            + cells.not_measured(data)
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        (metric,) = data.metrics
        better = data.metrics[metric]["better"]
        compared = cells.with_ratio(data.observations, summary, "ratio_to_bare", cells.bare_metal)
        others = compared[compared["runtime"] != BARE]
        start = f"{data.title} by number of containers and runtime ({better} is better)."
        return f"{start} {cells.findings(data, others, 'bare metal')}"


def panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, highest: float) -> None:
    """Draw one group of bars per scheme, with one bar per runtime. The axis reaches `highest`.

    Bare metal is a line. Where its ranks are grouped on cores of their own, it has one bar per scheme like other runtimes.
    """
    looks = style.looks(part["runtime"])
    bare = part[part["runtime"] == BARE]
    line = len(bare) == 1 and len(looks) > 1
    barred = [name for name in looks if name != BARE or not line]
    schemes = sorted(part["scheme"].unique())
    layout = bars.Layout("scheme", schemes, "runtime", barred, lambda _, name: (looks[name].colour, looks[name].hatch))
    bars.draw(axis, part[part["runtime"].isin(barred)], points[points["runtime"].isin(barred)], layout, highest)
    if line and bare.iloc[0]["n"]:
        _line(axis, bare.iloc[0], looks[BARE].colour)
    axis.set_xticklabels(cells.scheme_names(part))
    axis.set_xlabel(cells.SHAPE, fontsize=style.SMALLEST, labelpad=1)


def _line(axis: Axes, row: pd.Series, colour: str) -> None:
    axis.axhline(row["mean"], color=colour, linewidth=1.0, linestyle="--", zorder=3)
    if np.isfinite(row["mean_low"]):
        axis.axhspan(row["mean_low"], row["mean_high"], color=colour, alpha=0.15, linewidth=0, zorder=1)


def legend(figure: Figure, summary: pd.DataFrame) -> None:
    """Put a legend below the figure: one patch per runtime, and a line for bare metal where it is drawn as a line."""
    looks = style.looks(summary["runtime"])
    handles: list = style.patches(looks.values())
    panels = summary[summary["runtime"] == BARE].groupby(["hardware", "mode", "affinity", "metric"]).size()
    if BARE in looks and panels.max() == 1 and len(looks) > 1:
        line = {"color": looks[BARE].colour, "linestyle": "--", "linewidth": 1}
        handles[list(looks).index(BARE)] = Line2D([], [], label=f"{looks[BARE].label} (band: 95 %)", **line)
    handles += bars.marks("95 % interval of the mean")
    style.legend_below(figure, handles, columnspacing=1.0)


class Scheduling(Granularity):
    """Bars like Granularity's, for more containers than cores: how the scheduler shares cores among the containers' cgroups."""

    name = "cgroup-scheduling"
    notebook = "scheduling"
    metrics = "one"


CHARTS = [Granularity(), Scheduling()]
