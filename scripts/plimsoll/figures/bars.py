"""Draw groups of bars, which most charts are made of: a mean with its interval, single runs, and ratios to another cell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plimsoll.analysis import paper_tests
from plimsoll.figures import style

# Width of a group of bars, and the share of each bar's width that stays empty.
WIDTH, GAP = 0.8, 0.08
# Counts below this are drawn as single runs. A mean of 0.2 migrations with an interval says less.
SMALL_COUNT = 10
# The width of a character and the height of a line of a printed ratio, in points. The room between a bar and its ratio is a
# share of the highest value. Ratios that have no room beside each other stand above each other, up to TALLEST times the
# highest value. Where that is not enough they are printed vertically.
CHARACTER, LINE, ABOVE, TALLEST = 4.3, 7.5, 0.03, 1.9
BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5}
# More dots of single runs than this are drawn small.
MANY = 30
WHISKER = {"color": "black", "linewidth": 0.7}


@dataclass(frozen=True)
class Layout:
    """How bars are arranged: the column `x` separates groups, and the column `hue` separates the bars of a group.

    `groups` and `hues` are the values of these columns in order. `look` returns the colour and hatch of a bar from both
    values.
    """

    x: str
    groups: list[str]
    hue: str
    hues: list[str]
    look: Callable[[str, str], tuple[object, str]]

    def place(self, group: str, hue: str) -> float:
        """Return the x coordinate of the middle of a bar."""
        return self.groups.index(group) + (self.hues.index(hue) - (len(self.hues) - 1) / 2) * self.slot

    def at(self, place: float) -> tuple[str, str]:
        """Return group and hue of the bar whose middle has this x coordinate."""
        group = round(place)
        hue = round((place - group) / self.slot + (len(self.hues) - 1) / 2)
        return self.groups[group], self.hues[hue]

    @property
    def slot(self) -> float:
        """Return the width of one bar with its gap."""
        return WIDTH / len(self.hues)


def only(table: pd.DataFrame, values: dict[str, str]) -> pd.DataFrame:
    """Return the rows whose columns have these values."""
    return table[np.logical_and.reduce([table[column] == value for column, value in values.items()])]


def top(summary: pd.DataFrame) -> float:
    """Return the highest value that an axis has to show, intervals of means included; 1 if no cell has a value."""
    if not summary["n"].any():
        return 1.0
    return max(summary["maximum"].max(), summary["mean_high"].fillna(0).max()) or 1.0


def draw(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, layout: Layout, highest: float) -> None:
    """Draw the cells of `part` (rows of a summary, one per cell) and their runs, `points`.

    `highest` is the largest value that the axis has to show. Where `part` has `ratio`, `ratio_low` and `ratio_high`, a
    ratio whose interval excludes 1 is printed above its bar.
    """
    small = bool(len(points)) and (points["unit"] == "count").all() and highest < SMALL_COUNT
    if len(points):
        common = {"data": points, "x": layout.x, "y": "value", "hue": layout.hue, "order": layout.groups}
        common |= {"hue_order": layout.hues, "dodge": True, "legend": False, "ax": axis}
        if not small:
            _bars(axis, common, layout)
        _dots(axis, common, layout, small)
    rows = {layout.place(row[layout.x], row[layout.hue]): row for row in part.to_dict("records")}
    placed = {} if small else _placed(axis, rows, layout, highest)
    turned = max(placed.values(), default=0) > TALLEST * highest
    needed = 1.34 * highest if turned else max(placed.values(), default=0) + 0.1 * highest
    # Panels that share an axis have room for the ratios of each.
    beside = [one for one in axis.get_shared_y_axes().get_siblings(axis) if one is not axis and one.has_data()]
    upto = max(1.18 * highest, needed, *(one.get_ylim()[1] for one in beside))
    axis.set_ylim(0 if not small else -0.05 * highest, upto)
    for x, row in rows.items():
        if x in placed:
            _ratio(axis, x, row, highest, None if turned else placed[x])
        else:
            _text(axis, x, row, highest, small)
    axis.set(xlabel="", ylabel="", xticks=range(len(layout.groups)), xlim=(-0.55, len(layout.groups) - 0.45))
    axis.tick_params(axis="x", length=0)


def _bars(axis: Axes, common: dict, layout: Layout) -> None:
    looks = {"saturation": 1, "capsize": 0.35 * layout.slot, "err_kws": {**WHISKER, "zorder": 4}}
    sns.barplot(**common, errorbar=paper_tests.mean_interval, width=WIDTH, gap=GAP, **looks)
    for bar in axis.patches:
        colour, hatch = layout.look(*layout.at(bar.get_x() + bar.get_width() / 2))
        bar.set(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.3, zorder=2)


def _dots(axis: Axes, common: dict, layout: Layout, coloured: bool) -> None:
    before = len(axis.collections)
    looks = {"size": style.DOT, "palette": ["white"] * len(layout.hues), "edgecolor": "black", "linewidth": 0.45}
    sns.stripplot(**common, jitter=False, **looks)
    for dots in axis.collections[before:]:
        if coloured and len(dots.get_offsets()):
            # Without bars, colour says which cell the dots are of.
            dots.set(facecolor=layout.look(*layout.at(dots.get_offsets()[0][0]))[0], sizes=[1.5 * style.DOT**2])
        if len(dots.get_offsets()) > MANY:
            # Their bar and its whisker are to be seen behind them.
            dots.set(sizes=[0.25 * style.DOT**2], linewidth=0.2, alpha=0.6)
        spread(dots, 0.55 * layout.slot)


def spread(dots, width: float) -> None:
    """Put dots that stand above each other side by side, in the order of the runs. The same data give the same picture."""
    places = np.array(dots.get_offsets())
    if len(places):
        places[:, 0] += np.linspace(-0.5, 0.5, len(places)) * width if len(places) > 1 else 0
        dots.set_offsets(places)
        dots.set_zorder(5)


def _placed(axis: Axes, rows: Mapping[float, dict], layout: Layout, highest: float) -> dict[float, float]:
    """Return the height of each printed ratio by its bar's place: above all bars that it would cover."""
    wide, tall = _points(axis, layout)
    line = LINE / tall * 1.3 * highest
    heights: dict[float, float] = {}
    halves = {x: CHARACTER * len(factor(row["ratio"])) / 2 / wide for x, row in sorted(rows.items()) if _is_printed(row)}
    for x, half in halves.items():
        below = [_top(row) for place, row in rows.items() if row["n"] and abs(place - x) < half + layout.slot / 2]
        height = max(below) + ABOVE * highest
        near = sorted(heights[place] for place in heights if abs(place - x) < half + halves[place])
        for taken in near:
            height = taken + line if abs(taken - height) < line else height
        heights[x] = height
    return heights


