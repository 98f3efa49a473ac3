"""The answer to the study's question at the top of its report: what splitting costs, as ratios to bare metal."""

import pandas as pd

from plimsoll import environments
from plimsoll.claims.quantities.base import MARGIN
from plimsoll.pages.formats import missing

COMPARISON, SIZES = "against bare metal", "standard"


def table(tests: pd.DataFrame, study: dict, plan: dict) -> list[dict]:
    """One table per hardware setting: `hardware`, `metrics` (labels of the columns) and `rows`, one per runtime and scheme.

    A row has `runtime`, `containers` and `cells`, one per metric: a ratio to bare metal with its 95 % interval, and a `mark`
    (loss, gain, or nothing) where the whole interval lies further than the MARGIN from 1. They are rows of the study's tests
    (tables/tests.csv): exactly subscribed, no affinity, metrics of which more is better, so that below 1 is a loss.
    """
    if tests.empty:
        return []
    known = environments.known()
    usual = {"comparison": COMPARISON, "mode": "exact", "affinity": "any", "sizes": SIZES, "better": "higher"}
    chosen = tests[(tests[list(usual)] == pd.Series(usual)).all(axis=1) & (tests["yield"] == study["yield_by_mode"]["exact"])]
    chosen = chosen[[known[name].variant_of is None for name in chosen["runtime"]]]
    found = []
    for hardware, of_setting in chosen.groupby("hardware", sort=False):
        order = [metric for metric in study["metrics"] if metric in set(of_setting["metric"])]
        labels = of_setting.drop_duplicates("metric").set_index("metric")["label"]
        rows = [
            _row(of_cell.set_index("metric"), order, known[runtime].label)
            for runtime in study["factors"]["runtime"]
            for _, of_cell in of_setting[of_setting["runtime"] == runtime].groupby("scheme")
        ]
        for row in rows:
            row["containers"] = plan["cells"][row.pop("path")]["containers"]
        found.append({"hardware": hardware, "metrics": [labels[metric] for metric in order], "rows": rows})
    return found


def _row(of_cell: pd.DataFrame, order: list[str], runtime: str) -> dict:
    cells = []
    for metric in order:
        one = of_cell.loc[metric].to_dict() if metric in of_cell.index else {}
        low, high, ratio = (one.get(key) for key in ("ratio_low", "ratio_high", "ratio"))
        mark = "" if missing(low) else "loss" if high < 1 - MARGIN else "gain" if low > 1 + MARGIN else ""
        cells.append(
            {"ratio": ratio, "low": low, "high": high, "mark": mark, "label": one.get("label"), "cell": one.get("cell")}
        )
    return {"runtime": runtime, "path": of_cell["cell"].iloc[0], "cells": cells}


def sentences(table: dict) -> tuple[list[dict], list[str]]:
    """(rows that lose, names of rows that do not) of one setting's table.

    A row that loses has its `name`, the number of metrics that it loses in (`lost`) of how many, and the `worst` of them.
    """
    losing, others = [], []
    for row in table["rows"]:
        lost = [cell for cell in row["cells"] if cell["mark"] == "loss"]
        if lost:
            worst = min(lost, key=lambda cell: cell["ratio"])
            losing.append({"name": name(row), "lost": len(lost), "of": len(row["cells"]), "worst": worst})
        else:
            others.append(name(row))
    return losing, others


def name(row: dict) -> str:
    """A row for people: Docker, 2 containers."""
    return f"{row['runtime']}, {row['containers']} container{'s' if row['containers'] > 1 else ''}"
