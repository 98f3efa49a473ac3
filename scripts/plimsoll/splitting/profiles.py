"""MPI profiles out of records, and liu2020's table 1 made from them."""

from pathlib import Path

import pandas as pd

from plimsoll import record
from plimsoll.splitting.cells import FACTORS

COLUMNS = [*FACTORS, "section", "repetition", "what", "calls", "seconds", "share"]


def gather(folder: Path, plan: dict, runs: list[tuple[str, int]]) -> pd.DataFrame:
    """One row a valid run and what the profile tells of: all functions, a group, a pattern or a function (`what`).

    `calls` are of all ranks together, `seconds` the mean a rank, `share` a fraction of the ranks' time.
    """
    rows = []
    for path, repetition in runs:
        cell = plan["cells"][path]
        try:
            found = record.read(record.path_of(folder / "runs", path, repetition))
        except record.Damaged:
            continue  # named in the list of runs
        if found["fingerprint"] != cell["fingerprint"] or found["status"] != "valid":
            continue
        described = {**{key: cell[key] for key in (*FACTORS, "section")}, "repetition": repetition}
        for name, share in found["values"].items():
            kind, _, what = name.partition("/")
            if kind == "mpi_share":
                calls, seconds = (found["values"][f"mpi_{unit}/{what}"] for unit in ("calls", "seconds"))
                rows.append({**described, "what": what, "calls": calls, "seconds": seconds, "share": share})
    return pd.DataFrame(rows, columns=COLUMNS)
