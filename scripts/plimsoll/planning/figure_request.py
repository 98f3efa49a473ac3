"""Figures that the user names after a time was given: they get all runs of their cells, however long that takes."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.config.studies import Study
from plimsoll.interchange import Cell, Plan
from plimsoll.measuring import plan_file
from plimsoll.planning import availability, repetitions


def left_out(plan: Plan, study: Study, name: str) -> list[Cell]:
    """Return the cells of a figure that could be measured, and had no part in the given time."""
    shown = availability.shown_cells(plan, study, name)
    return [cell for cell in shown if cell["reason"] is None and not cell["repetitions"]]


def ask(folder: Path, profile: str, study: Study, names: Sequence[str]) -> int:
    """Request the profile's repetitions for all cells that figures show, beside what a given time has. Return how many
    cells get more by it: 0 if no time was given."""
    asked = repetitions.read_request(folder, profile)
    if not asked.exact or not (folder / "plan.json").exists():
        return 0
    plan = plan_file.read(folder / "plan.json")
    if plan["profile"] != profile:
        return 0
    cells = {cell["path"]: cell for name in names for cell in availability.shown_cells(plan, study, name)}
    usual = {path: plan["repetitions"] * cell.get("per_block", 1) for path, cell in cells.items() if cell["reason"] is None}
    more = {path: number for path, number in usual.items() if number > asked.cells.get(path, 0)}
    if more:
        repetitions.ask(folder, profile, asked._replace(cells={**asked.cells, **more}))
    return len(more)
