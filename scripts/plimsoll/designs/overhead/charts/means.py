"""li2018's figure 7: means by metric and runtime, with standard deviations."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll.designs.overhead.charts import levels
from plimsoll.designs.overhead.charts.overheads import Overheads
from plimsoll.figures import bars, style
from plimsoll.figures.data import FigureData


class Means(Overheads):
    """Bars of means: a panel with our values, and one below with the paper's values from another machine."""

    name = "means"
    notebook = "overhead"

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        panels = 2 if data.options["paper"] else 1
        size = (style.COLUMN_INCHES, 0.8 + 1.5 * panels)
        figure, axes = plt.subplots(panels, 1, figsize=size, layout="constrained", squeeze=False, sharex=True)
        ours, *theirs = axes[:, 0]
        keys = levels.runtimes(summary)
        metrics = list(data.metrics)
        for position, (key, look) in enumerate(levels.looks(keys).items()):
            own = summary[(summary["runtime"] == key[0]) & (summary["storage"] == key[1])].set_index("metric").reindex(metrics)
            places = [levels.place(number, position, len(keys)) for number in range(len(metrics))]
            _bars(ours, places, own["mean"], own["sd"], look, len(keys))
        unit = next(iter(data.metrics.values()))["unit"]
        ours.set_ylabel(unit)
        ours.set_title("here: mean and standard deviation", loc="left", fontsize=6.5, pad=2)
        for axis in theirs:
            _theirs(axis, data, metrics)
        ours.set_xticks(range(len(metrics)), levels.directed(data), fontsize=style.SMALLEST)
        for axis in axes[:, 0]:
            axis.tick_params(axis="x", length=0)
        style.legend_below(figure, [*levels.handles(keys, paper=False), *_only_theirs(data, keys)])
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        below = " Below: the paper's, on its machine." if data.options["paper"] else ""
        return f"Mean of all iterations; error bars: standard deviation.{below} {levels.of_how_many(data, summary)}"


def _bars(axis: Axes, places: list[float], means, deviations, look: style.Look, of: int) -> None:
    shape = {"width": 0.92 * levels.WIDTH / of, "edgecolor": "white", "linewidth": 0.3, "zorder": 2}
    heights = np.nan_to_num(np.asarray(means, float))
    axis.bar(places, heights, color=look.colour, hatch=look.hatch, **shape)
    axis.errorbar(
        places,
        heights,
        np.nan_to_num(np.asarray(deviations, float)),
        fmt="none",
        ecolor="black",
        elinewidth=bars.WHISKER["linewidth"],
        capsize=1.5,
        capthick=0.7,
        zorder=4,
    )


def _theirs(axis: Axes, data: FigureData, metrics: list[str]) -> None:
    rows = pd.DataFrame(data.options["paper"])
    runtimes = list(style.looks(rows["runtime"]))
    for position, runtime in enumerate(runtimes):
        own = rows[rows["runtime"] == runtime].set_index("metric").reindex(metrics)
        places = [levels.place(number, position, len(runtimes)) for number in range(len(metrics))]
        _bars(axis, places, own["paper_mean"], own["paper_sd"], style.looks([runtime])[runtime], len(runtimes))
    axis.set_ylabel(next(iter(data.metrics.values()))["unit"])
    axis.set_title("the paper: mean and standard deviation", loc="left", fontsize=6.5, pad=2)


def _only_theirs(data: FigureData, keys: list[tuple[str, str]]) -> list[Patch]:
    """Return the legend's entries of runtimes that only the paper measured."""
    theirs = {row["runtime"] for row in data.options["paper"]} - {runtime for runtime, _ in keys}
    looks = style.looks(theirs).values()
    return style.patches(replace(look, label=f"{look.label} (the paper)") for look in looks)


CHARTS = [Means()]
