"""Place an answer's ratios for a forest plot: points with intervals on one logarithmic scale, better to the right.

All functions are pure. Places are percentages of a plot's width.
"""

import math

from plimsoll.claims.quantities.base import MARGIN
from plimsoll.pages.formats import DIVIDED, TIMES, missing, ratio

# Factors that an axis names. It takes the first that reach its end, with at least so much between two (% of its width).
NAMED = ((1.05, 1.1, 1.15), (1.1, 1.2, 1.3), (1.25, 1.5, 2), (2, 4, 8), (4, 16, 64), (10, 100, 1000, 10_000))
APART, APART_IN_FEW = 26, 12
FEW = 2
# The least that an axis shows on each side of equality, and how far intervals may reach beyond the outermost ratios.
LEAST, BEYOND = math.log(1.15), math.log(1.6)
HIGHER = "higher"


def with_plots(answers: list[dict]) -> list[dict]:
    """Return the answers (plimsoll.pages.answer.for_template) with a `plot` in each of their parts."""
    return [{**answer, "parts": [{**part, "plot": plot(part, answer)} for part in answer["parts"]]} for answer in answers]


def plot(part: dict, answer: dict) -> dict:
    """Return the plot of a part of an answer.

    `columns` are heads with their `name` and which direction is `better` (empty if it differs within the column), and
    `rows` have a `name`, a `note` and one of their `cells` per column. `steps` are the axis' labels with their places. The
    scale is the same for all parts of the answer. Many metrics of few deployments make the rows. Deployments without any
    ratio are `left_out`.
    """
    limits = _limits(answer)
    scale = _Scale(*limits)
    rows = [{**row, "cells": [{**cell, "drawn": _drawn(cell, scale)} for cell in row["cells"]]} for row in part["rows"]]
    margin = (scale.place(-math.log(1 + MARGIN)), scale.place(math.log(1 + MARGIN)))
    shown = [row for row in rows if any(cell["drawn"] for cell in row["cells"])] or rows
    table = _upright(shown) if len(rows[0]["cells"]) <= max(len(shown), 5) else _turned(shown)
    apart = APART_IN_FEW if len(table["columns"]) <= FEW else APART
    left_out = [row["name"] for row in rows if row not in shown]
    return {**table, "left_out": left_out, "steps": _steps(scale, apart), "one": scale.place(0.0), "margin": margin}


class _Scale:
    """A logarithmic axis from `low` to `high`, which are logarithms of performance relative to the baseline's."""

    def __init__(self, low: float, high: float):
        self.low, self.high = low, high

    def place(self, size: float) -> float:
        """Return where a logarithm lies, within the plot."""
        return round(100 * min(1.0, max(0.0, (size - self.low) / (self.high - self.low))), 1)


def _size(cell: dict, value: float) -> float:
    """Return the logarithm of performance for a ratio: positive is better, whichever direction the metric has."""
    return math.log(value) if cell["better"] == HIGHER else -math.log(value)


def _known(answer: dict) -> list[dict]:
    every = (cell for part in answer["parts"] for row in part["rows"] for cell in row["cells"])
    return [cell for cell in every if not missing(cell["ratio"])]


def _limits(answer: dict) -> tuple[float, float]:
    """Return the ends of the axis. Long intervals are cut: their ends say nothing that needs room."""
    known = _known(answer)
    sizes = [_size(cell, cell["ratio"]) for cell in known] or [0.0]
    ends = [_size(cell, cell[end]) for cell in known for end in ("low", "high") if not missing(cell[end])] or [0.0]
    low = max(min(ends), min(sizes) - BEYOND)
    high = min(max(ends), max(sizes) + BEYOND)
    low, high = min(low, -LEAST), max(high, LEAST)
    room = 0.06 * (high - low)
    return low - room, high + room


def _steps(scale: _Scale, apart: float) -> list[tuple[float, str]]:
    """Return (place, label) of the axis' labels: a division for worse than the baseline, a factor for better."""
    furthest = max(-scale.low, scale.high)
    named = next((one for one in NAMED if furthest <= math.log(1.2 * one[-1])), NAMED[-1])
    steps = [(scale.place(0.0), "1")]
    for factor in named:
        for sign, text in ((-1, DIVIDED), (1, TIMES)):
            size = sign * math.log(factor)
            place = scale.place(size)
            if scale.low <= size <= scale.high and all(abs(place - other) >= apart for other, _ in steps):
                steps.append((place, f"{text}{factor:g}"))
    return sorted(steps)


def _drawn(cell: dict, scale: _Scale) -> dict | None:
    """Return where a ratio and the ends of its interval lie, and whether the interval goes on; None without a ratio."""
    if missing(cell["ratio"]):
        return None
    ends = [] if missing(cell["low"]) else sorted(_size(cell, cell[end]) for end in ("low", "high"))
    return {
        "at": scale.place(_size(cell, cell["ratio"])),
        "ends": [scale.place(end) for end in ends],
        "over": (bool(ends) and ends[0] < scale.low, bool(ends) and ends[1] > scale.high),
        "said": _said(cell),
    }


def _said(cell: dict) -> str:
    """Return what stands beside a ratio: its interval, and the number of blocks that it is of."""
    known = [] if missing(cell["low"]) else [f"[{ratio(cell['low'])}, {ratio(cell['high'])}]"]
    return ", ".join([*known, *([] if missing(cell["n"]) else [f"n = {int(cell['n'])}"])])


def _upright(rows: list[dict]) -> dict:
    """Return a table with one column per metric."""
    columns = [{"name": cell["label"], "better": cell["better"]} for cell in rows[0]["cells"]]
    return {
        "columns": columns,
        "of": "deployment",
        "rows": [{"name": row["name"], "note": row["lacks"] and "set apart", "cells": row["cells"]} for row in rows],
    }


def _turned(rows: list[dict]) -> dict:
    """Return a table with one row per metric and one column per deployment, for many metrics of few deployments."""
    columns = [{"name": f"{row['name']}{' (set apart)' if row['lacks'] else ''}", "better": ""} for row in rows]
    turned = [
        {"name": cells[0]["label"], "note": f"{cells[0]['better']} is better", "cells": list(cells)}
        for cells in zip(*(row["cells"] for row in rows), strict=True)
    ]
    return {"columns": columns, "of": "metric", "rows": turned}