def _points(axis: Axes, layout: Layout) -> tuple[float, float]:
    """Return about how many points a panel has for a group of bars, and for its height."""
    grid = axis.get_gridspec()
    columns, lines = (grid.ncols, grid.nrows) if grid else (1, 1)
    width, height = axis.figure.get_size_inches()
    return 72 * 0.8 * width / columns / len(layout.groups), 72 * 0.55 * height / lines


def _is_printed(row: Mapping) -> bool:
    return bool(row["n"]) and row["mean"] != 0 and excludes_one(row)


def _top(row: Mapping) -> float:
    """Return the height of a cell's bar, its whisker and its runs."""
    return max(np.nan_to_num(row["mean_high"]), row["maximum"])


def _ratio(axis: Axes, x: float, row: dict, highest: float, height: float | None) -> None:
    """Print a ratio at a height, with a line to its bar if another bar or ratio is between them; without one, vertically."""
    words = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST, "bbox": BOX, "zorder": 6}
    top = _top(row) + ABOVE * highest
    if height is None:
        axis.text(x, top, factor(row["ratio"]), rotation=90, **words)
        return
    if height > top:
        axis.plot([x, x], [top, height], color="#777777", linewidth=0.4, zorder=5)
    axis.text(x, height, factor(row["ratio"]), **words)


def _text(axis: Axes, x: float, row: dict, highest: float, small: bool) -> None:
    words = {"ha": "center", "va": "bottom", "fontsize": style.SMALLEST}
    if not row["n"]:
        axis.text(x, highest * 0.02, without_runs(row), rotation=90, **words)
    elif not small and row["mean"] == 0:
        axis.text(x, highest * 0.03, "0", **words)


def without_runs(row: Mapping) -> str:
    """Return the text in place of a cell without a run that counts. If no run was planned, the time was too short for it."""
    return "no valid run" if row.get("planned", 1) else "not in the given time"


def how_many_differ(telling: int, of: str, reference: str) -> str:
    """Return a sentence on how many of the ratios to a reference have an interval that excludes equality.

    `telling` is the number of such ratios, and `of` says of how many.
    """
    verb = "differs" if telling == 1 else "differ"
    chance = "95 % intervals: 1 in 20 by chance"
    return f"{telling or 'None'} of {of} {verb} from {reference} ({chance})."


def excludes_one(row: dict) -> bool:
    """Return whether the interval of a cell's ratio excludes 1."""
    low, high = row.get("ratio_low", np.nan), row.get("ratio_high", np.nan)
    return bool(low > 1 or high < 1)


def factor(ratio: float) -> str:
    """Return a ratio as text, as pages have it: ×0.036, ×0.10, ×2.3, ×27."""
    digits = "#.2g" if ratio < 0.095 else ".2f" if ratio < 2 else ".1f" if ratio < 10 else ".0f"
    return f"\N{MULTIPLICATION SIGN}{ratio:{digits}}"


def marks(whisker: str) -> list[Line2D]:
    """Return the legend's entries for whiskers and for dots. `whisker` says what whiskers are; dots are single runs."""
    cap = {"marker": "|", "markersize": 4, "markeredgewidth": 0.7}
    dot = {"marker": "o", "markersize": style.DOT, "markerfacecolor": "white", "markeredgecolor": "black"}
    return [
        Line2D([], [], label=f"whiskers: {whisker}", **WHISKER, **cap),
        Line2D([], [], label="single runs", linestyle="", markeredgewidth=0.45, **dot),
    ]


def scaled(summary: pd.DataFrame, points: pd.DataFrame, unit: str, by: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return (summary, points, unit) for drawing only, in a smaller unit where values would otherwise print as zeros.

    The unit becomes a thousandth, with M for G and k for M, if some panel has no value of 0.01 or more. Otherwise
    everything stays as it is. There is one panel per value of the columns `by`.
    """
    smaller = {"G": "M", "M": "k"}.get(unit[:1])
    shown = summary[summary["n"] > 0]
    if not smaller or not unit[1:2].isupper() or shown.empty or shown.groupby(by)["maximum"].max().min() >= 0.01:
        return summary, points, unit
    columns = ["mean", "median", "minimum", "maximum", "sd", "mean_low", "mean_high"]
    large = summary.assign(**{column: summary[column] * 1000 for column in columns})
    return large, points.assign(value=points["value"] * 1000), smaller + unit[1:]
