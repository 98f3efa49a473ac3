"""Charts `growth` and `slowdown`: a metric over the number of instances, with a line per runtime.

They draw amaral2015's figures 3 and 4.
"""

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plimsoll.designs.nesting import statistics
from plimsoll.designs.nesting.charts import lines
from plimsoll.designs.nesting.factors import NO_CHILDREN
from plimsoll.figures import style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Characters per line in the label of an ordinate.
LABEL_WIDTH = 26
# Metrics that are drawn as a part of another one, in its panel: the boot of virtual machines.
WITHIN = {"boot_time": "ready_time"}


class Growth(Chart):
    """Values over the number of instances, with a panel for each metric that is not a part of another.

    Where nested containers are drawn, each parent has one child.
    """

    name = "growth"
    notebook = "nesting"
    metrics = "several"
    linear = False

    def values(self, data: FigureData) -> pd.DataFrame:
        """Return the observations that are drawn."""
        own = data.observations
        return own[own["metric"].isin(data.metrics) & own["children"].isin([NO_CHILDREN, "1"])]

    def label(self, data: FigureData, metric: str) -> str:
        """Return the label of the ordinate for a metric: its name and unit."""
        described = data.metrics[metric]
        return f"{described['label']} ({described['unit']})"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return statistics.of_cells(self.values(data))

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        shown = _panels(data)
        size = (min(2, len(shown)) * style.COLUMN_INCHES, 2.9)
        figure, axes = plt.subplots(1, len(shown), figsize=size, layout="constrained", sharey=True, squeeze=False)
        looks = style.looks(summary["runtime"])
        for metric, axis in zip(shown, axes[0], strict=True):
            handles = self._panel(axis, data, summary, metric, looks)
        # The paper's means are of the first metric.
        paper = self.of_paper(data)
        drawn = lines.places(summary["instances"], *([row["instances"] for row in rows] for rows in paper.values()))
        for runtime, rows in paper.items():
            colour = looks[runtime].colour if runtime in looks else lines.GREY
            label = f"{style.looks([runtime])[runtime].label}, the paper"
            lines.paper_means(axes[0][0], rows, "instances", colour, "o", label)
        for metric, axis in zip(shown, axes[0], strict=True):
            lines.cores(axis, data.options["cores"])
            lines.finish(axis, "instances at once", textwrap.fill(self.label(data, metric), LABEL_WIDTH), drawn, self.linear)
            axis.yaxis.set_tick_params(labelleft=True)
        marks = lines.marks("95 % interval of the mean", data.options["cores"], bool(paper))
        style.legend_below(figure, [*handles, *_of_parts(data, summary), *marks])
        return figure

    def _panel(self, axis: Axes, data: FigureData, summary: pd.DataFrame, metric: str, looks: dict) -> list[Line2D]:
        """Draw a metric and its parts in a panel; return the metric's lines, for a legend."""
        values, handles = self.values(data), []
        for number, (runtime, look) in enumerate(looks.items()):
            beside = number - (len(looks) - 1) / 2
            own = [table[(table["runtime"] == runtime) & (table["metric"] == metric)] for table in (summary, values)]
            marker = lines.MARKERS[number % len(lines.MARKERS)]
            handles.append(lines.draw(axis, *own, "instances", look, marker, beside))
            for part in (name for name, whole in WITHIN.items() if whole == metric and name in data.metrics):
                of_part = summary[(summary["runtime"] == runtime) & (summary["metric"] == part)]
                label = f"{look.label}, {data.metrics[part]['label']}"
                lines.part(axis, of_part, "instances", look.colour, beside, label)
        return handles

    def of_paper(self, data: FigureData) -> dict[str, list[dict]]:
        """Return the paper's means by runtime: those of parents with one child, if it prints them."""
        rows = [row for row in data.options["paper"] if row["children"] == 1]
        return {"docker-nested": rows} if rows else {}

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        labels = [self.label(data, metric) for metric in _panels(data)]
        label = f"{labels[0][0].upper()}{labels[0][1:]}{''.join(f', and {one}' for one in labels[1:])}"
        parts = "".join(f" Dotted: {data.metrics[part]['label']}." for part in _parts(data) if part in set(summary["metric"]))
        return f"{label}, over the number of instances at once.{parts} {lines.of_how_many(data, summary)}"

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        first = _lines_of(summary, _panels(data)[0])
        return f"{data.title}, by the number of instances. {lines.comparison(first, 'instances')}"


def _lines_of(summary: pd.DataFrame, metric: str) -> dict[str, pd.DataFrame]:
    """Return the means of a metric's lines, by the label of each runtime."""
    own = summary[summary["metric"] == metric]
    return {look.label: own[own["runtime"] == runtime] for runtime, look in style.looks(own["runtime"]).items()}


def _panels(data: FigureData) -> list[str]:
    """Return the metrics that have a panel."""
    return [metric for metric in data.metrics if metric not in WITHIN]


def _parts(data: FigureData) -> list[str]:
    """Return the metrics that are drawn as parts of others."""
    return [metric for metric in data.metrics if metric in WITHIN]


def _of_parts(data: FigureData, summary: pd.DataFrame) -> list[Line2D]:
    """Return the legend entries of the parts that are drawn."""
    there = [part for part in _parts(data) if part in set(summary["metric"])]
    return [Line2D([], [], color=lines.GREY, label=f"dotted: {data.metrics[part]['label']}", **lines.OF_PART) for part in there]


class Slowdown(Growth):
    """Times divided by that of one instance on bare metal in the same block."""

    name = "slowdown"
    notebook = "nesting"
    metrics = "one"

    def values(self, data: FigureData) -> pd.DataFrame:
        return statistics.slowdowns(super().values(data))

    def label(self, data: FigureData, metric: str) -> str:
        return "slowdown against one instance on bare metal"


CHARTS = [Growth(), Slowdown()]
