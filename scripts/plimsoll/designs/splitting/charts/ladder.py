"""Plimsoll's own figure: a ladder of deployments from bare metal to Docker's defaults, and what each of its steps costs."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from plimsoll.designs.splitting.charts import cells
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

BARE = "bare metal"
# Letters in a line of a label and of a title.
LABEL_WIDTH, TITLE_WIDTH = 27, 15
# Columns of a row: ratio and interval against bare metal, and against the step that the row starts from.
TO_BARE = ("ratio_to_bare", "ratio_to_bare_low", "ratio_to_bare_high")
OF_STEP = ("step", "step_low", "step_high")


class Ladder(Chart):
    """Points on a ladder: one panel per metric and hardware setting, side by side, with one row per step.

    A row shows its ratio to bare metal as a point, and what the step costs as a number.
    """

    name = "ladder"
    notebook = "splitting"
    option = "steps"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        parts = []
        for metric in data.metrics:
            own = [cell for cell in cells.measuring(data, metric) if cell["runtime"] in data.options["steps"]]
            parts.append(_of_metric(data, cells.summarise(data, metric, own)))
        return pd.concat(parts, ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = cells.panels(summary, {"metric": data.metrics, "hardware": []})
        steps = [name for name in data.options["steps"] if name in set(summary["runtime"])]
        size = (style.COLUMN_INCHES, 0.95 + 0.27 * len(steps))
        shape = {"squeeze": False, "layout": "constrained", "sharey": True}
        figure, axes = plt.subplots(1, len(panels), figsize=size, **shape)
        for axis, (metric, hardware) in zip(axes.flat, panels, strict=True):
            part = bars.only(summary, {"metric": metric, "hardware": hardware}).set_index("runtime")
            _panel(axis, part, steps, data.options["steps"])
            described = data.metrics[metric]
            words = f"{textwrap.fill(described['label'], TITLE_WIDTH)}\n{described['better']} is better"
            axis.set_title(words, fontsize=style.SMALLEST)
            axis.set_label(described["label"])
        axes[0, len(panels) // 2].set_xlabel("ratio to bare metal (logarithmic)", fontsize=7)
        style.legend_below(figure, _legend(), ncols=1)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "A container for each rank; exactly subscribed, any processor. Each row changes what its label says in "
            "the row that it comes from: that above it, and bare metal where a label begins with the name of a runtime. "
            f"Points: ratio of the mean to that of bare metal, {cells.sample_size(summary)} valid runs per cell "
            f"{cells.planned_runs(data, summary)}; whiskers: its 95 % interval (Student's t of the logarithms of ratios within "
            "blocks). Numbers: ratio to the row that it comes from, bold where its 95 % interval leaves out "
            f"1{cells.too_few(data)}. Profile {data.profile}."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        rows = [row for row in summary.to_dict("records") if np.isfinite(row["step_low"])]
        telling = [row for row in rows if _differs(row)]
        count = bars.how_many_differ(len(telling), f"{len(rows)} steps", "no cost or gain")
        if not telling:
            return f"{data.title}. {count}"
        most = max(telling, key=lambda row: abs(np.log(row["step"])))
        interval = f"{bars.factor(most['step_low'])} to {bars.factor(most['step_high'])}"
        return (
            f"{data.title}. The step that changes most is {most['adds']}: {data.metrics[most['metric']]['label']} becomes "
            f"{bars.factor(most['step'])} [{interval}]. {count}"
        )


def _of_metric(data: FigureData, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of a metric with what each step adds, and both ratios of each row with their intervals."""
    steps = data.options["steps"]
    before = {name: step.get("from") for name, step in steps.items()}
    summary = summary.assign(**{"from": summary["runtime"].map(before), "adds": summary["runtime"].map(_adds(steps))})
    means = summary.set_index(["hardware", "runtime"])["mean"]
    of_step = [means.get((row.hardware, before[row.runtime]), np.nan) for row in summary.itertuples()]
    summary["step"] = summary["mean"] / of_step
    for ratio, low, high, references in (
        (*TO_BARE, cells.bare_metal),
        (*OF_STEP, lambda row: _before(row, before[row["runtime"]])),
    ):
        ends = cells.with_ratio(data.observations, summary, ratio, references)
        summary[low], summary[high] = ends["ratio_low"], ends["ratio_high"]
    return summary


