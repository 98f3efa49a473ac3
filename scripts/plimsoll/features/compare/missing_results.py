"""Find what A has observed and B has not: cells that failed in B or are unavailable there, and missing values.

Each becomes a row of the comparison, without numbers.
"""

from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from plimsoll.analysis import cell_paths
from plimsoll.config.studies import Study
from plimsoll.features.compare import two_sets
from plimsoll.measuring import status
from plimsoll.result_sets.sets import ResultSet

# The answer for a cell that A measured and B did not: all its runs failed or timed out in B, or it is unavailable
# there.
FAILED = "failed"
# Kinds of rows. Rows of runs that an instrument watched explain the other rows, and decide nothing.
CELL, WATCHED = "cell", "watched"
BAD = (status.FAILED, status.TIMEOUT)
# Columns of a row: first what pages show of it, then its numbers.
COLUMNS = ("kind", "runtime", "label", "unit", *two_sets.COLUMNS)
NO_RUN, NO_VALUE = "none: no run counts", "none: B has no value"


def rows(study: Study, observed: list[pd.DataFrame], b: ResultSet) -> pd.DataFrame:
    """Return one row per cell that A has observed and B has lost.

    B has lost a cell if all of its runs failed or timed out, or if B's plan gives a reason why the cell is unavailable.
    `observed` holds the observations of A and of B.
    """
    of_a, of_b = observed
    gone = [cell for cell in dict.fromkeys(of_a["cell"]) if cell not in set(of_b["cell"])]
    notes = _notes(study, gone, b)
    plain = set(study.design.readings.measuring(of_a)["cell"])
    first = of_a.drop_duplicates("cell").set_index("cell")
    blocks = of_a.groupby("cell")["block"].nunique()
    bad = [
        {
            **{"kind": CELL if cell in plain else WATCHED, "cell": cell, "cells": 1, "runtime": first["runtime"][cell]},
            **{"metric": "", "label": "", "unit": "", "blocks_a": blocks[cell], "blocks_b": 0},
            **{"answer": FAILED, "test": NO_RUN, "note": note},
        }
        for cell, note in notes.items()
    ]
    return pd.DataFrame(bad, columns=list(COLUMNS))


def _notes(study: Study, gone: Iterable[str], b: ResultSet) -> dict[str, str]:
    """Return a note on each of the cells in `gone` that B has lost. Cells that B merely lacks are left out."""
    failed = dict(_failed(b.runs(study), study))
    reasons = {cell: planned.get("reason") for cell, planned in b.cells.items()}
    told = {cell: failed.get(cell) or _unmeasurable(reasons.get(cell)) for cell in gone}
    return {cell: note for cell, note in told.items() if note}


def _failed(runs: pd.DataFrame, study: Study) -> Iterator[tuple[str, str]]:
    cells = cell_paths.of_table(runs, study.design.factors.FACTORS) if len(runs) else pd.Series(dtype=str)
    for cell, own in runs.groupby(cells, sort=False):
        if own["status"].isin(BAD).all():
            last = own.iloc[-1]
            yield cell, f"{last['status']} in each of {len(own)} runs of B: {last['reason']}"


def _unmeasurable(reason: str | None) -> str:
    return f"B cannot measure it: {reason}" if reason else ""


def missing(pair: list[pd.DataFrame], kind: str) -> list[Mapping]:
    """Return one row per metric that A has observed in a cell and B has not, for cells that both have observed."""
    of_a, of_b = (table.drop_duplicates(["cell", "metric"]) for table in pair)
    there, cells = set(zip(of_b["cell"], of_b["metric"], strict=True)), set(of_b["cell"])
    blocks = pair[0].groupby(["cell", "metric"])["block"].nunique()
    return [
        {
            **{"kind": kind, "cells": 1, "blocks_a": blocks[row["cell"], row["metric"]], "blocks_b": 0},
            **{key: row[key] for key in ("metric", "label", "unit", "better", "cell", "runtime")},
            **{"answer": two_sets.UNDECIDED, "test": NO_VALUE, "note": "B has no value of it"},
        }
        for row in of_a.to_dict("records")
        if row["cell"] in cells and (row["cell"], row["metric"]) not in there
    ]
