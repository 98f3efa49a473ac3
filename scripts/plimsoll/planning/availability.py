"""What is unavailable on a host, and why: one answer for cells, metrics, figures, tables and claims. Pure functions."""

from collections.abc import Iterable

from plimsoll import spelling
from plimsoll.errors import Unavailable
from plimsoll.interchange import Cell, Plan

# The fewest blocks that give a verdict.
SMALLEST = 3
NOTHING_LEFT = "the configuration leaves out every cell of it"
TOO_SHORT = "the time that was given is too short for it"


def shown_cells(plan: Plan, study: dict, name: str) -> list[Cell]:
    """Return the plan's cells that a figure, or a table made from runs, shows.

    Cells that cannot be measured here are included.
    """
    return study.design.cells.shown(plan, study, name)


def cell(planned: Cell) -> Unavailable | None:
    """Return why a cell is not measured: it cannot be, or the time budget is too short. Return None if it is measured."""
    reason = planned["reason"] or (None if planned["repetitions"] else TOO_SHORT)
    return Unavailable(reason) if reason else None


def second_host(planned: Cell) -> Unavailable | None:
    """Return why a cell cannot be measured with the configured second host; None if it can, or if none is configured."""
    reason = planned["parameters"].get("second_host", {}).get("reason")
    return Unavailable(reason) if reason else None


def metrics(plan: Plan, study: dict, names: list[str]) -> dict[str, Unavailable]:
    """Return the metrics that this host's instruments cannot measure, by name."""
    return study.design.cells.unavailable_metrics(plan, study, names)


def figure(plan: Plan, study: dict, name: str) -> Unavailable | None:
    """Return why nothing of a figure can be measured here; None if something can.

    A figure that compares the levels of a factor (`compares`) needs cells of each level.
    """
    described = study["figures"][name]
    factor, asked = described.get("compares"), described.get("metrics", [])
    by_level: dict[str, list[dict]] = {}
    for planned in shown_cells(plan, study, name):
        by_level.setdefault(planned[factor] if factor else "", []).append(planned)
    for cells in by_level.values():
        if unavailable := _all_of(cells):
            return unavailable
    if not by_level:
        return Unavailable(NOTHING_LEFT)
    blind = metrics(plan, study, asked)
    return join(blind.values()) if asked and len(blind) == len(asked) else None


def table(plan: Plan, study: dict, name: str) -> Unavailable | None:
    """Return why nothing of a table made from runs can be measured here; None if something can."""
    cells = shown_cells(plan, study, name)
    return _all_of(cells) if cells else Unavailable(NOTHING_LEFT)


def join(several: Iterable[Unavailable]) -> Unavailable:
    """Return one Unavailable with each reason of several once, in order."""
    return Unavailable("; ".join(dict.fromkeys(one.reason for one in several)))


def _all_of(cells: list[Cell]) -> Unavailable | None:
    """Return why no cell is measured; None if one is."""
    found = [cell(planned) for planned in cells]
    return None if None in found else join(sorted(found, key=str))


def figure_runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """Return the runs that a figure is made from, in order.

    The list is empty for a drawing of the design, or if the figure is unavailable.
    """
    if not study["figures"][name].get("metrics") or figure(plan, study, name):
        return []
    return runs(plan, study, name)


def runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """Return the runs that a figure or a table shows, in order."""
    paths = {planned["path"] for planned in shown_cells(plan, study, name)}
    return [(path, repetition) for path, repetition in plan["order"] if path in paths]


def in_time(plan: Plan, number: int, seconds: float, keys: str) -> str:
    """Say how long cells would take that are too short in this plan, and what to type. The text is to follow a reason.

    Each of `number` cells would take `seconds` per block, in SMALLEST blocks. `keys` names the profile keys that would
    request it.
    """
    each = SMALLEST * seconds / 60
    return (
        f" ({SMALLEST} blocks take {each:.0f} minutes a cell, and {number * each / 60:.0f} hours of all {number}: {keys} in "
        f"a profile, and {spelling.command('reproduce', plan['study'], profile='<its name>')})"
    )
