"""Whether every cell that was asked for, and can be measured here, has a run that counts."""

import csv
import json
from pathlib import Path

from plimsoll.analysis import cell_paths
from plimsoll.errors import PlimsollError
from plimsoll.interchange import Plan
from plimsoll.measuring import status

# The sentence names at most this many cells.
NAMED = 3


def plan_of(folder: Path) -> dict:
    """The plan in a study's results."""
    return json.loads((folder / "plan.json").read_text())


def rows_of(runs: Path) -> list[dict[str, str]]:
    """The table of runs, one dictionary of texts per run."""
    with open(runs, newline="") as file:
        return list(csv.DictReader(file))


def check(plan: Plan, rows: list[dict[str, str]]) -> str:
    """One sentence on a study whose cells all have a run that counts; PlimsollError with the cells that have none."""
    by_cell: dict[str, list[dict[str, str]]] = {path: [] for path, _ in plan["order"]}
    for row in rows:
        by_cell[cell_paths.of_row(row, plan["factors"])].append(row)
    without = {cell: made for cell, made in by_cell.items() if not any(row["status"] in status.COUNTED for row in made)}
    if not without:
        return f"Each of the {len(by_cell)} cells of {plan['study']} that can be measured here has a run that counts."
    named = [f"{cell} ({made[-1]['status']}: {made[-1]['reason']})" for cell, made in list(without.items())[:NAMED]]
    more = [f"{len(without) - NAMED} more"] if len(without) > NAMED else []
    have = "has" if len(without) == 1 else "have"
    raise PlimsollError(
        f"{len(without)} of {len(by_cell)} cells of {plan['study']} {have} no run that counts: {'; '.join([*named, *more])}. "
        f"results/{plan['study']}/report.html lists these runs with their reasons, and docs/statuses.md says which are tried "
        f"again when the workflow starts the next time. After {plan['limits']['starts']} starts nothing is: raise `starts` in "
        f"config/profiles/{plan['profile']}.yaml if you have mended the cause."
    )
