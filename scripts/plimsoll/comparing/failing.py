"""Cells that ran in A and only fail in B: rows of a comparison that have no numbers."""

import pandas as pd

from plimsoll.analysis import cell_paths, two_sets
from plimsoll.config.studies import Study
from plimsoll.measuring import status

# Every run of a cell failed or took too long in B, and in A not.
FAILED = "failed"
# A row is of a cell and a metric; or of those of runs that an instrument watched, which explain the others and decide nothing.
CELL, WATCHED = "cell", "watched"
# Columns of a row beside those of plimsoll.analysis.two_sets.
DESCRIBED = ("kind", "runtime", "label", "unit")
BAD = (status.FAILED, status.TIMEOUT)


def rows(study: Study, observed: list[pd.DataFrame], runs: pd.DataFrame) -> pd.DataFrame:
    """One row per cell that A has observed and B has not, as all of its `runs` in B failed or took too long."""
    of_a, of_b = observed
    gone = set(of_a["cell"]) - set(of_b["cell"])
    plain = set(study.design.readings.measuring(of_a)["cell"])
    cells = cell_paths.of_table(runs, study.design.factors.FACTORS) if len(runs) else pd.Series(dtype=str)
    bad = [
        {"kind": CELL if cell in plain else WATCHED, "cell": cell, "cells": 1, **_told(own)}
        | {"blocks_a": of_a.loc[of_a["cell"] == cell, "block"].nunique(), "blocks_b": 0}
        for cell, own in runs.groupby(cells, sort=False)
        if cell in gone and own["status"].isin(BAD).all()
    ]
    return pd.DataFrame(bad, columns=[*DESCRIBED, *two_sets.COLUMNS])


def _told(runs: pd.DataFrame) -> dict[str, str]:
    """What is said of a cell's runs."""
    last = runs.iloc[-1]
    note = f"{last['status']} in each of {len(runs)} runs of B: {last['reason']}"
    nothing = dict.fromkeys(("metric", "label", "unit"), "")
    return {**nothing, "runtime": last["runtime"], "answer": FAILED, "test": "none: no run counts", "note": note}
