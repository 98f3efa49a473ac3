"""The ladder of a program: what each engine's default costs, what each step does, and what an option gives back."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from plimsoll.designs.program import effects, words
from plimsoll.designs.program.factors import FIRST, REMEDY
from plimsoll.figures import bars, findings, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

LOOKS = {FIRST: {"marker": "o", "color": "#0072b2"}, REMEDY: {"marker": "D", "color": "#009e73"}}
STEP = {"marker": "s", "color": "#d55e00"}


class Ladder(Chart):
    """Points with intervals, one row per comparison: changes of one metric."""

    name = "ladder"
    notebook = "program"
    metrics = "one"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        own = data.observations[data.observations["metric"].isin(data.metrics)]
        made = effects.table(own)
        return made.assign(label=[_label(row) for row in made.itertuples()])

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        size = (2 * style.COLUMN_INCHES, 0.8 + 0.24 * max(3, len(summary)))
        figure, axis = plt.subplots(figsize=size, layout="constrained")
        for place, row in enumerate(summary.itertuples()):
            look = LOOKS.get(row.stage, STEP)
            if row.low == row.low:
                axis.hlines(place, 100 * row.low, 100 * row.high, zorder=3, **bars.WHISKER)
            axis.plot([100 * row.change], [place], linestyle="", markersize=4, zorder=4, **look)
        axis.axvline(0, color="black", linewidth=0.7)
        described = next(iter(data.metrics.values()))
        axis.set_xlabel(f"change of {described['label']} (%)", fontsize=7)
        axis.set_yticks(range(len(summary)), summary["label"], fontsize=style.SMALLEST)
        axis.set_ylim(max(1, len(summary)) - 0.4, -0.6)
        axis.grid(axis="x")
        axis.grid(False, axis="y")
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        described = next(iter(data.metrics.values()))
        return (
            f"Change of {described['label']} ({described['better']} is better), with 95 % intervals of ratios within blocks. "
            "Circles: the image's files, and defaults of runtimes. Squares: each step beside the one before it. Diamonds: a "
            f"default with one option, beside the default. {int(summary['n'].min())} to {int(summary['n'].max())} blocks."
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        changes = [findings.Change(row.label, row.change, row.low, row.high) for row in summary.itertuples()]
        return f"{data.title}. {findings.farthest(changes, 'no change')}"


def _label(row) -> str:
    name = words.level("runtime", row.runtime)
    if row.stage == FIRST:
        return f"{name} against {words.level('runtime', row.against)}"
    return f"{words.level('runtime', row.default)} {'with' if row.stage == REMEDY else '+'} {row.adds}"


CHARTS = [Ladder()]
