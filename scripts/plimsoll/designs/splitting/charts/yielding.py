"""liu2020's figure 29: run time with yielding left to Open MPI, switched off and switched on."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plimsoll.designs.splitting.charts import cells
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.figures import bars, drawn_values, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Markers by level of yielding; `default` is Open MPI's own choice. Colours are already taken by the runtimes.
MARKERS = {"default": "o", "disabled": "s", "enabled": "D"}
WORDS = {"default": "left to Open MPI", "disabled": "switched off", "enabled": "switched on"}
CHOSEN = "yielding left to Open MPI"
AT_LEAST = "at least: runs hit their limit"
TINY = 1e-9


class Yielding(Chart):
    """Marks of run times: one panel per benchmark and hardware setting, one mark per deployment and level of yielding.

    The scale is logarithmic. Bars would have no natural start on it, so there are only marks.
    """

    name = "yielding"
    notebook = "scheduling"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        parts = [cells.summarise(data, metric, cells.measuring(data, metric)) for metric in data.metrics]
        return pd.concat(parts, ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = cells.panels(summary, {"metric": data.metrics, "hardware": []})
        size = (style.COLUMN_INCHES, 1.0 + 1.3 * len(panels))
        shape = {"squeeze": False, "layout": "constrained", "sharex": True}
        figure, axes = plt.subplots(len(panels), 1, figsize=size, **shape)
        for axis, (metric, hardware) in zip(axes.flat, panels, strict=True):
            chosen = {"metric": metric, "hardware": hardware}
            _panel(axis, bars.only(summary, chosen), bars.only(data.observations, chosen), _deployments(summary))
            axis.set_title(f"{data.metrics[metric]['label']}, {cells.title(hardware, 'over')}", loc="left", fontsize=7)
            axis.set_ylabel("run time (s)")
        figure.align_ylabels(axes[:, 0])
        style.legend_below(figure, _legend(summary), columnspacing=1.0)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        limited = (
            " A triangle marks a cell of which some runs (number beside it) hit their time limit: its mean is at least what "
            "is drawn, and it has no interval."
        )
        return (
            "Time from MPI_Init to MPI_Finalize, over-subscribed, one container and several (below: containers x ranks "
            f"in each); logarithmic scale, lower is better. Filled marks: mean of {cells.sample_size(summary)} "
            f"runs per cell {cells.planned_runs(data, summary)}; whiskers: 95 % interval of the mean (Student's t; one that "
            f"reaches 0 leaves the panel); white dots: single runs.{limited if summary['censored'].any() else ''} "
            f"Profile {data.profile}."
        ) + cells.not_measured(data)

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        def left_alone(row: dict) -> list[tuple]:
            return [tuple({**row, "yield": "default"}[factor] for factor in OF_DEPLOYMENT)]

        both = summary[summary["yield"] != "default"]
        keys = ["metric", "hardware", "mode", "scheme", "runtime", "affinity"]
        ratio = cells.ratio_to(summary, summary["yield"] == "default", keys)
        compared = cells.with_ratio(data.observations, both.assign(to_default=ratio[both.index]), "to_default", left_alone)
        findings = cells.findings(data, compared, CHOSEN)
        return f"{data.title}: run time (lower is better). {findings}"


def _deployments(summary: pd.DataFrame) -> list[tuple[str, str]]:
    return [
        (runtime, scheme)
        for runtime in style.looks(summary["runtime"])
        for scheme in sorted(summary.loc[summary["runtime"] == runtime, "scheme"].unique())
    ]


def _panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, deployments: list[tuple[str, str]]) -> None:
    looks = style.looks(runtime for runtime, _ in deployments)
    levels, groups = style.in_order(MARKERS, part["yield"]), [f"{runtime} {scheme}" for runtime, scheme in deployments]
    layout = bars.Layout("group", groups, "yield", levels, lambda *_: ("black", ""))
    points = points.assign(group=points["runtime"] + " " + points["scheme"])
    common = {"x": "group", "y": "value", "order": groups, "legend": False, "ax": axis}
    if len(points):
        looks_of_dots = {"size": style.DOT, "palette": ["white"] * len(levels), "edgecolor": "black", "linewidth": 0.35}
        sns.stripplot(points, hue="yield", hue_order=levels, dodge=True, jitter=False, **common, **looks_of_dots)
    for dots in axis.collections:
        bars.spread(dots, 0.8 * layout.slot)
    for row in part[part["n"] > 0].to_dict("records"):
        _mark(axis, layout.place(f"{row['runtime']} {row['scheme']}", row["yield"]), row, looks[row["runtime"]].colour)
    for row in part[part["n"] == 0].to_dict("records"):
        x = layout.place(f"{row['runtime']} {row['scheme']}", row["yield"])
        words = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": style.SMALLEST}
        axis.text(x, 0.03, "no run", transform=axis.get_xaxis_transform(), **words)
    if part["n"].any():
        _scale(axis, part)
    sizes = dict(zip(sorted(part["scheme"].unique()), cells.scheme_names(part), strict=True))
    names = [f"{sizes.get(scheme, scheme)}\n{_narrow(looks[runtime].label)}" for runtime, scheme in deployments]
    axis.set(xlabel="", xlim=(-0.5, len(groups) - 0.5))
    axis.set_xticks(range(len(groups)), names, fontsize=style.SMALLEST)
    axis.tick_params(axis="x", length=0)


def _level(name: str) -> str:
    """Return a level of yielding for people."""
    return f"yielding {WORDS.get(name, name)}"


def _narrow(label: str) -> str:
    """Return a runtime's name broken into narrow lines."""
    return label.replace("Singularity", "Singu-\nlarity").replace(" ", "\n")


