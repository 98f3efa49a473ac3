"""Chart `ratios`: interference ratios of a microservice beside each other one.

It draws jha2021's figures 6, 8, 10, 11 and 13, and jha2018's figures 5 and 6.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from plimsoll.designs.interference.charts import pairs
from plimsoll.figures import bars, style
from plimsoll.figures.chart import Chart
from plimsoll.figures.data import FigureData

MARK = {"linestyle": "", "markersize": 3.6}
OPEN = {"markerfacecolor": "white", "markeredgewidth": 0.7, "markersize": 3.2}


class Ratios(Chart):
    """Ratios with their intervals, one marker per metric. Open markers beside them are the papers' ratios."""

    name = "ratios"
    notebook = "interference"

    def summarise(self, data: FigureData) -> pd.DataFrame:
        return pairs.summarise(data)

    def draw(self, data: FigureData, summary: pd.DataFrame) -> Figure:
        style.apply()
        figure, axis = plt.subplots(figsize=(2 * style.COLUMN_INCHES, 2.7), layout="constrained")
        two = summary[summary["case"] != pairs.ALONE]
        # Two microservices may share a figure (TCP_STREAM and TCP_RR). So a place on the axis is a case and a
        # co-runner.
        keys = two[["case", "co_runner"]].drop_duplicates().reset_index(drop=True)
        gaps = 0.9 * (keys["case"] != keys["case"].shift()).cumsum()
        place = {(row.case, row.co_runner): row.Index + gaps[row.Index] for row in keys.itertuples()}
        width = 0.75 / len(data.metrics)
        for number, metric in enumerate(data.metrics):
            shift = (number - (len(data.metrics) - 1) / 2) * width
            for row in two[two["metric"] == metric].itertuples():
                _point(axis, place[row.case, row.co_runner] + shift, row, _look(number), width)
        _finish(axis, keys, place, data, summary)
        figure.legend(handles=_legend(data, two), loc="outside upper center", ncols=6, frameon=False)
        return figure

    def caption(self, data: FigureData, summary: pd.DataFrame) -> str:
        return (
            "Interference ratio (equation 1): how much better or worse than alone, as a share of it, whichever way is better. "
            f"{pairs.interval(summary)} {pairs.sample_size(summary)} {pairs.key(data)}"
            f"{pairs.note_on_missing(summary, data)}"
        )

    def alternative(self, data: FigureData, summary: pd.DataFrame) -> str:
        return f"{data.title}. {pairs.findings(data, summary)}"


def _look(number: int) -> tuple[str, str]:
    """Return (marker, shade) of the metric with this number. If there are more metrics than markers, these repeat."""
    return pairs.MARKERS[number % len(pairs.MARKERS)], [*pairs.SHADES, *style.FALLBACK][number % 12]


def _point(axis: Axes, x: float, row, look: tuple[str, str], width: float) -> None:
    marker, shade = look
    if pairs.finite(row.interference_ratio):
        axis.plot(x, row.interference_ratio, marker, color=shade, zorder=4, **MARK)
        if pairs.finite(row.ratio_low, row.ratio_high):
            axis.plot([x, x], [row.ratio_low, row.ratio_high], color=shade, linewidth=0.8, zorder=3)
    if pairs.finite(row.paper_interference_ratio):
        paper = {"markeredgecolor": shade, "label": f"{row.label}, the paper", "zorder": 2, **OPEN}
        axis.plot(x + 0.35 * width, row.paper_interference_ratio, marker, **paper)


def _legend(data: FigureData, two: pd.DataFrame) -> list[Line2D]:
    handles = []
    for number, described in enumerate(data.metrics.values()):
        marker, shade = _look(number)
        handles.append(Line2D([], [], marker=marker, color=shade, label=described["label"], **MARK))
    if two["ratio_low"].notna().any():
        handles.append(bars.marks("95 % interval")[0])
    if two["paper_interference_ratio"].notna().any():
        handles.append(Line2D([], [], linestyle="", marker="o", label="open: the paper", markeredgecolor="#555555", **OPEN))
    return handles


def _finish(axis: Axes, keys: pd.DataFrame, place: dict, data: FigureData, summary: pd.DataFrame) -> None:
    axis.axhline(0, color="black", linewidth=0.6, zorder=1)
    columns = ["interference_ratio", "ratio_low", "ratio_high", "paper_interference_ratio"]
    values = summary[columns].to_numpy(float)
    bottom, top = np.nanmin(values, initial=-0.1), np.nanmax(values, initial=0.1)
    margin = 0.08 * (top - bottom)
    axis.set_ylim(bottom - margin, top + margin)
    for case, group in keys.groupby("case", sort=False):
        places = [place[case, other] for other in group["co_runner"]]
        axis.axvspan(min(places) - 0.6, max(places) + 0.6, color="#f2f2f2", zorder=0, linewidth=0)
        # The case's name stands above the panel, where no grid line crosses it.
        words = {"ha": "center", "va": "bottom", "fontsize": 6.8, "transform": axis.get_xaxis_transform()}
        axis.text(np.mean(places), 1.01, pairs.case_label(case), **words)
    names = [f"+{pairs.letter(data, other)}" for other in keys["co_runner"]]
    axis.set_xticks([place[key] for key in keys.itertuples(index=False, name=None)], names)
    axis.tick_params(axis="x", length=0)
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.set_ylabel("interference ratio\n(below 0: worse than alone)")


CHARTS = [Ratios()]
