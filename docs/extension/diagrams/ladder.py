"""The ladder of `plimsoll2026`: from bare metal to each runtime, one step at a time, by the steps in its file."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from plimsoll import runtimes

from diagrams import svg

WIDE, BOX, HIGH, STEP, TOP = 400, 330, 28, 64, 16


def drawing(project: Path) -> str:
    """Return the picture: a column for each way that begins at bare metal."""
    steps = yaml.safe_load((project / "config/studies/plimsoll2026.yaml").read_text())["figures"]["ladder"]["steps"]
    ways = [[first, *_after(steps, first)] for first in _next(steps, "bare")]
    parts = [*_box("bare", WIDE - BOX / 2 + 10, TOP), *_fork(len(ways))]
    for number, way in enumerate(ways):
        for place, name in enumerate(way, 1):
            x, y = 20 + number * WIDE, TOP + place * STEP
            parts += [svg.arrow(x + 24, y - STEP + HIGH + (10 if place == 1 else 0), y)]
            parts += [svg.text(x + 34, y - 13, steps[name]["adds"]), *_box(name, x, y)]
    return svg.picture(20 + len(ways) * WIDE, TOP + (max(map(len, ways)) + 1) * STEP - 20, parts)


def _next(steps: dict, name: str) -> list[str]:
    return [step for step, said in steps.items() if said.get("from") == name]


def _after(steps: dict, name: str) -> Iterator[str]:
    """Yield the steps after one, each from the one before it."""
    while found := _next(steps, name):
        (name,) = found
        yield name


def _box(name: str, x: float, y: float) -> Iterator[str]:
    runtime = runtimes.find(name)
    yield svg.box(x, y, BOX, HIGH, fill=svg.PALE, line=runtime.colour, thick=2)
    yield svg.text(x + 10, y + 18, runtime.label, bold=True)


def _fork(ways: int) -> Iterator[str]:
    """Yield the line from bare metal to the first arrow of each way."""
    y, ends = TOP + HIGH + 10, [20 + number * WIDE + 24 for number in range(ways)]
    yield f"<path d='M{WIDE + 10:g} {TOP + HIGH:g}V{y:g}M{ends[0]:g} {y:g}H{ends[-1]:g}' stroke='{svg.INK}' fill='none'/>"
