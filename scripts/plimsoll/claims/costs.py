"""What runs of a study take: measured where they were, and otherwise as planned."""

import pandas as pd

from plimsoll.analysis import cell_paths
from plimsoll.claims.measured import OWN
from plimsoll.interchange import Plan
from plimsoll.planning.allocation import Costs

# Longer than this from one launch to the next, and something else went on: the workflow was stopped, or waited.
PAUSE = 60.0


def of(plan: Plan, runs: pd.DataFrame | None = None) -> Costs:
    """Costs of the cells that can be measured, from the table of runs if there is one."""
    cells = {path: cell for path, cell in plan["cells"].items() if cell["reason"] is None}
    launch_of = {path: cell.get("launch", path) for path, cell in cells.items()}
    per_block = {path: cell["per_block"] for path, cell in cells.items() if "per_block" in cell}
    run = {path: cell["expected_seconds"] for path, cell in cells.items()}
    start = dict.fromkeys(launch_of.values(), 0.0)
    if runs is not None and OWN in runs and runs[OWN].notna().any():
        measured = _measured(plan, runs)
        # A launch that was not measured yet starts as the others do.
        usual = measured["start"].mean()
        start = dict.fromkeys(start, usual) | measured.groupby("launch")["start"].mean().to_dict()
        run |= {path: value for path, value in measured.groupby("cell")["run"].mean().items() if path in run}
    return Costs(run, start, launch_of, per_block)


def _measured(plan: Plan, runs: pd.DataFrame) -> pd.DataFrame:
    """One row per run: its `cell`, its `launch`, seconds of its own (`run`), and those of its launch beside all runs (`start`),
    with what passed from one launch to the next and is in no record."""
    paths = cell_paths.of_table(runs, plan["factors"])
    launch = paths.map({path: cell.get("launch", path) for path, cell in plan["cells"].items()})
    shared = [column for column in runs if column.endswith("_seconds") and column != OWN]
    table = pd.DataFrame(
        {
            "cell": paths,
            "launch": launch,
            "run": runs[OWN].fillna(0),
            "start": runs[shared].sum(axis=1),
            "started": runs["started"],
        }
    ).dropna()
    each = table.groupby(["launch", "started"]).agg(run=("run", "sum"), start=("start", "mean")).reset_index()
    each = each.sort_values("started")
    gaps = each["started"].diff().shift(-1)
    usable = gaps < PAUSE
    beside = (gaps - each["run"] - each["start"])[usable]
    table["start"] += max(0.0, beside.mean()) if usable.any() else 0.0
    return table
