"""Costs of a study's runs in seconds: as measured where runs were measured, and otherwise as planned."""

import pandas as pd

from plimsoll.analysis import cell_paths
from plimsoll.claims.study_observations import OWN
from plimsoll.features.time_budget.allocation import Costs
from plimsoll.interchange import Plan

# Seconds. If more passes from one launch to the next, something else happened: the workflow was stopped, or it waited.
PAUSE = 60.0


def of_plan(plan: Plan, runs: pd.DataFrame | None = None) -> Costs:
    """Return the costs of the cells that can be measured, from the table of runs where it has times, otherwise from the
    plan."""
    cells = {path: cell for path, cell in plan["cells"].items() if cell["reason"] is None}
    launch_of = {path: cell.get("launch", path) for path, cell in cells.items()}
    per_block = {path: cell["per_block"] for path, cell in cells.items() if "per_block" in cell}
    planned = {path: cell["expected_seconds"] for path, cell in cells.items()}
    start = dict.fromkeys(launch_of.values(), 0.0)
    if runs is None or OWN not in runs or not runs[OWN].notna().any():
        return Costs(planned, start, launch_of, per_block)
    table = _measured(plan, runs)
    # A launch that was not measured yet is assumed to start as the others do.
    start = dict.fromkeys(start, table["start"].mean()) | table.groupby("launch")["start"].mean().to_dict()
    beside = _beside(table)
    start = {launch: seconds + beside for launch, seconds in start.items()}
    known = {path: seconds for path, seconds in table.groupby("cell")["run"].mean().items() if path in planned}
    # The plan is assumed to be as wrong for other cells as it is for the cells that were measured.
    wrong = sum(known.values()) / max(sum(planned[path] for path in known), 1e-9)
    run = {path: known.get(path, wrong * seconds) for path, seconds in planned.items()}
    return Costs(run, start, launch_of, per_block)


def _measured(plan: Plan, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run that has all times, with its cell, its launch and its seconds.

    The columns are `cell`, `launch`, `repetition`, and when the last attempt `started`. `start` has the seconds of its
    launch outside all runs, `run` its own seconds, and `again` the seconds of its earlier attempts. A run that was
    tried several times is charged its own seconds for each attempt. Each further attempt has a launch of its own, so it
    is charged the seconds of that too.
    """
    paths = cell_paths.of_table(runs, plan["factors"])
    launch = paths.map({path: cell.get("launch", path) for path, cell in plan["cells"].items()})
    shared = [column for column in runs if column.endswith("_seconds") and column != OWN]
    attempts = (runs["attempts"] if "attempts" in runs else pd.Series(1, runs.index)).clip(lower=1)
    own, start = runs[OWN].fillna(0), runs[shared].sum(axis=1)
    return pd.DataFrame(
        {
            **{"cell": paths, "launch": launch, "repetition": runs["repetition"], "started": runs["started"]},
            **{"run": attempts * own + (attempts - 1) * start, "start": start, "again": (attempts - 1) * (own + start)},
        }
    ).dropna()


def _beside(table: pd.DataFrame) -> float:
    """Return the mean seconds of a launch that no record contains: the time to the next launch less what the records
    account for."""
    launches = table.groupby(["launch", "repetition", "started"]).agg(
        run=("run", "sum"), start=("start", "mean"), again=("again", "sum")
    )
    launches = launches.reset_index().sort_values("started")
    passed = launches["started"].diff().shift(-1)
    # The time to the next launch includes the earlier attempts of that one.
    usable = passed - launches["again"].shift(-1) < PAUSE
    if not usable.any():
        return 0.0
    made = launches[usable]
    number = len(made.drop_duplicates(["launch", "repetition"]))
    return max(0.0, float((passed[usable] - made["run"] - made["start"]).sum()) / number)
