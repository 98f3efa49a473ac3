"""Chart `matrix`: who disturbs whom.

A row is what is measured, a column its partner, and a panel a case. The papers' panels stand below ours.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from plimsoll.designs.interference.charts import pairs
from plimsoll.figures import style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

# Blue is better and red is worse: colour-blind readers can tell them apart. Values beyond the ends have the end's
# colour.
COLOURS, ENDS = "RdBu", (-0.75, 0.75)
OURS, THEIRS = "interference_ratio", "paper_interference_ratio"
# A ratio is printed in white if its absolute value is larger than this, because its colour is then dark.
DARK = 0.45


class Matrix(Chart):
    """A panel of our ratios for each case with two microservices, and one of the papers' below it where they print any."""

    name = "matrix"
    notebook = "interference"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return pairs.summarise(data)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        columns = [OURS, THEIRS] if summary[THEIRS].notna().any() else [OURS]
        cases = pairs.pair_cases(summary["case"])
        size = (2 * style.COLUMN_INCHES, len(columns) * (0.22 * len(data.metrics) + 0.65) + 0.4)
        figure, axes = plt.subplots(len(columns), len(cases), figsize=size, squeeze=False, sharey=True, layout="constrained")
        for row, column in enumerate(columns):
            for axis, case in zip(axes[row], cases, strict=True):
                _panel(axis, summary[summary["case"] == case], data, column)
                axis.set_title(f"{'here' if column == OURS else 'the papers'}, {pairs.case_label(case)}", fontsize=7, pad=3)
        for axis in axes[:, 0]:
            axis.set_yticks(np.arange(len(data.metrics)) + 0.5, [_label(data, metric) for metric in data.metrics], fontsize=6.5)
        _colour_bar(figure, axes, summary[columns].to_numpy(float))
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Interference ratio in percent: row, what is measured; column, its partner. Bold: the 95 % interval does not "
            f"contain 0; grey: not measured or not printed. {pairs.interval(summary)} {pairs.sample_size(summary)} "
            f"{pairs.key(data)}{pairs.note_on_missing(summary, data)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        return f"{data.title}: interference ratios. {pairs.findings(data, summary)}"


def _label(data: FigureData, metric: str) -> str:
    """Return the name of a metric's row: letter, microservice and metric, such as "B: Bonnie++, block input"."""
    return f"{pairs.letter(data, data.options['benchmark_of'][metric])}: {pairs.metric_name(data, metric)}"


def _panel(axis: Axes, part: pd.DataFrame, data: FigureData, column: str) -> None:
    metrics, partners = list(data.metrics), list(data.options["benchmarks"])
    values = (
        part.pivot(index="metric", columns="co_runner", values=column).reindex(index=metrics, columns=partners).astype(float)
    )
    axis.set_facecolor("#e6e6e6")
    axis.grid(False)
    sns.heatmap(values, ax=axis, cmap=COLOURS, vmin=ENDS[0], vmax=ENDS[1], center=0, cbar=False)
    for row in part.itertuples():
        ratio = getattr(row, column)
        if not pairs.finite(ratio):
            continue
        sure = column == OURS and (row.ratio_low > 0 or row.ratio_high < 0)
        look = {"color": "white" if abs(ratio) > DARK else "black", "fontweight": "bold" if sure else "normal"}
        place = partners.index(row.co_runner) + 0.5, metrics.index(row.metric) + 0.5
        axis.text(*place, f"{round(100 * ratio):+d}", ha="center", va="center", fontsize=style.SMALLEST, **look)
    axis.set(xlabel="", ylabel="")
    axis.set_xticks(
        np.arange(len(partners)) + 0.5, [f"+{pairs.letter(data, name)}" for name in partners], fontsize=6.5, rotation=0
    )
    axis.tick_params(length=0)


def _colour_bar(figure: Figure, axes: np.ndarray, values: np.ndarray) -> None:
    """Draw the colour bar. An end is pointed if a value lies beyond it."""
    low, high = np.nanmin(values, initial=0) < ENDS[0], np.nanmax(values, initial=0) > ENDS[1]
    extend = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}[
        bool(low), bool(high)
    ]
    where = {"location": "bottom", "shrink": 0.5, "aspect": 45, "pad": 0.03, "extend": extend}
    bar = figure.colorbar(axes[0, 0].collections[0], ax=axes, **where)
    bar.outline.set_linewidth(0.4)
    bar.set_label("interference ratio (below 0: worse than alone)", fontsize=6.8)
    bar.ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


CHARTS = [Matrix()]
