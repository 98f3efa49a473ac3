"""Chart `parents`: creation time by parents, a line for each number of children in a parent (amaral2015's figure 5)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from plimsoll.designs.nesting import statistics
from plimsoll.designs.nesting.charts import lines
from plimsoll.figures import style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# From one child in a parent (dark) to 256 (light): the shades also differ when printed in grey.
SHADES = colormaps["viridis"]


class Parents(Chart):
    """Our values as full lines, and the paper's as broken lines in the same colours."""

    name = "parents"
    notebook = "nesting"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return statistics.of_cells(self._values(data))

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        figure, axis = plt.subplots(figsize=(style.COLUMN_INCHES, 3.3), layout="constrained")
        values, paper = self._values(data), data.options["paper"]
        numbers = sorted({int(number) for number in summary["children"]} | {row["children"] for row in paper})
        handles = []
        for place, children in enumerate(numbers):
            colour, marker = SHADES(0.9 * place / max(1, len(numbers) - 1)), lines.MARKERS[place % len(lines.MARKERS)]
            look = style.Look(colour, "", f"{children} child{'' if children == 1 else 'ren'} in each")
            rows = [row for row in paper if row["children"] == children]
            lines.paper_means(axis, rows, "instances", colour, marker, f"{look.label}, the paper")
            own = summary[summary["children"] == str(children)], values[values["children"] == str(children)]
            # Our line is shifted to the left of the paper's.
            handles.append(lines.draw(axis, *own, "instances", look, marker, place - 3))
        drawn = lines.places(summary["instances"], [row["instances"] for row in paper])
        lines.cores(axis, data.options["cores"])
        ((label, unit),) = [(one["label"], one["unit"]) for one in data.metrics.values()]
        lines.finish(axis, "parents at once", f"{label} ({unit})", drawn)
        marks = lines.marks("95 % interval of the mean", data.options["cores"], bool(paper))
        style.legend_below(figure, [*handles, *marks], ncols=2)
        return figure

    def _values(self, data: FigureData) -> pd.DataFrame:
        (metric,) = data.metrics
        return data.observations[data.observations["metric"] == metric]

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Time until all parents have ended, which each start an engine, load the child's image, and create their children. "
            f"Broken lines are the paper's. {lines.of_how_many(data, summary)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        groups = sorted(summary.groupby("children"), key=lambda one: int(one[0]))
        each = {f"{children} in each parent": group for children, group in groups}
        return f"{data.title}, by the number of parents. {lines.comparison(each, 'instances')}"


CHARTS = [Parents()]
