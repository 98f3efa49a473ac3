"""liu2020's figures 31 to 37: a metric by runtime, scheme and affinity."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from plimsoll.designs.splitting import scheme
from plimsoll.designs.splitting.charts import cells
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.errors import many
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Share of white that is mixed into a runtime's colour, and a hatch that separates levels in grey prints.
SHADES = {"any": (0.0, ""), "pin": (0.12, "--"), "cpu": (0.25, "//"), "cpumem": (0.4, "xx"), "cpumempin": (0.55, "..")}
UNKNOWN = (0.65, "++")
FREE = "free scheduling (any processor)"


class Affinity(Chart):
    """Bars of a metric: one panel per hardware setting and mode, one group per runtime and scheme, one bar per affinity."""

    name = "affinity"
    notebook = "affinity"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return summarise(data, *data.metrics)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        (metric,) = data.metrics
        points = data.observations[data.observations["metric"] == metric]
        table, points, unit = bars.scaled(against_any(points, summary), points, data.metrics[metric]["unit"], ["mode"])
        panels = cells.panels(summary, {"hardware": [], "mode": cells.MODES})
        size = (style.COLUMN_INCHES, 0.9 + 1.6 * len(panels))
        figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
        for axis, (hardware, mode) in zip(axes.flat, panels, strict=True):
            chosen = {"hardware": hardware, "mode": mode}
            panel(axis, bars.only(table, chosen), bars.only(points, chosen))
            axis.set_title(cells.title(hardware, mode), loc="left")
            axis.set_ylabel(cells.axis_label(data.metrics[metric]["label"], unit))
        figure.align_ylabels(axes[:, 0])
        legend(figure, summary)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            f"{cells.bars_are(data, summary, FREE)} The colour is the runtime's, its shade tells the affinity."
            + cells.not_measured(data)
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        (metric,) = data.metrics
        better = data.metrics[metric]["better"]
        findings = cells.findings(data, against_any(data.observations, summary), FREE)
        return f"{data.title} by runtime, number of containers and affinity ({better} is better). {findings}"


def summarise(data: FigureData, metric: str) -> pd.DataFrame:
    """Return one row per cell. `ratio_to_any` is its mean over the mean of the same deployment with free scheduling."""
    table = cells.summarise(data, metric)
    keys = ["hardware", "mode", "scheme", "runtime"]
    return table.assign(ratio_to_any=cells.ratio_to(table, table["affinity"] == "any", keys))


def against_any(observations: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary with the interval of each cell's ratio to free scheduling (ANY)."""

    def free(row: dict) -> list[tuple]:
        return [tuple({**row, "affinity": "any"}[factor] for factor in OF_DEPLOYMENT)]

    return cells.with_ratio(observations, summary, "ratio_to_any", free)


def legend(figure: Figure, summary: pd.DataFrame) -> None:
    """Put a legend below the figure: one grey patch for each level of affinity."""
    levels = style.in_order(SHADES, summary["affinity"])
    looks = [style.Look(_shade("#4d4d4d", level), SHADES.get(level, UNKNOWN)[1], cells.level(level)) for level in levels]
    handles = [*style.patches(looks), *bars.marks("95 % interval of the mean")]
    style.legend_below(figure, handles, columnspacing=1.0)


def _shade(colour: str, level: str) -> tuple[float, ...]:
    white = SHADES.get(level, UNKNOWN)[0]
    return tuple(part + (1 - part) * white for part in to_rgb(colour))


def panel(axis: Axes, part: pd.DataFrame, points: pd.DataFrame) -> None:
    """Draw one group of bars per runtime and number of containers, with one bar per level of affinity."""
    looks, schemes = style.looks(part["runtime"]), sorted(part["scheme"].unique())
    groups = {f"{runtime} {name}": (runtime, name) for runtime in looks for name in schemes}
    levels = style.in_order(SHADES, part["affinity"])

    def look(group: str, level: str) -> tuple:
        return _shade(looks[groups[group][0]].colour, level), SHADES.get(level, UNKNOWN)[1]

    def grouped(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(group=table["runtime"] + " " + table["scheme"])

    layout = bars.Layout("group", list(groups), "affinity", levels, look)
    bars.draw(axis, grouped(part), grouped(points), layout, bars.top(part))
    for bar in axis.patches:
        # A tick names only the middle group of a runtime, and the legend's colours are those of no runtime.
        group, level = layout.at(bar.get_x() + bar.get_width() / 2)
        runtime, name = groups[group]
        bar.set_label(f"{cells.level(level)}, {looks[runtime].label}, {many(scheme.containers(name), 'container')}")
    middle = schemes[len(schemes) // 2]
    axis.set_xticklabels(
        "\n".join([str(scheme.containers(name)), *([looks[runtime].label.replace(" ", "\n")] if name == middle else [])])
        for runtime, name in groups.values()
    )
    axis.set_xlabel("number of containers, by runtime", fontsize=style.SMALLEST, labelpad=1)


CHARTS = [Affinity()]
