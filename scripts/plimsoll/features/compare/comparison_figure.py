"""Draw the figure of two sets of results: every ratio of B to A with its interval, sorted, one panel per metric."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from plimsoll.features.compare.two_sets import BETTER, DIFFERENT, HIGHER, WORSE
from plimsoll.figures import style

COLUMNS, PANEL_INCHES = 3, 1.9
# Intervals are cut off at this factor, up and down. With few blocks they may be wider than any page.
FARTHEST = 32.0
# A panel whose intervals span a smaller factor than this has evenly spaced ticks.
CLOSE = 6.0


def draw(rows: pd.DataFrame, margin: float) -> Figure | None:
    """Draw rows with `label`, `runtime`, `better`, `ratio`, `low`, `high` and `answer`.

    The band is the margin within which sets are alike. Return None if no ratio has an interval.
    """
    known = rows[rows["low"].notna()]
    if known.empty:
        return None
    style.apply()
    labels = list(dict.fromkeys(known["label"]))
    across = min(COLUMNS, len(labels))
    down = math.ceil(len(labels) / across)
    size = (max(2, across) * style.COLUMN_INCHES * 0.7, 0.6 + down * PANEL_INCHES)
    # Made without pyplot, which keeps every figure and asks for a display.
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    looks = style.looks(known["runtime"])
    for axis, label in zip(axes.flat, labels, strict=False):
        _panel(axis, label, known[known["label"] == label], looks, margin)
    for axis in axes.flat[len(labels) :]:
        axis.set_axis_off()
    style.legend_below(figure, style.patches(style.Look(look.colour, "", look.label) for look in looks.values()), ncols=3)
    return figure


def _panel(axis: Axes, label: str, own: pd.DataFrame, looks: dict[str, style.Look], margin: float) -> None:
    rows = own.sort_values("ratio", kind="stable").reset_index(drop=True)
    low, high = (rows[end].clip(1 / FARTHEST, FARTHEST) for end in ("low", "high"))
    colours = [looks[name].colour for name in rows["runtime"]]
    axis.axvspan(1 / (1 + margin), 1 + margin, color="#e4e4e4", zorder=0)
    axis.axvline(1, color="black", linewidth=0.6, zorder=1)
    width = min(1.6, 40 / len(rows))
    axis.hlines(rows.index, low, high, colors=colours, linewidth=width, zorder=2)
    changed = rows["answer"].isin((BETTER, WORSE, DIFFERENT)).to_numpy()
    sizes = np.where(changed, 2.2 * style.DOT, style.DOT) * max(0.5, min(1.5, width))
    edges = ["black" if own_edge else colour for own_edge, colour in zip(changed, colours, strict=True)]
    axis.scatter(rows["ratio"], rows.index, s=sizes**1.5, c=colours, edgecolors=edges, linewidths=0.5, zorder=3)
    axis.set_xscale("log")
    _ticks(axis, float(low.min()), float(high.max()))
    axis.set_yticks([])
    axis.grid(False)
    better = "right" if rows["better"].iloc[0] == HIGHER else "left"
    axis.set_title(f"{label}\n({better}: better in B)", fontsize=style.SMALLEST + 0.5)


def _ticks(axis: Axes, low: float, high: float) -> None:
    """Put a few plain numbers on a logarithmic axis."""
    close = high / low < CLOSE
    axis.xaxis.set_major_locator(MaxNLocator(5) if close else LogLocator(base=10, subs=(1, 2, 5), numticks=5))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="x", labelsize=style.SMALLEST)


def caption(margin: float) -> str:
    """Return how to read the figure."""
    return (
        "Ratio of B to A of each cell, with its 95 % interval, sorted; one panel per metric, on a logarithmic axis. The grey "
        f"band is the margin of {100 * margin:g} %. Large dots with a black edge are better or worse (between two machines: "
        f"different), with p adjusted for the number of comparisons. Intervals are cut off at a factor of {FARTHEST:g}."
    )


def alternative(rows: pd.DataFrame) -> str:
    """Return a text for readers who cannot see the figure: the range of the ratios of each metric."""
    told = [
        f"{label}: {own['ratio'].min():.2g} to {own['ratio'].max():.2g}"
        for label, own in rows[rows["low"].notna()].groupby("label", sort=False)
    ]
    return f"Ratios of B to A with intervals, by metric. They reach, {'; '.join(told)}."