def _mark(axis: Axes, x: float, row: dict, colour: str) -> None:
    """Draw a mean with its interval. An interval that reaches below 0 leaves the panel at its lower edge.

    A logarithmic scale has no 0.
    """
    look = {"color": colour, "markersize": 4.5, "markeredgecolor": "black", "markeredgewidth": 0.4, "zorder": 5}
    if np.isfinite(row["mean_low"]):
        cut = drawn_values.NO_INTERVAL if row["mean_low"] < TINY else {}
        axis.plot([x, x], [max(row["mean_low"], TINY), row["mean_high"]], zorder=4, **bars.WHISKER, **cut)
    label = f"{_level(row['yield'])}{f', {AT_LEAST}' if row['censored'] else ''}"
    axis.plot(x, row["mean"], MARKERS.get(row["yield"], "v"), label=label, **look)
    if row["censored"]:
        axis.plot(x, row["mean"] * 1.25, marker="^", color="black", markersize=4, zorder=6, **drawn_values.NO_VALUE)
        words = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST, "bbox": bars.BOX}
        axis.text(x, row["mean"] * 1.4, f"{row['censored']:.0f}/{row['n']:.0f}", **words)


def _scale(axis: Axes, part: pd.DataFrame) -> None:
    """Set a logarithmic scale with plain numbers, closer together if the range is small. `part` has at least one run."""
    shown = part[part["n"] > 0]
    low = shown["minimum"].min() / 1.3
    high = 1.3 * max(shown["maximum"].max(), shown["mean_high"].max(), 1.4 * shown.loc[shown["censored"] > 0, "mean"].max())
    axis.set(yscale="log", ylim=(low, high))
    steps = (1,) if high / low > 100 else (1, 2, 5) if high / low > 6 else (1, 1.5, 2, 3, 4, 6, 8)
    axis.yaxis.set_major_locator(LogLocator(subs=steps, numticks=20))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _legend(summary: pd.DataFrame) -> list[Line2D]:
    """Return the legend: a mark per level of yielding, whiskers and dots, and the triangle only if a run reached its limit."""
    grey = {"linestyle": "", "color": "#777777", "markersize": 4.5, "markeredgecolor": "black", "markeredgewidth": 0.4}
    handles = [
        Line2D([], [], marker=MARKERS.get(level, "v"), label=_level(level), **grey)
        for level in style.in_order(MARKERS, summary["yield"])
    ]
    handles += bars.marks("95 % interval of the mean")
    if summary["censored"].any():
        handles.append(Line2D([], [], color="black", marker="^", linestyle="", markersize=4, label=AT_LEAST))
    return handles


CHARTS = [Yielding()]
