"""li2018's figures 15 and 16: the time of a job under each strategy."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.analysis import blocks
from plimsoll.designs.tuning import statistics
from plimsoll.designs.tuning.factors import BASELINE
from plimsoll.figures import bars, findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData


class Strategies(Chart):
    """One row per strategy: on the left the mean and the single runs, on the right the change from the baseline."""

    name = "strategies"
    notebook = "tuning"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        table = statistics.changes(data.observations[data.observations["metric"].isin(data.metrics)])
        order = {name: number for number, name in enumerate(data.options["labels"])}
        return table.sort_values("strategy", key=lambda column: column.map(order), kind="stable", ignore_index=True)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        (metric,) = data.metrics
        own = data.observations[data.observations["metric"] == metric]
        names = list(summary["strategy"])
        size = (style.COLUMN_INCHES, 0.8 + 0.24 * max(3, len(names)))
        figure, (left, right) = plt.subplots(1, 2, figsize=size, layout="constrained", sharey=True)
        colour = style.looks(set(own["runtime"]))[own["runtime"].iloc[0]].colour if len(own) else "black"
        for place, row in enumerate(summary.itertuples()):
            runs = own[own["strategy"] == row.strategy]["value"]
            left.barh(place, row.mean, height=0.7, color=colour, alpha=0.55, zorder=2)
            left.plot(runs, [place] * len(runs), "o", color="black", markersize=style.DOT, alpha=0.7, zorder=4)
            if pd.notna(row.change):
                right.plot([100 * row.change], [place], "o", color=colour, markersize=4, zorder=4)
            if pd.notna(row.change_low):
                right.hlines(place, 100 * row.change_low, 100 * row.change_high, zorder=3, **bars.WHISKER)
        right.axvline(0, color="black", linewidth=0.7)
        left.set_yticks(range(len(names)), [data.options["labels"].get(name, name) for name in names])
        left.set_ylim(len(names) - 0.4, -0.6)
        left.set_xlabel(f"job time ({data.metrics[metric]['unit']})", fontsize=7)
        right.set_xlabel("change (%)", fontsize=7)
        for axis in (left, right):
            axis.grid(axis="x")
            axis.grid(False, axis="y")
            axis.tick_params(axis="y", length=0)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Left: mean over runs; dots: single runs, each with a cluster of its own. Right: change of the mean against "
            "the baseline, with its 95 % interval, of the log ratios within blocks"
            f"{_without_interval(data, summary)}. Out-of-band heartbeat is a negative control, which Hadoop 3 does not read. "
            f"{_of_how_many(data, summary)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        changes = [
            findings.Change(data.options["labels"].get(row.strategy, row.strategy), row.change, row.change_low, row.change_high)
            for row in summary.itertuples()
        ]
        return f"{data.title}: job time. {findings.farthest(changes, 'the baseline')}"


def _without_interval(data: FigureData, summary: pd.DataFrame) -> str:
    """Return the end of a sentence that names the strategies whose change has no interval; empty if all have one."""
    without = summary[(summary["strategy"] != BASELINE) & summary["change_low"].isna()]
    named = [f"{data.options['labels'].get(row.strategy, row.strategy)} (n = {row.n})" for row in without.itertuples()]
    return f"; none with fewer than {blocks.SMALLEST} blocks: {', '.join(named)}" if named else ""


def _of_how_many(data: FigureData, summary: pd.DataFrame) -> str:
    missing = f" Not measured here: {'; '.join(dict.fromkeys(data.missing))}." if data.missing else ""
    counts = summary[summary["strategy"] != BASELINE]["n"]
    if counts.empty:
        return f"No strategy has a run that counts.{missing}"
    low, high = int(counts.min()), int(counts.max())
    counted = f"n = {low}" if low == high else f"n = {low} to {high}"
    return f"{counted} runs of each strategy (profile {data.profile}).{missing}"


CHARTS = [Strategies()]