def _adds(steps: dict) -> dict[str, str]:
    return {name: step.get("adds", BARE) for name, step in steps.items()}


def _before(row: dict, runtime: str | None) -> list[tuple]:
    """Return the cells that a row may start from: the same cell with another runtime, or cells of bare metal."""
    if runtime == "bare":
        return cells.bare_metal(row)
    return [tuple({**row, "runtime": runtime}[factor] for factor in OF_DEPLOYMENT)]


def _differs(row: dict) -> bool:
    return bars.excludes_one({"ratio_low": row["step_low"], "ratio_high": row["step_high"]})


def _panel(axis: Axes, part: pd.DataFrame, steps: list[str], told: dict) -> None:
    looks = style.looks(steps)
    for place, name in enumerate(reversed(steps)):
        if name not in part.index or not part.loc[name, "n"]:
            words = {"ha": "center", "va": "center", "fontsize": style.SMALLEST}
            said = bars.without_runs(part.loc[name] if name in part.index else {})
            axis.text(0.5, place, said, transform=axis.get_yaxis_transform(), **words)
            continue
        row = part.loc[name]
        ratio, low, high = (row[column] for column in TO_BARE)
        if np.isfinite(low):
            axis.plot([low, high], [place, place], zorder=3, **bars.WHISKER)
        look = {"color": looks[name].colour, "markeredgecolor": "black", "markeredgewidth": 0.4, "markersize": 4.5}
        if np.isfinite(ratio):
            axis.plot(ratio, place, "o", zorder=4, **look)
        if np.isfinite(row["step"]):
            weight = "bold" if _differs(row.to_dict()) else "normal"
            words = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST, "fontweight": weight}
            axis.text(ratio, place + 0.16, bars.factor(row["step"]), **words)
    axis.set_yticks(range(len(steps)), [_label(name, told, looks) for name in reversed(steps)], fontsize=style.SMALLEST)
    axis.set(xscale="log", ylim=(-0.5, len(steps) - 0.25))
    axis.axvline(1, color="#606060", linewidth=0.7, linestyle="--", zorder=1)
    axis.grid(axis="x")
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=style.SMALLEST)
    _scale(axis, part)


def _label(name: str, told: dict, looks: dict) -> str:
    """Return the label of a step: what it adds. It begins with the runtime where the ladder starts from bare metal again."""
    step = told[name]
    if "from" not in step:
        return BARE
    words = f"+ {step['adds']}" if told[step["from"]] else f"{looks[name].label.partition(' ')[0]}: {step['adds']}"
    return textwrap.fill(words, LABEL_WIDTH)


def _scale(axis: Axes, part: pd.DataFrame) -> None:
    shown = part[part["n"] > 0]
    ends = shown[list(TO_BARE)].to_numpy(float)
    ends = ends[np.isfinite(ends) & (ends > 0)]
    # Leave room for the numbers above the points.
    low, high = min(ends.min(initial=1.0), 0.8), max(ends.max(initial=1.0), 1.25)
    room = (high / low) ** 0.35
    axis.set_xlim(low / room, high * room)
    axis.xaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 6 else (1, 2, 5), numticks=20))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def _legend() -> list[Line2D]:
    point = {"marker": "o", "markersize": 4.5, "markerfacecolor": "#777777", "markeredgecolor": "black", "markeredgewidth": 0.4}
    return [
        Line2D([], [], label="ratio to bare metal, 95 % interval", **point, **bars.WHISKER),
        Line2D([], [], linestyle="", label="numbers: ratio to the step before; bold: its 95 % interval leaves out 1"),
    ]


CHARTS = [Ladder()]
