"""Chart `parts`: the creation time of nested containers, part by part."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.designs.nesting import statistics
from plimsoll.figures import style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

LOOKS = (("#882255", ""), ("#cc6677", "//"), ("#ddcc77", ".."), ("#44aa99", "xx"), ("#332288", "--"), ("#999999", "++"))


class Parts(Chart):
    """A bar per cell, in which the mean of each part is stacked, in the order of the figure's metrics."""

    name = "parts"
    notebook = "nesting"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return statistics.of_cells(data.observations[data.observations["metric"].isin(data.metrics)])

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        cells = _cells(summary)
        figure, axis = plt.subplots(figsize=(style.COLUMN_INCHES, 2.8), layout="constrained")
        handles, height = [], dict.fromkeys(cells, 0.0)
        for (metric, described), (colour, hatch) in zip(data.metrics.items(), LOOKS, strict=False):
            means = _means(summary, metric)
            values = [means.get(cell, 0.0) for cell in cells]
            bottoms = [height[cell] for cell in cells]
            axis.bar(range(len(cells)), values, bottom=bottoms, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
            height = {cell: height[cell] + means.get(cell, 0.0) for cell in cells}
            handles.append(style.Look(colour, hatch, described["label"]))
        axis.set_xticks(range(len(cells)), [_name(cell) for cell in cells])
        axis.tick_params(axis="x", length=0)
        axis.set_ylabel("mean of a parent's time (s)")
        axis.set_xlabel("parents x children in each")
        style.legend_below(figure, style.patches(handles))
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        numbers = sorted(set(summary["n"].astype(int))) or [0]
        each = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        return (
            "What a parent's time is made of, from the command to its end, by parents and children in each (p x c). Means over "
            f"parents, of {each} runs (profile {data.profile}). The intervals are in the CSV."
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        means = summary.pivot_table(index=["task", "instances", "children"], columns="metric", values="mean")
        shares = means.div(means.sum(axis="columns"), axis="index")
        longest = shares.idxmax(axis="columns")
        metric = longest.mode()[0]
        own = shares[metric][longest == metric]
        share = " to ".join(dict.fromkeys(f"{100 * end:.0f} %" for end in (own.min(), own.max())))
        label = data.metrics[metric]["label"]
        return f"{data.title}. Longest part in {len(own)} of {len(shares)} cells: {label}, {share} of a parent's time."


def _cells(summary: pd.DataFrame) -> list[tuple[str, int, int]]:
    """Return (task, parents, children in each) of each cell, sorted."""
    keys = summary[["task", "instances", "children"]].drop_duplicates().itertuples(index=False, name=None)
    return sorted((task, int(instances), int(children)) for task, instances, children in keys)


def _means(summary: pd.DataFrame, metric: str) -> dict[tuple[str, int, int], float]:
    own = summary[summary["metric"] == metric]
    return {
        (row.task, int(row.instances), int(row.children)): row.mean_
        for row in own.rename(columns={"mean": "mean_"}).itertuples()
    }


def _name(cell: tuple[str, int, int]) -> str:
    task, parents, children = cell
    return f"{parents} x {children}" + ("\npreloaded" if task == "preloaded" else "")


CHARTS = [Parts()]
