"""Read from a saved figure which values it shows, where each stands in the picture, and what a reader sees of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox

from plimsoll.figures import drawn_words, style

ENDING = ".values.json"
# The values of a figure that has more are not shown. They would cover each other, and take more than 60 kB of a page.
MOST = 300
# NO_VALUE: keywords of a point that is a sign. NO_INTERVAL: keywords of a whisker that ends before its interval does. A point
# that may stand on the whisker of another one has them too.
NO_VALUE, NO_INTERVAL = {"gid": "no value"}, {"gid": "no interval"}
# Half the size of a point in pixels.
HALF = style.DPI / 24
# What a line without markers has as its marker, and one without a line as its style.
WITHOUT = ("", " ", "None", "none", None)


class Mark(NamedTuple):
    """A bar or a point with its `box` in pixels. Its `value` lies along the axis x or y, and its `place` on the other one.

    `end` is where a whisker crosses it, or NaN if it can have none.
    """

    artist: Artist
    along: str
    place: float
    value: float
    end: float
    box: Bbox


def write(figure: Figure, stem: str | Path, unit: str = "") -> None:
    """Write <stem>.values.json of a figure that was saved. `unit` is for values whose axis names none."""
    Path(f"{stem}{ENDING}").write_text(json.dumps(collect(figure, unit), separators=(",", ":")) + "\n")


def collect(figure: Figure, unit: str = "") -> list[dict]:
    """Return the values of a figure that was saved, in each panel bars before points.

    `x`, `y` (of the middle, from the top), `width` and `height` are fractions of the picture. `words` are panel, series and
    category. `low` and `high` are the ends of the interval, or None.
    """
    before, figure.dpi = figure.dpi, style.DPI
    try:
        saved = Bbox(figure.get_tightbbox().padded(rcParams["savefig.pad_inches"]).get_points() * style.DPI)
        panels = [panel for panel in figure.axes if panel.axison and panel.get_label() != "<colorbar>"]
        found = [one for panel in panels for one in _of_panel(panel, saved, unit, len(panels) > 1)]
    finally:
        figure.dpi = before
    once = list({str(one): one for one in found}.values())
    return once if len(once) <= MOST else []


def _of_panel(panel: Axes, saved: Bbox, given: str, several: bool) -> Iterator[dict]:
    """Yield the values of a panel. Its name is part of them if there are several."""
    whiskers = {along: _whiskers(panel, along) for along in "xy"}
    bars = list(_bars(panel))
    for mark in [*bars, *_points(panel, bool(bars))]:
        box = Bbox.intersection(mark.box, panel.bbox) if np.isfinite(mark.value) else None
        if box is None:
            continue
        name, unit, factor = drawn_words.of_panel(panel, mark.along, given)
        across = "y" if mark.along == "x" else "x"
        words = (name if several else "", *drawn_words.of_mark(panel, mark.artist, across, mark.place))
        near = (ends for place, *ends in whiskers[mark.along] if np.isclose(place, mark.place, atol=1e-6))
        low, high = next((ends for ends in near if ends[0] <= mark.end <= ends[1]), (None, None))
        numbers = {"value": mark.value, "low": low, "high": high}
        yield {
            "x": round((box.x0 + box.x1 - 2 * saved.x0) / 2 / saved.width, 4),
            "y": round((2 * saved.y1 - box.y0 - box.y1) / 2 / saved.height, 4),
            "width": round(box.width / saved.width, 4),
            "height": round(box.height / saved.height, 4),
            "words": list(dict.fromkeys(filter(None, words))),
            **{key: None if number is None else float(f"{factor * number:.6g}") for key, number in numbers.items()},
            "unit": unit,
        }


def _bars(panel: Axes) -> Iterator[Mark]:
    """Yield the bars. If a legend names bars, one without a name is a background. Bars in a stack have no whiskers."""
    named, found = any(isinstance(handle, Patch) for handle, _ in drawn_words.legend(panel)), {}
    for container in (one for one in panel.containers if isinstance(one, BarContainer)):
        along, across = ("x", "y") if container.orientation == "horizontal" else ("y", "x")
        for bar in container:
            sides = {"x": (bar.get_x(), bar.get_width()), "y": (bar.get_y(), bar.get_height())}
            (start, value), (left, width) = sides[along], sides[across]
            if value and (drawn_words.series(panel, bar) or not named):
                found[bar] = along, left + width / 2, start, value
    starts = {(place, start) for _, place, start, _ in found.values()}
    for bar, (along, place, start, value) in found.items():
        end = np.nan if start or (place, value) in starts else value
        yield Mark(bar, along, place, value, end, bar.get_window_extent())


def _points(panel: Axes, barred: bool) -> Iterator[Mark]:
    """Yield the points of lines with markers. Single runs, faint or scattered, are left out beside bars and other points."""
    signs = {line for one in panel.containers if isinstance(one, ErrorbarContainer) for line in one.lines[1]}
    lines = [line for line in _lines(panel) if line.get_marker() not in WITHOUT and line not in signs]
    lines = [line for line in lines if line.get_gid() != NO_VALUE["gid"]]
    plain = [line for line in lines if line.get_linestyle() not in WITHOUT or line.get_alpha() in (None, 1)]
    single = [] if plain or barred else [*lines, *(one for one in panel.collections if isinstance(one, PathCollection))]
    along = "x" if drawn_words.has_names(panel.yaxis) and not drawn_words.has_names(panel.xaxis) else "y"
    for one in [*plain, *single]:
        points = one.get_xydata() if isinstance(one, Line2D) else np.ma.filled(one.get_offsets(), np.nan)
        for (x, y), pixel in zip(points, panel.transData.transform(points), strict=True):
            place, value = (y, x) if along == "x" else (x, y)
            end = np.nan if one.get_gid() == NO_INTERVAL["gid"] else value
            yield Mark(one, along, place, value, end, Bbox([pixel - HALF, pixel + HALF]))


def _lines(panel: Axes) -> list[Line2D]:
    """Return the lines between points of data; no line that goes through the whole panel."""
    return [line for line in panel.lines if line.get_transform() is panel.transData]


def _whiskers(panel: Axes, along: str) -> list[tuple[float, float, float]]:
    """Return (place, low, high) of each whisker along the axis x or y: a straight line, or one with caps."""
    drawn = [one for one in (*_lines(panel), *panel.collections) if one.get_gid() != NO_INTERVAL["gid"]]
    paths = [one.get_xydata() for one in drawn if isinstance(one, Line2D) and one.get_marker() in WITHOUT]
    paths += [path for one in drawn if isinstance(one, LineCollection) for path in one.get_segments()]
    found = []
    for path in paths:
        points = np.reshape(path, (-1, 2))
        x, y = points[np.isfinite(points).all(axis=1)].T
        places, ends = (y, np.unique(x)) if along == "x" else (x, np.unique(y))
        if len(ends) == 2 and (len(places) > 2 or places[0] == places[1]):
            found.append(((places.min() + places.max()) / 2, *ends))
    return found
