"""amaral2015's figures 3 and 4: a metric over the number of instances, one line per runtime."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.designs.nesting import statistics
from plimsoll.designs.nesting.charts import lines
from plimsoll.designs.nesting.factors import NO_CHILDREN
from plimsoll.figures import style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData


class Growth(Chart):
    """Values over the number of instances. Where nested containers are drawn, each parent has one child."""

    name = "growth"
    notebook = "nesting"
    metrics = "one"
    linear = False

    def values(self, data: FigureData) -> pd.DataFrame:
        """The observations that are drawn."""
        (metric,) = data.metrics
        own = data.observations
        return own[(own["metric"] == metric) & own["children"].isin([NO_CHILDREN, "1"])]

    def label(self, data: FigureData) -> str:
        """What the upright axis shows."""
        ((label, unit),) = [(one["label"], one["unit"]) for one in data.metrics.values()]
        return f"{label} ({unit})"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return statistics.of_cells(self.values(data))

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        figure, axis = plt.subplots(figsize=(style.COLUMN_INCHES, 2.9), layout="constrained")
        values, looks = self.values(data), style.looks(summary["runtime"])
        handles = []
        for number, (runtime, look) in enumerate(looks.items()):
            marker = lines.MARKERS[number % len(lines.MARKERS)]
            own = summary[summary["runtime"] == runtime], values[values["runtime"] == runtime]
            beside = number - (len(looks) - 1) / 2
            handles.append(lines.draw(axis, *own, "instances", look, marker, beside))
        paper = self.of_paper(data)
        for runtime, rows in paper.items():
            colour = looks[runtime].colour if runtime in looks else lines.GREY
            lines.paper_s(axis, rows, "instances", colour, "o", "")
        drawn = lines.places(summary["instances"], *([row["instances"] for row in rows] for rows in paper.values()))
        lines.cores(axis, data.options["cores"])
        lines.finish(axis, "instances at once", self.label(data), drawn, self.linear)
        marks = lines.marks("95 % interval of the mean", data.options["cores"], bool(paper))
        style.legend_below(figure, [*handles, *marks])
        return figure

    def of_paper(self, data: FigureData) -> dict[str, list[dict]]:
        """The paper's means by runtime, where it prints them: of parents with one child."""
        rows = [row for row in data.options["paper"] if row["children"] == 1]
        return {"docker-nested": rows} if rows else {}

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        label = self.label(data).replace("\n", " ")
        return f"{label[0].upper()}{label[1:]}, over the number of instances at once. {lines.of_how_many(data, summary)}"

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        unit = summary["unit"].iloc[0] if len(summary) else ""
        each = [
            lines.ends(summary[summary["runtime"] == runtime], "instances", look.label, unit)
            for runtime, look in style.looks(summary["runtime"]).items()
        ]
        return f"{data.title}, by the number of instances. {'; '.join(each)}."


class Slowdown(Growth):
    """Times over that of one instance on bare metal in the same block."""

    name = "slowdown"
    notebook = "nesting"
    metrics = "one"

    def values(self, data: FigureData) -> pd.DataFrame:
        return statistics.slowdowns(super().values(data))

    def label(self, data: FigureData) -> str:
        return "slowdown against one\ninstance on bare metal"


CHARTS = [Growth(), Slowdown()]
