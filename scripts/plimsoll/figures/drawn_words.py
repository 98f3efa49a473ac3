"""Read from a figure what a reader sees of a value: panel, series, category and unit.

They come from titles, legends, ticks and axes. Where these do not say it, a chart sets `label`. A panel's label replaces its
title, a line's label is its series, and a bar's label names it in place of legend and tick.
"""

import re

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryLocator
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, PercentFormatter

# A unit at the end of an axis' label, or in place of one.
UNIT, NOT_UNITS = re.compile(r" ?\((%[^()]*|[^\s()]+)\)$|^(\S+/s)$"), ("count", "logarithmic", "ratio")


def of_panel(panel: Axes, along: str, unit: str) -> tuple[str, str, float]:
    """Return a panel's name, the unit of its values, and the factor with which its axis prints them.

    A panel without label and title is named by the axis `along` which its values lie. If that names no unit, it is `unit`.
    """
    text, formatter = _axis_label(panel, along), getattr(panel, f"{along}axis").get_major_formatter()
    found = UNIT.search(text)
    titles = " ".join(panel.get_title(loc=place) for place in ("left", "center", "right"))
    name = label(panel) or _plain(titles) or UNIT.sub("", text)
    if isinstance(formatter, PercentFormatter):
        return name, "%", 100 / formatter.xmax
    if found:
        unit = found[1] or found[2]
    return name, "" if unit in NOT_UNITS else unit, 1.0


def of_mark(panel: Axes, artist: Artist, across: str, place: float) -> tuple[str, ...]:
    """Return series and category of a bar or a point, which has its `place` on the axis `across`; a bar's label alone."""
    if isinstance(artist, Patch) and label(artist):
        return (label(artist),)
    axis, tick = getattr(panel, f"{across}axis"), f"{place:.3g}"
    if has_names(axis):
        ticks = axis.get_majorticklocs()
        *scaled, middle = axis.get_transform().transform(np.append(ticks, place))
        tick = axis.get_major_formatter().format_ticks(ticks)[np.argmin(np.abs(np.array(scaled) - middle))]
    return series(panel, artist), _plain(f"{_axis_label(panel, across)} {tick}")


def has_names(axis: Axis) -> bool:
    """Return whether the ticks of an axis are names of categories."""
    return isinstance(axis.get_major_locator(), (FixedLocator, StrCategoryLocator)) and len(axis.get_majorticklocs()) > 0


def series(panel: Axes, artist: Artist) -> str:
    """Return an artist's label, or the only text of the legend that has its look, or else its colour."""
    colour, shape = _look(artist)
    alike = [(text, look[1]) for handle, text in legend(panel) if (look := _look(handle))[0] == colour]
    texts = {text for text, other in alike if other == shape} or {text for text, _ in alike}
    return label(artist) or (texts.pop() if len(texts) == 1 else "")


def legend(panel: Axes) -> list[tuple[Artist, str]]:
    """Return (handle, text) of each entry of the legends of a panel and its figure."""
    legends = filter(None, [*panel.figure.legends, panel.get_legend()])
    pairs = [zip(one.legend_handles, one.get_texts(), strict=False) for one in legends]
    return [(handle, _plain(text.get_text())) for entries in pairs for handle, text in entries]


def label(artist: Artist) -> str:
    """Return the label that a chart has set; empty if there is only one of Matplotlib's own."""
    return "" if artist.get_label().startswith("_") else _plain(artist.get_label())


def _look(artist: Artist) -> tuple:
    """Return colour and shape."""
    if isinstance(artist, Line2D):
        return to_hex(artist.get_markeredgecolor()), (artist.get_marker(), to_hex(artist.get_markerfacecolor()))
    if isinstance(artist, Patch):
        return to_hex(artist.get_facecolor()), artist.get_hatch() or ""
    return next(map(to_hex, artist.get_facecolor()), ""), None


def _axis_label(panel: Axes, which: str) -> str:
    """Return the label of the axis x or y. Panels beside each other may have it once."""
    every = (getattr(one, f"{which}axis").get_label_text() for one in (panel, *panel.figure.axes))
    return _plain(next(filter(None, every), ""))


def _plain(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.replace("-\n", "-").split())
