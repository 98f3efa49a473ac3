"""MPI profiles of the runs, from their records: the source of liu2020's table 1 and figure 1."""

from pathlib import Path

import pandas as pd

from plimsoll.designs.splitting.factors import OF_DEPLOYMENT, SplittingPlan, SplittingRecord
from plimsoll.measuring import record, status

COLUMNS = [*OF_DEPLOYMENT, "section", "repetition", "what", "calls", "seconds", "share"]


def gather(folder: Path, plan: SplittingPlan, runs: list[tuple[str, int]]) -> pd.DataFrame:
    """Return one row for each valid run and each entry of its profile.

    An entry (`what`) is all functions, a group, a pattern or a function. `calls` is the number of all ranks together, `seconds`
    is the mean per rank, and `share` is a fraction of the ranks' time.
    """
    rows = []
    for path, repetition in runs:
        cell = plan["cells"][path]
        try:
            recorded = record.read(record.path_of(folder / "runs", path, repetition), SplittingRecord)
        except record.DamagedFile:
            continue  # the list of runs names it
        if recorded["fingerprint"] != cell["fingerprint"] or recorded["status"] != status.VALID:
            continue
        described = {**{key: cell[key] for key in (*OF_DEPLOYMENT, "section")}, "repetition": repetition}
        values = recorded.get("values", {})
        for name, share in values.items():
            kind, _, what = name.partition("/")
            if kind == "mpi_share" and {f"mpi_calls/{what}", f"mpi_seconds/{what}"} <= values.keys():
                calls, seconds = (values[f"mpi_{unit}/{what}"] for unit in ("calls", "seconds"))
                rows.append({**described, "what": what, "calls": calls, "seconds": seconds, "share": share})
    return pd.DataFrame(rows, columns=COLUMNS)
