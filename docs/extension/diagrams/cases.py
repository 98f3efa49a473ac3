"""Cases of the design `interference`: which microservices share a container, and which containers have limits."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from diagrams import svg

CORE, HIGH, GAP, TOP = 66, 76, 34, 36


class Case(NamedTuple):
    """A case: what is in each container, and whether each container has limits."""

    name: str
    containers: tuple[str, ...]
    limits: bool
    words: str


CASES = (
    Case("1", ("A",), True, "alone, with limits"),
    Case("2", ("AB",), False, "one container"),
    Case("3a", ("A", "B"), False, "two, without limits"),
    Case("3b", ("A", "B"), True, "two, with limits"),
)
COLOURS = {"A": svg.BLUE, "B": svg.GREEN}
PANEL = 2 * CORE + GAP


def drawing(_project: Path) -> str:
    """Return the picture: a panel for each case, with the host's two cores."""
    parts = [part for number, one in enumerate(CASES) for part in _panel(one, GAP + number * PANEL, TOP)]
    width, y = GAP + len(CASES) * PANEL, TOP + HIGH + 46
    return svg.picture(width, y + 26, [*parts, *_legend(GAP, y)])


def _panel(one: Case, x: float, y: float) -> Iterator[str]:
    yield svg.text(x, y - 14, f"case {one.name}", bold=True)
    for core in range(2):
        yield svg.box(x + core * CORE + 2, y, CORE - 4, HIGH, fill=svg.PALE, line="none")
    for number, names in enumerate(one.containers):
        left, top, width, height = _place(one, number)
        yield svg.box(x + left, y + top, width, height, line=svg.ORANGE, thick=2.5, dashed=not one.limits)
        for place, name in enumerate(names):
            centre = left + width * (place + 0.5) / len(names)
            yield svg.disc(x + centre, y + top + height / 2, 10, COLOURS[name], name)
    yield svg.text(x, y + HIGH + 18, one.words)


def _place(one: Case, number: int) -> tuple[float, float, float, float]:
    """Return left, top, width and height of a container: with limits on its core, otherwise over both."""
    if one.limits:
        return number * CORE + 5, 5, CORE - 10, HIGH - 10
    height = (HIGH - 10) / len(one.containers)
    return 5, 5 + number * height, 2 * CORE - 10, height - (4 if len(one.containers) > 1 else 0)


def _legend(x: float, y: float) -> Iterator[str]:
    yield svg.box(x, y, 22, 16, fill=svg.PALE, line="none")
    yield svg.text(x + 28, y + 13, "core")
    yield svg.disc(x + 84, y + 8, 8, svg.BLUE)
    yield svg.text(x + 98, y + 13, "microservice")
    yield svg.box(x + 190, y, 22, 16, line=svg.ORANGE, thick=2.5)
    yield svg.text(x + 218, y + 13, "container with a core of its own")
    yield svg.box(x + 424, y, 22, 16, line=svg.ORANGE, thick=2.5, dashed=True)
    yield svg.text(x + 452, y + 13, "container without limits")
