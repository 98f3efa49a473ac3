"""Effects of a factorial design, which li2018 names as future work: of single strategies, and of pairs (interactions)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.designs.tuning import statistics
from plimsoll.designs.tuning.factors import BASELINE
from plimsoll.designs.tuning.strategies import parts
from plimsoll.figures import bars, findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

MAIN, TOGETHER = {"marker": "o", "color": "#0072b2"}, {"marker": "D", "color": "#999999"}


class Effects(Chart):
    """Points with intervals: one panel per metric, one row per effect."""

    name = "effects"
    notebook = "tuning"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        own = data.observations[data.observations["metric"].isin(data.metrics)]
        return statistics.effects(own, data.options["factors"])

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        names = list(dict.fromkeys(summary["effect"]))
        size = (style.COLUMN_INCHES, 0.9 + 0.24 * max(3, len(names)))
        figure, panels = plt.subplots(1, len(data.metrics), figsize=size, layout="constrained", sharey=True, squeeze=False)
        for axis, (metric, described) in zip(panels[0], data.metrics.items(), strict=True):
            for row in summary[summary["metric"] == metric].itertuples():
                place, look = names.index(row.effect), MAIN if row.factors == 1 else TOGETHER
                axis.hlines(place, 100 * row.change_low, 100 * row.change_high, zorder=3, **bars.WHISKER)
                axis.plot([100 * row.change], [place], linestyle="", markersize=4, zorder=4, **look)
            axis.axvline(0, color="black", linewidth=0.7)
            axis.set_xlabel("change (%)", fontsize=7)
            style.say_better(axis, described["better"])
            axis.set_title(described["label"].split(",")[0], loc="left", fontsize=6.5, pad=2)
            axis.grid(axis="x")
            axis.grid(False, axis="y")
        labels = [" and ".join(data.options["labels"].get(part, part) for part in parts(name)) for name in names]
        panels[0][0].set_yticks(range(len(names)), labels)
        panels[0][0].set_ylim(max(1, len(names)) - 0.4, -0.6)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        if summary.empty:
            return "Too few runs count for the effects of a factorial design."
        n, degrees = int(summary["n"].max()), int(summary["degrees"].min())
        return (
            f"Full factorial of {len(data.options['factors'])} strategies on the small data. Circles: main effects, how much a "
            "strategy changes the mean over all settings of the others. Diamonds: interactions, how much more two strategies "
            "change it together than each alone would let expect; 0 means no interaction. Lines: 95 % intervals of a linear "
            f"model of logarithms with a term for each block (n = {n} runs, of each combination {_runs(data)}; {degrees} "
            f"residual degrees of freedom; profile {data.profile})."
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        metric, described = next(iter(data.metrics.items()))
        own = summary[(summary["metric"] == metric) & (summary["factors"] == 1)]
        changes = [
            findings.Change(data.options["labels"].get(row.effect, row.effect), row.change, row.change_low, row.change_high)
            for row in own.itertuples()
        ]
        return f"{data.title}: main effects on {described['label'].lower()}. {findings.farthest(changes, 'no effect')}"


def _runs(data: FigureData) -> str:
    """Return the least and the most runs of a combination of strategies, as text."""
    first = next(iter(data.metrics))
    own = data.observations[data.observations["metric"] == first].groupby("strategy").size()
    own = own[[set(parts(name)) <= {BASELINE, *data.options["factors"]} for name in own.index]]
    return f"{own.min()}" if own.min() == own.max() else f"{own.min()} to {own.max()}"


CHARTS = [Effects()]
