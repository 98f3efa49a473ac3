"""Our own figure: a ladder of deployments from bare metal to default Docker, and what each of its steps costs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plimsoll.designs.splitting.charts import cells
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

BARE = "bare metal"
# Of a row: (ratio, and its interval) to bare metal, and to the step that it comes from.
TO_BARE = ("ratio_to_bare", "ratio_to_bare_low", "ratio_to_bare_high")
OF_STEP = ("step", "step_low", "step_high")


class Ladder(Chart):
    """One panel per metric; in it one row per step, with its ratio to bare metal as a point and what the step costs as a
    number."""

    name = "ladder"
    notebook = "splitting"
    option = "steps"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        parts = []
        for metric in data.metrics:
            sections = set(data.observations.loc[data.observations["metric"] == metric, "section"])
            own = [cell for cell in data.cells if cell["section"] in sections and cell["runtime"] in data.options["steps"]]
            parts.append(_of_metric(data, cells.summarise(data, metric, own)))
        return pd.concat(parts, ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = cells.panels(summary, {"metric": data.metrics, "hardware": []})
        steps = [name for name in data.options["steps"] if name in set(summary["runtime"])]
        size = (style.COLUMN_INCHES, 0.75 + len(panels) * (0.35 + 0.155 * len(steps)))
        figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
        for axis, (metric, hardware) in zip(axes.flat, panels, strict=True):
            part = bars.only(summary, {"metric": metric, "hardware": hardware}).set_index("runtime")
            _panel(axis, part, steps, data.options["steps"])
            better = data.metrics[metric]["better"]
            axis.set_title(f"{data.metrics[metric]['label']} ({better} is better)", loc="left", fontsize=7)
        axes[-1, 0].set_xlabel("ratio to bare metal (logarithmic)")
        style.legend_below(figure, _legend(), ncols=1)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "One rank in each container, exactly subscribed, any processor. Each row adds one thing to the row that it comes "
            "from: that above it, and bare metal where a label begins with the name of a runtime. Points: ratio of the mean to "
            f"that of bare metal, {cells.sample_size(summary)} valid runs per cell ({data.repetitions} planned); whiskers: its "
            "95 % interval (Student's t of the logarithms of ratios within blocks). Numbers: ratio to the row that it comes "
            f"from, bold where its 95 % interval leaves out 1{cells.too_few(data)}. Profile {data.profile}."
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
    """The summary of a metric with what each step adds, and its ratios with their intervals."""
    steps = data.options["steps"]
    before = {name: step.get("from") for name, step in steps.items()}
    summary = summary.assign(**{"from": summary["runtime"].map(before), "adds": summary["runtime"].map(_adds(steps))})
    means = summary.set_index(["hardware", "runtime"])["mean"]
    of_step = [means.get((row.hardware, before[row.runtime]), np.nan) for row in summary.itertuples()]
    summary["step"] = summary["mean"] / of_step
    for ratio, low, high, references in (
        (*TO_BARE, cells.bare_metal),
        (*OF_STEP, lambda row: [_key(row, before[row["runtime"]]), *(cells.bare_metal(row) if before[row["runtime"]] else [])]),
    ):
        ends = cells.compared(data.observations, summary, ratio, references)
        summary[low], summary[high] = ends["ratio_low"], ends["ratio_high"]
    return summary


def _adds(steps: dict) -> dict[str, str]:
    return {name: step.get("adds", BARE) for name, step in steps.items()}


def _key(row: dict, runtime: str | None) -> tuple:
    return tuple({**row, "runtime": runtime}[factor] for factor in OF_DEPLOYMENT)


def _differs(row: dict) -> bool:
    return bars.excludes_one({"ratio_low": row["step_low"], "ratio_high": row["step_high"]})


def _panel(axis: Axes, part: pd.DataFrame, steps: list[str], told: dict) -> None:
    looks = style.looks(steps)
    for place, name in enumerate(reversed(steps)):
        if name not in part.index or not part.loc[name, "n"]:
            axis.text(0.02, place, "no valid run", transform=axis.get_yaxis_transform(), va="center", fontsize=style.SMALLEST)
            continue
        row = part.loc[name]
        ratio, low, high = (row[column] for column in TO_BARE)
        if np.isfinite(low):
            axis.plot([low, high], [place, place], zorder=3, **bars.WHISKER)
        look = {"color": looks[name].colour, "markeredgecolor": "black", "markeredgewidth": 0.4, "markersize": 4.5}
        axis.plot(ratio if np.isfinite(ratio) else 1.0, place, "o", zorder=4, **look)
        if np.isfinite(row["step"]):
            weight = "bold" if _differs(row.to_dict()) else "normal"
            words = {"va": "center", "fontsize": style.SMALLEST, "fontweight": weight}
            axis.text(1.02, place, bars.factor(row["step"]), transform=axis.get_yaxis_transform(), **words)
    axis.set_yticks(range(len(steps)), [_label(name, told, looks) for name in reversed(steps)], fontsize=style.SMALLEST)
    axis.set(xscale="log", ylim=(-0.6, len(steps) - 0.4))
    axis.axvline(1, color="#606060", linewidth=0.7, linestyle="--", zorder=1)
    axis.grid(axis="x")
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    _scale(axis, part)


def _label(name: str, told: dict, looks: dict) -> str:
    """What a step adds; it begins with the runtime where the ladder begins anew from bare metal."""
    step = told[name]
    if "from" not in step:
        return BARE
    return f"+ {step['adds']}" if told[step["from"]] else f"{looks[name].label.partition(' ')[0].strip(',')}: {step['adds']}"


def _scale(axis: Axes, part: pd.DataFrame) -> None:
    shown = part[part["n"] > 0]
    ends = shown[list(TO_BARE)].to_numpy(float)
    ends = ends[np.isfinite(ends) & (ends > 0)]
    low, high = min(ends.min(initial=1.0) / 1.3, 0.7), max(ends.max(initial=1.0) * 1.3, 1.4)
    axis.set_xlim(low, high)
    axis.xaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 30 else (1, 2, 5), numticks=20))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _legend() -> list[Line2D]:
    point = {"marker": "o", "markersize": 4.5, "markerfacecolor": "#777777", "markeredgecolor": "black", "markeredgewidth": 0.4}
    return [
        Line2D([], [], label="ratio to bare metal, 95 % interval", **point, **bars.WHISKER),
        Line2D([], [], linestyle="", label="numbers: ratio to the step before; bold: its 95 % interval leaves out 1"),
    ]


CHARTS = [Ladder()]
