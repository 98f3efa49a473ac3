"""Schemes of the design `splitting` on four cores: which ranks share a container, and which a core."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from plimsoll.designs.splitting import scheme
from plimsoll.designs.splitting.scheme import Scheme

from diagrams import svg

CORES = 4
SHOWN = {scheme.EXACT: "exactly subscribed: a rank per core", scheme.OVER: "over-subscribed: two ranks per core"}
# A core's width, a rank's height and the distances around panels.
CORE, RANK, GAP, TOP = 38, 32, 26, 34
PANEL = CORES * CORE + GAP


def drawing(_project: Path) -> str:
    """Return the picture: a row for each mode, a panel for each scheme."""
    setting = scheme.Setting("uma", (tuple(range(CORES)),), ((0,),), scheme.LARGEST)
    known = [one for one in scheme.schemes(setting) if one.mode in SHOWN and not one.alone]
    rows = [list(group) for _, group in groupby(known, key=lambda one: one.mode)]
    parts, y = [], 8.0
    for row in rows:
        parts.append(svg.text(GAP, y + 14, SHOWN[row[0].mode], bold=True))
        for number, one in enumerate(row):
            parts += _panel(one, GAP + number * PANEL, y + TOP)
        y += TOP + row[0].ratio * RANK + 44
    width = GAP + max(map(len, rows)) * PANEL
    parts += _legend(width, y)
    return svg.picture(width, y + 30, parts)


def _panel(one: Scheme, x: float, y: float) -> Iterator[str]:
    """Yield a scheme: its cores, the ranks on them, and a box around the ranks of each container."""
    for core in range(one.cores):
        yield svg.box(x + core * CORE + 2, y, CORE - 4, one.ratio * RANK, fill=svg.PALE, line="none")
    for rank in range(one.ranks):
        column, row = divmod(rank, one.ratio)
        yield svg.disc(x + (column + 0.5) * CORE, y + (row + 0.5) * RANK, 8, svg.BLUE)
    columns, rows = max(1, one.ranks_per_container // one.ratio), min(one.ratio, one.ranks_per_container)
    for container in range(one.containers):
        column, row = divmod(container * one.ranks_per_container, one.ratio)
        left, top = x + column * CORE + 4, y + row * RANK + 3
        yield svg.box(left, top, columns * CORE - 8, rows * RANK - 6, line=svg.ORANGE, thick=2.5)
    words = f"{one.containers} container{'s' if one.containers > 1 else ''}"
    yield svg.text(x, y + one.ratio * RANK + 18, f"{one.name}: {words}")


def _legend(width: float, y: float) -> Iterator[str]:
    x = max(GAP, width - 330)
    yield svg.box(x, y, 22, 16, fill=svg.PALE, line="none")
    yield svg.text(x + 28, y + 13, "core")
    yield svg.disc(x + 88, y + 8, 7, svg.BLUE)
    yield svg.text(x + 102, y + 13, "rank")
    yield svg.box(x + 156, y, 22, 16, line=svg.ORANGE, thick=2.5)
    yield svg.text(x + 186, y + 13, "container")
