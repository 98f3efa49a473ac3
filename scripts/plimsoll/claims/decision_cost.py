"""What would decide an inconclusive claim by `plimsoll precise`: repetitions, runs and seconds, or why it cannot be decided."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from plimsoll import spelling
from plimsoll.analysis import blocks, sample_sizes
from plimsoll.claims import verdicts
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.planning import precision
from plimsoll.planning.availability import TOO_SHORT

NO_ESTIMATE = "for this test the number of repetitions that would decide it cannot be estimated"
TOO_FEW = f"fewer than {blocks.SMALLEST} blocks have both sides, which does not say how many would decide it"
NOT_WIDENED = (
    f"{spelling.command('precise')} repeats comparisons of means within blocks, and this is another kind of comparison"
)
# Smallest width to ask for: a narrower interval takes an impractical number of repetitions.
NARROWEST = 0.01
# Columns of a comparison that name cells: its sides, and what their losses are relative to.
CELL_COLUMNS = ("cell_a", "cell_b", "reference_a", "reference_b")
# Value in such a column if the other side is a number of the paper.
PAPER = "the paper"


def estimate(result: dict, rows: list[dict], observations: StudyObservations) -> dict | None:
    """Return what would decide a claim; None if it is decided, or if nothing was compared. `rows` are its comparisons.

    `undecidable` is the reason why the repetitions that `plimsoll precise` makes would not decide the claim. Whether or
    not there is a reason, there are `repetitions` (of each cell), `cells` (their number), additional `runs` of these and
    their `seconds`, if their number can be estimated. Without a reason there are more: `all_seconds` is the time if every
    cell of the study were repeated as often. `width` and `profile` are arguments of the command.
    """
    if result["verdict"] != verdicts.INCONCLUSIVE or not rows:
        return None
    rows = still_open(result, rows)
    paths = {row.get(column) for row in rows for column in CELL_COLUMNS} & set(observations.plan["cells"])
    if reason := _undecidable(result, rows, observations):
        return {"undecidable": reason, **_arithmetic(result, rows, paths, observations)}
    wanted = int(result["needed"])
    if wanted <= result["n_most"]:
        # The estimate is as uncertain as the spread, so the next round of `plimsoll precise` can still decide the claim.
        wanted = min(precision.MAXIMUM, precision.GROWTH * int(result["n_most"]))
    runs, seconds = _cost(paths, wanted, observations)
    whole = [path for path, cell in observations.plan["cells"].items() if cell["reason"] is None]
    return {
        "undecidable": "",
        **{"repetitions": wanted, "cells": len(paths), "runs": runs, "seconds": seconds},
        **{"all_seconds": _cost(whole, wanted, observations)[1], "width": _width(rows, wanted)},
        "profile": observations.plan["profile"],
    }


def still_open(result: dict, rows: list[dict]) -> list[dict]:
    """Return the comparisons that keep a claim inconclusive: the inconclusive ones of its inconclusive parts.

    If the average of the comparisons is judged, these are all of them.
    """
    if result["holds"] == verdicts.AVERAGE and result["whole"]:
        return rows
    decided = {number for number, part in enumerate(result["parts"], 1) if part["verdict"] != verdicts.INCONCLUSIVE}
    return [
        row for row in rows if row["verdict"] in (verdicts.INCONCLUSIVE, verdicts.UNMEASURED) and row["part"] not in decided
    ]


def _arithmetic(result: dict, rows: list[dict], paths: set[str], observations: StudyObservations) -> dict:
    """Return what would decide a claim that `plimsoll precise` cannot decide; empty if that cannot be estimated.

    An estimate that was reached already was too low, so twice as many repetitions are counted.
    """
    needed = result.get("needed")
    if not rows or needed is None or not needed <= sample_sizes.MOST or min(row["n"] for row in rows) < blocks.SMALLEST:
        return {}
    wanted = int(needed) if needed > result["n_most"] else precision.GROWTH * int(result["n_most"])
    runs, seconds = _cost(paths, wanted, observations)
    return {"repetitions": wanted, "cells": len(paths), "runs": runs, "seconds": seconds}


def _undecidable(result: dict, rows: list[dict], observations: StudyObservations) -> str:
    needed = result.get("needed")
    if few := [row for row in rows if row["n"] < blocks.SMALLEST]:
        cells = {row.get(column) for row in few for column in CELL_COLUMNS}
        return TOO_SHORT if observations.short_of_time(cells) else TOO_FEW
    if needed is None or math.isnan(needed):
        return NO_ESTIMATE
    if not any(row["test"] in precision.WITHIN_BLOCKS for row in rows):
        return NOT_WIDENED
    upto = f"and {spelling.command('precise')} goes up to {precision.MAXIMUM}"
    if needed > precision.MAXIMUM:
        number = f"more than {sample_sizes.MOST:,}" if needed > sample_sizes.MOST else f"about {int(needed):,}"
        return f"it would take {number} repetitions, {upto}"
    if result["n_most"] >= precision.MAXIMUM:
        return f"{int(result['n_most'])} repetitions did not decide it, {upto}"
    return ""


def _cost(paths, wanted: int, observations: StudyObservations) -> tuple[int, float]:
    """Return (runs, seconds) that are needed to have `wanted` repetitions of each of these cells."""
    more = {path: max(0, wanted - observations.plan["cells"][path]["repetitions"]) for path in paths}
    # Paths come as a set. The last digit of a plain sum would depend on their order.
    return sum(more.values()), math.fsum(number * observations.seconds(path) for path, number in more.items())


def _width(rows: list[dict], wanted: int) -> float:
    """Return the width to ask for, so that no comparison stops before it has `wanted` repetitions.

    It is the usual width, or the width that the narrowest interval should then have: an interval shrinks with the
    square root of the number of repetitions.
    """
    known = [row for row in rows if math.isfinite(row.get("low", math.nan))]
    widths = [
        (row["high"] - row["low"]) / (1 + row["effect"] if row["scale"] == "ratio" else 1) * math.sqrt(row["n"] / wanted)
        for row in known
    ]
    narrowest = min(widths, default=precision.WIDTH)
    return max(NARROWEST, min(precision.WIDTH, math.floor(100 * narrowest) / 100))


def cells_of(rows: pd.DataFrame) -> list[str]:
    """Return the paths of all cells in a table of comparisons, in order."""
    return cells_of_rows(rows[list(CELL_COLUMNS)].to_dict("records"))


def cells_of_rows(rows: Iterable[Mapping]) -> list[str]:
    """Return the paths of all cells that comparisons are about, in order."""
    return sorted(set().union(*map(cells_of_row, rows)))


def cells_of_row(row: Mapping) -> set[str]:
    """Return the paths of the cells that a comparison is about."""
    return {row[column] for column in CELL_COLUMNS if isinstance(row.get(column), str)} - {PAPER}
