"""Groups of bars, which most charts are made of: a mean with its interval, the single runs, and how a cell compares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plimsoll.analysis import paper_tests
from plimsoll.figures import style

# Width of a group of bars, and the part of each bar's share that stays empty.
WIDTH, GAP = 0.8, 0.08
# Counts below this are shown as single runs: a mean of a fifth of a migration, with an interval, says less.
SMALL_COUNT = 10
# Width of a printed ratio, in points: with less room than this per bar it is turned.
ROOM = 17.0
BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5}
WHISKER = {"color": "black", "linewidth": 0.7}


@dataclass(frozen=True)
class Layout:
    """The column of the data that tells groups apart, the column that tells the bars of a group apart, the values of both in
    order, and the colour and hatch of a bar by both values."""

    x: str
    groups: list[str]
    hue: str
    hues: list[str]
    look: Callable[[str, str], tuple[object, str]]

    def place(self, group: str, hue: str) -> float:
        """Where the middle of a bar is."""
        return self.groups.index(group) + (self.hues.index(hue) - (len(self.hues) - 1) / 2) * self.slot

    def look_at(self, place: float) -> tuple[object, str]:
        """The look of the bar with its middle at this place."""
        group = round(place)
        hue = round((place - group) / self.slot + (len(self.hues) - 1) / 2)
        return self.look(self.groups[group], self.hues[hue])

    @property
    def slot(self) -> float:
        """Width of one bar with its gap."""
        return WIDTH / len(self.hues)


def only(table: pd.DataFrame, values: dict[str, str]) -> pd.DataFrame:
    """Rows whose columns have these values."""
    return table[np.logical_and.reduce([table[column] == value for column, value in values.items()])]


def top(summary: pd.DataFrame) -> float:
    """The highest value, mean's interval included, that an axis has to show; 1 if there is none."""
    if not summary["n"].any():
        return 1.0
    return max(summary["maximum"].max(), summary["mean_high"].fillna(0).max()) or 1.0


def draw(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, layout: Layout, highest: float) -> None:
    """Draw the cells of `part` (one row each, of a summary) and their runs, `points`. `highest` is what the axis has to show.

    Where `part` has `ratio`, `ratio_low` and `ratio_high`, a ratio whose interval leaves out 1 is printed above its bar.
    """
    small = bool(len(points)) and (points["unit"] == "count").all() and highest < SMALL_COUNT
    if len(points):
        common = {"data": points, "x": layout.x, "y": "value", "hue": layout.hue, "order": layout.groups}
        common |= {"hue_order": layout.hues, "dodge": True, "legend": False, "ax": axis}
        if not small:
            _bars(axis, common, layout)
        _dots(axis, common, layout, small)
    turned = _room(axis, layout) < ROOM
    axis.set_ylim(0 if not small else -0.05 * highest, highest * (1.34 if turned else 1.18))
    for row in part.to_dict("records"):
        _text(axis, layout.place(row[layout.x], row[layout.hue]), row, highest, turned, small)
    axis.set(xlabel="", ylabel="", xticks=range(len(layout.groups)), xlim=(-0.55, len(layout.groups) - 0.45))
    axis.tick_params(axis="x", length=0)


def _bars(axis: Axes, common: dict, layout: Layout) -> None:
    looks = {"saturation": 1, "capsize": 0.35 * layout.slot, "err_kws": {**WHISKER, "zorder": 4}}
    sns.barplot(**common, errorbar=paper_tests.mean_interval, width=WIDTH, gap=GAP, **looks)
    for bar in axis.patches:
        colour, hatch = layout.look_at(bar.get_x() + bar.get_width() / 2)
        bar.set(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.3, zorder=2)


