"""Lines over numbers of instances, as in the charts of this design: means with intervals, and single runs."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from plimsoll.figures import bars, drawn_values, findings, style
from plimsoll.figures.data import FigureData

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
OF_PAPER = {"linestyle": "--", "linewidth": 0.6, "markerfacecolor": "white", "markersize": 2.6, "alpha": 0.55}
OF_PAPER |= drawn_values.NO_INTERVAL
# Style of a line that shows a part of what another line shows.
OF_PART = {"linestyle": ":", "linewidth": 1.1}
# Lines are shifted from each other by this factor, so that none hides another.
BESIDE = 1.06
GREY = "#777777"


def draw(axis: Axes, part: pd.DataFrame, points: pd.DataFrame, x: str, look: style.Look, marker: str, beside: float) -> Line2D:
    """Draw a line of means over the column `x`, with intervals and single runs. Return the line, for a legend.

    `part` has the means (rows of `statistics.of_cells`), and `points` the single runs. Everything is shifted to the
    right by `beside` steps.
    """
    colour, shift = look.colour, BESIDE**beside
    part = part.assign(place=shift * part[x].astype(int)).sort_values("place")
    looks = {"color": colour, "linewidth": 1.1, "marker": marker, "markersize": 3.6, "zorder": 4, "label": look.label}
    (line,) = axis.plot(part["place"], part["mean"], **looks)
    known = part.dropna(subset=["mean_low", "mean_high"])
    axis.vlines(known["place"], known["mean_low"].clip(lower=0), known["mean_high"], color=colour, linewidth=0.9, zorder=3)
    places = shift * points[x].astype(int)
    axis.plot(places, points["value"], ".", color=colour, markersize=2.2, alpha=0.45, zorder=2)
    return line


def part(axis: Axes, rows: pd.DataFrame, x: str, colour, beside: float, label: str) -> None:
    """Draw the means of a part of another line's values, as a dotted line in that line's colour."""
    rows = rows.assign(place=BESIDE**beside * rows[x].astype(int)).sort_values("place")
    axis.plot(rows["place"], rows["mean"], color=colour, zorder=3, marker="_", markersize=5, label=label, **OF_PART)


def paper_means(axis: Axes, rows: list[dict], x: str, colour, marker: str, label: str) -> None:
    """Draw the paper's means over the key `x` as a broken line."""
    rows = sorted(rows, key=lambda row: row[x])
    looks = {**OF_PAPER, "color": colour, "marker": marker, "label": label}
    axis.plot([row[x] for row in rows], [row["mean"] for row in rows], **looks)


def finish(axis: Axes, x_label: str, y_label: str, places: list[int], linear: bool = False) -> None:
    """Scale both axes by powers of two, with plain numbers, and label them.

    With `linear`, the ordinate is linear and begins at 0.
    """
    axis.set_xscale("log", base=2)
    axis.set_xticks(places, [str(place) for place in places])
    axis.xaxis.set_minor_locator(NullLocator())
    if linear:
        axis.set_ylim(bottom=0)
    else:
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel=x_label, ylabel=y_label)


def places(*numbers) -> list[int]:
    """Return the positions of an axis's ticks: all numbers that are drawn, sorted."""
    return sorted({int(number) for group in numbers for number in group})


def cores(axis: Axes, number: int) -> None:
    """Mark the number of the host's cores."""
    axis.axvline(number, color=GREY, linewidth=0.7, linestyle=":", zorder=1)


def marks(whisker: str, cores: int | None = None, paper: bool = False) -> list[Line2D]:
    """Return legend entries for whiskers, dots, the line at the number of `cores`, and the `paper`'s broken lines."""
    handles = [
        Line2D([], [], color="black", linewidth=0.9, marker="|", markersize=5, linestyle="", label=f"whiskers: {whisker}"),
        Line2D([], [], color="black", marker=".", markersize=3, alpha=0.5, linestyle="", label="single runs"),
    ]
    if cores:
        label = f"cores of this host: {cores}"
        handles.append(Line2D([], [], color=GREY, linewidth=0.7, linestyle=":", label=label))
    if paper:
        handles.append(Line2D([], [], color=GREY, label="broken: the paper", **{**OF_PAPER, "marker": "o"}))
    return handles


def of_how_many(data: FigureData, summary: pd.DataFrame) -> str:
    """Return a caption's sentences on the runs per mean, the whiskers, and the cells that could not be measured."""
    numbers = sorted(set(summary["n"].astype(int))) if len(summary) else [0]
    each = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    text = f"Means of {each} runs (profile {data.profile}), with Student's 95 % interval; dots are single runs."
    missing = sorted({reason.partition(": ")[2] for reason in data.missing})
    return text + (f" Not measured here: {'; '.join(missing)}." if missing else "")


def comparison(each: dict[str, pd.DataFrame], x: str) -> str:
    """Return which of several named lines of means grow most and least over the column `x`.

    The last sentence says which line is farthest from the first one at the smallest number.
    """
    columns = {name: own.groupby(own[x].astype(int))["mean"].first() for name, own in each.items()}
    table = pd.DataFrame(columns, dtype=float)
    table = table.where(table > 0).dropna(how="all").sort_index()
    if table.empty:
        return findings.NOTHING
    lines = {name: table[name].dropna() for name in table}
    growths = {
        f"{name}, from {line.index[0]} to {line.index[-1]}": line.iloc[-1] / line.iloc[0]
        for name, line in lines.items()
        if len(line) > 1
    }
    return " ".join(filter(None, (findings.extremes("Grows", growths), _farthest_at_first(table)))) or findings.NOTHING


def _farthest_at_first(table: pd.DataFrame) -> str:
    """Return which column is farthest from the first one in the first row; empty if that row has a single mean."""
    means = table.iloc[0].dropna()
    ratios = means.iloc[1:] / means.iloc[0]
    if ratios.empty:
        return ""
    name = np.log(ratios).abs().idxmax()
    return f"At {table.index[0]}, farthest from {means.index[0]}: {name} ({bars.factor(ratios[name])})."
