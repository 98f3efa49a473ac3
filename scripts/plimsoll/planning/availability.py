"""What is unavailable on a host, and why: one answer for cells, metrics, figures, tables and claims. Pure functions."""

from dataclasses import dataclass

from plimsoll import spelling
from plimsoll.interchange import Cell, Plan


@dataclass(frozen=True)
class Unmeasurable:
    """Something that is unavailable here: `what` names it (a figure, a metric, ...), and `reason` has no full stop at
    its end."""

    what: str
    reason: str

    def __str__(self) -> str:
        return self.reason


# The fewest blocks that give a verdict.
SMALLEST = 3
NOTHING_LEFT = "the configuration leaves out every cell of it"
TOO_SHORT = "the time that was given is too short for it"


def shown(plan: Plan, study: dict, name: str) -> list[Cell]:
    """Return the plan's cells that a figure, or a table made from runs, shows.

    Cells that cannot be measured here are included.
    """
    return study.design.cells.shown(plan, study, name)


def metrics(plan: Plan, study: dict, names: list[str]) -> dict[str, Unmeasurable]:
    """Return the metrics that this host's instruments cannot measure, by name, with the reasons."""
    return {name: Unmeasurable(name, reason) for name, reason in study.design.cells.unseen(plan, study, names).items()}


def figure(plan: Plan, study: dict, name: str) -> Unmeasurable | None:
    """Return why nothing of a figure can be measured here; None if something can.

    A figure that compares the levels of a factor (`compares`) needs cells of each level.
    """
    described = study["figures"][name]
    factor, asked = described.get("compares"), described.get("metrics", [])
    by_level: dict[str, list[dict]] = {}
    for cell in shown(plan, study, name):
        by_level.setdefault(cell[factor] if factor else "", []).append(cell)
    for cells in by_level.values():
        if none := _of_cells(name, cells):
            return none
    if not by_level:
        return Unmeasurable(name, NOTHING_LEFT)
    blind = metrics(plan, study, asked)
    if asked and len(blind) == len(asked):
        return Unmeasurable(name, "; ".join(dict.fromkeys(map(str, blind.values()))))
    return None


def table(plan: Plan, study: dict, name: str) -> Unmeasurable | None:
    """Return why nothing of a table made from runs can be measured here; None if something can."""
    cells = shown(plan, study, name)
    return _of_cells(name, cells) if cells else Unmeasurable(name, NOTHING_LEFT)


def _of_cells(what: str, cells: list[Cell]) -> Unmeasurable | None:
    reasons = set(map(left_out, cells))
    return None if None in reasons else Unmeasurable(what, "; ".join(sorted(reasons)))


def left_out(cell: Cell) -> str | None:
    """Return why a cell is not measured: it cannot be, or the time budget is too short. Return None if it is measured."""
    return cell["reason"] or (None if cell["repetitions"] else TOO_SHORT)


def figure_runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """Return the runs that a figure is made from, in order.

    The list is empty for a drawing of the design, or if the figure is unavailable.
    """
    if not study["figures"][name].get("metrics") or figure(plan, study, name):
        return []
    return runs(plan, study, name)


def runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """Return the runs that a figure or a table shows, in order."""
    paths = {cell["path"] for cell in shown(plan, study, name)}
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