def _dots(axis: Axes, common: dict, layout: Layout, coloured: bool) -> None:
    before = len(axis.collections)
    looks = {"size": style.DOT, "palette": ["white"] * len(layout.hues), "edgecolor": "black", "linewidth": 0.45}
    sns.stripplot(**common, jitter=False, **looks)
    for dots in axis.collections[before:]:
        if coloured and len(dots.get_offsets()):
            # There are no bars to tell whose the dots are.
            dots.set(facecolor=layout.look_at(dots.get_offsets()[0][0])[0], sizes=[1.5 * style.DOT**2])
        spread(dots, 0.55 * layout.slot)


def spread(dots, width: float) -> None:
    """Put dots that stand above each other side by side, in the order of the runs: the same data give the same picture."""
    places = np.array(dots.get_offsets())
    if len(places):
        places[:, 0] += np.linspace(-0.5, 0.5, len(places)) * width if len(places) > 1 else 0
        dots.set_offsets(places)
        dots.set_zorder(5)


def _room(axis: Axes, layout: Layout) -> float:
    """Points of width that a bar has."""
    columns = axis.get_gridspec().ncols if axis.get_gridspec() else 1
    return 72 * 0.8 * axis.figure.get_figwidth() / columns / len(layout.groups) * layout.slot


def _text(axis: Axes, x: float, row: dict, highest: float, turned: bool, small: bool) -> None:
    words = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST}
    if not row["n"]:
        axis.text(x, highest * 0.02, without_runs(row), rotation=90, **words)
    elif small:
        return
    elif row["mean"] == 0:
        axis.text(x, highest * 0.03, "0", **words)
    elif excludes_one(row):
        height = max(np.nan_to_num(row["mean_high"]), row["maximum"]) + 0.045 * highest
        axis.text(x, height, factor(row["ratio"]), rotation=90 if turned else 0, bbox=BOX, zorder=6, **words)


def without_runs(row: Mapping) -> str:
    """Return what stands in the place of a cell of which no run counts. Where none is planned, there was no time for it."""
    return "no valid run" if row.get("planned", 1) else "not in the given time"


def how_many_differ(telling: int, of: str, reference: str) -> str:
    """A sentence: how many of the ratios to a reference have an interval that leaves out equality. `of` says of how many."""
    verb = "differs" if telling == 1 else "differ"
    chance = "95 % interval of each ratio; by chance 1 in 20 would"
    return f"{telling or 'None'} of {of} {verb} from {reference} ({chance})."


def excludes_one(row: dict) -> bool:
    """Whether the interval of a cell's ratio leaves out 1."""
    low, high = row.get("ratio_low", np.nan), row.get("ratio_high", np.nan)
    return bool(low > 1 or high < 1)


def factor(ratio: float) -> str:
    """A ratio for people: 0.10x, 2.3x, 27x."""
    return f"{ratio:.2f}x" if ratio < 2 else f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def marks(whisker: str) -> list[Line2D]:
    """Entries of a legend: what whiskers are, in words, and what dots are."""
    cap = {"marker": "|", "markersize": 4, "markeredgewidth": 0.7}
    dot = {"marker": "o", "markersize": style.DOT, "markerfacecolor": "white", "markeredgecolor": "black"}
    return [
        Line2D([], [], label=f"whiskers: {whisker}", **WHISKER, **cap),
        Line2D([], [], label="single runs", linestyle="", markeredgewidth=0.45, **dot),
    ]


def scaled(summary: pd.DataFrame, points: pd.DataFrame, unit: str, by: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """(summary, points, unit) for drawing only: in thousandths of the unit, named by its prefix, where a panel would otherwise
    show nothing but zeros behind the point, and unchanged elsewhere. There is one panel per value of the columns `by`."""
    smaller = {"G": "M", "M": "k"}.get(unit[:1])
    shown = summary[summary["n"] > 0]
    if not smaller or not unit[1:2].isupper() or shown.empty or shown.groupby(by)["maximum"].max().min() >= 0.01:
        return summary, points, unit
    columns = ["mean", "median", "minimum", "maximum", "sd", "mean_low", "mean_high"]
    large = summary.assign(**{column: summary[column] * 1000 for column in columns})
    return large, points.assign(value=points["value"] * 1000), smaller + unit[1:]
