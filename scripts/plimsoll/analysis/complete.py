"""Check that every cell that is wanted and can be measured here has a run that counts."""

import csv
from pathlib import Path

from plimsoll.analysis import cell_paths
from plimsoll.errors import DamagedFile, PlimsollError, first_of
from plimsoll.interchange import Plan
from plimsoll.measuring import plan_file, status

# Number of characters that are printed of a path that the plan does not have.
LONGEST = 100


def plan_of(folder: Path) -> Plan:
    """Return the plan in the folder of a study's results."""
    return plan_file.read(folder / "plan.json")


def rows_of(runs: Path) -> list[dict[str, str]]:
    """Return the table of runs, one dictionary of texts per run."""
    with open(runs, newline="") as file:
        return list(csv.DictReader(file))


def _last(made: list[dict[str, str]]) -> str:
    """Return the status and the reason of a cell's last run, in words."""
    return f"{made[-1]['status']}: {made[-1]['reason']}" if made else "no run of it is in the table of runs"


def refuse_given_up(plan: Plan) -> None:
    """Raise PlimsollError if this start has given up a runtime that the configuration requires."""
    if groups := plan.get("given_up"):
        named = "; ".join(f"{group} ({reason})" for group, reason in groups.items())
        raise PlimsollError(
            f"{plan['study']}: required runtimes do not work, and their runs were skipped in this start: {named}. What was "
            "measured is kept. Repair the runtime, and type the command again."
        )


def check(plan: Plan, rows: list[dict[str, str]]) -> str:
    """Return a sentence if all cells of a study have a run that counts. Raise PlimsollError, naming the cells, if some
    have none.

    Raises DamagedFile if the table has a run of a cell that the plan does not have.
    """
    by_cell: dict[str, list[dict[str, str]]] = {path: [] for path, _ in plan["order"]}
    for row in rows:
        if (path := cell_paths.of_row(row, plan["factors"])) not in by_cell:
            raise DamagedFile(
                f"The study's table of runs has a run of {path[:LONGEST]}, which is not in the plan. The records "
                "are not affected. Delete runs.csv in the study's folder of results, and type the command again, "
                "which makes a new one."
            )
        by_cell[path].append(row)
    refuse_given_up(plan)
    without = {cell: made for cell, made in by_cell.items() if not any(row["status"] in status.COUNTED for row in made)}
    if not without:
        return f"Each of the {len(by_cell)} cells of {plan['study']} that can be measured here has a run that counts."
    named = first_of([f"{cell} ({_last(made)})" for cell, made in without.items()], between="; ")
    have = "has" if len(without) == 1 else "have"
    raise PlimsollError(
        f"{len(without)} of {len(by_cell)} cells of {plan['study']} {have} no run that counts: {named}. "
        f"results/{plan['study']}/report.html lists these runs with their reasons. docs/reference/statuses.md says which "
        f"are tried again when you type the command again. After {plan['limits']['starts']} starts none is tried again: if the "
        f"cause is repaired, raise `starts` in config/profiles/{plan['profile']}.yaml."
    )
