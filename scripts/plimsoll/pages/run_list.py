"""List every run by status, with links to its record and to the raw output of each of its attempts."""

from pathlib import Path

import pandas as pd

from plimsoll.analysis import cell_paths
from plimsoll.interchange import Plan
from plimsoll.measuring import record, staleness, status

# Links of the report are relative to the study's results folder.
RUNS = Path("runs")


def by_status(runs: pd.DataFrame) -> list[dict]:
    """Return the number of runs of each status, and how many of them were repeated; the most frequent status first."""
    counts = []
    for name, group in runs.groupby("status", sort=False):
        repeated = int((group["attempts"] > 1).sum())
        counts.append({"status": name, "runs": len(group), "repeated": repeated})
    return sorted(counts, key=lambda row: -row["runs"])


def rows_of(runs: pd.DataFrame, plan: Plan, records: Path) -> list[dict]:
    """Return the runs that gave no observation, and those that were repeated, one row per run.

    Each has its `attempts`, with the status, the reason and the folder of the raw output. `records` is the folder of
    the study's records.
    """
    shown = runs[~runs["status"].isin(status.COUNTED) | (runs["attempts"] > 1)]
    return [_run(row, plan, records) for row in shown.to_dict("records")]


def quiet(runs: pd.DataFrame, plan: Plan) -> list[dict]:
    """Return all other runs, one row per cell: its path, links to its records, and the folder of the raw output."""
    rest = runs[runs["status"].isin(status.COUNTED) & ~(runs["attempts"] > 1)]
    if rest.empty:
        return []
    rows = []
    for path, group in rest.groupby(cell_paths.of_table(rest, plan["factors"])):
        links = [{"repetition": number, "record": _record(path, number)} for number in sorted(group["repetition"])]
        rows.append({"cell": path, "runs": links, "raw": str(Path(group["raw"].iloc[0]).parent)})
    return rows


def _run(row: dict, plan: Plan, records: Path) -> dict:
    path, repetition = cell_paths.of_row(row, plan["factors"]), row["repetition"]
    described = {"cell": path, "repetition": repetition, "status": row["status"]}
    try:
        recorded = record.read(record.path_of(records, path, repetition))
    except record.DamagedFile:
        # Without the record nothing is known of the attempts. The table of runs says what is wrong with it.
        there = record.path_of(records, path, repetition).exists()
        attempts = [{"status": row["status"], "reason": row["reason"], "raw": None}]
        return {**described, "record": _record(path, repetition) if there else None, "attempts": attempts}
    attempts = [{key: one.get(key) for key in ("status", "reason", "raw")} for one in staleness.attempts_of(recorded)]
    if row["status"] != recorded["status"] or not attempts[-1]["reason"]:
        attempts[-1].update(status=row["status"], reason=row["reason"] if isinstance(row["reason"], str) else None)
    return {**described, "record": _record(path, repetition), "attempts": attempts}


def _record(path: str, repetition: int) -> str:
    return str(record.path_of(RUNS, path, repetition))
