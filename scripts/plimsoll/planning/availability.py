"""What cannot be measured on a host, and why: one answer for a cell, a metric, a figure, a table or a claim. Pure."""

from dataclasses import dataclass

from plimsoll.interchange import Cell, Plan


@dataclass(frozen=True)
class Unmeasurable:
    """`what` cannot be measured here (the name of a figure, metric, ...), for this `reason`, which ends without a full stop."""

    what: str
    reason: str

    def __str__(self) -> str:
        return self.reason


# Fewer blocks give no verdict.
SMALLEST = 3
NOTHING_LEFT = "the configuration leaves out every cell of it"
TOO_SHORT = "the time that was given is too short for it"


def shown(plan: Plan, study: dict, name: str) -> list[Cell]:
    """The plan's cells that a figure, or a table that is made from runs, shows, those that cannot be measured here as well."""
    return study.design.cells.shown(plan, study, name)


def metrics(plan: Plan, study: dict, names: list[str]) -> dict[str, Unmeasurable]:
    """Those of the metrics that this host's instruments cannot see."""
    return {name: Unmeasurable(name, reason) for name, reason in study.design.cells.unseen(plan, study, names).items()}


def figure(plan: Plan, study: dict, name: str) -> Unmeasurable | None:
    """Why nothing of a figure can be measured here; None if something can.

    A figure that compares the levels of a factor (`compares`) needs each of them.
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
    """Why nothing of a table that is made from runs can be measured here; None if something can."""
    cells = shown(plan, study, name)
    return _of_cells(name, cells) if cells else Unmeasurable(name, NOTHING_LEFT)


def _of_cells(what: str, cells: list[Cell]) -> Unmeasurable | None:
    reasons = set(map(left_out, cells))
    return None if None in reasons else Unmeasurable(what, "; ".join(sorted(reasons)))


def left_out(cell: Cell) -> str | None:
    """Return why nothing is measured of a cell: it cannot be, or the time that was given is too short; None if it is."""
    return cell["reason"] or (None if cell["repetitions"] else TOO_SHORT)


def figure_runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """The runs that a figure is made from, in order: none for a drawing of the design, or if it cannot be made here."""
    if not study["figures"][name].get("metrics") or figure(plan, study, name):
        return []
    return runs(plan, study, name)


def runs(plan: Plan, study: dict, name: str) -> list[tuple[str, int]]:
    """The runs that a figure or a table is about, in order."""
    paths = {cell["path"] for cell in shown(plan, study, name)}
    return [(path, repetition) for path, repetition in plan["order"] if path in paths]


def in_time(plan: Plan, number: int, seconds: float, keys: str) -> str:
    """How long cells take that this plan has too short, and what to type: in words that follow a reason.

    `number` cells of the plan would take so many `seconds` each, in SMALLEST blocks; `keys` are those of a profile that say so.
    """
    each = SMALLEST * seconds / 60
    return (
        f" ({SMALLEST} blocks take {each:.0f} minutes a cell, and {number * each / 60:.0f} hours of all {number}: {keys} in "
        f"a profile, and make reproduce PROFILE=<its name> STUDIES={plan['study']})"
    )
