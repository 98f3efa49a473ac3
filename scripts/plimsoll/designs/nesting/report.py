"""What only the report of a study of nesting has: what the runs were made of, Table I, and the statistics."""

import json
from pathlib import Path

import pandas as pd

from plimsoll.designs.nesting import words
from plimsoll.designs.nesting.factors import CPU, NETWORK, of_placement
from plimsoll.interchange import ABSENT, Plan
from plimsoll.measuring import status
from plimsoll.pages.report import Sources

TEMPLATE = "nesting/report.html.j2"
short, level, row, GLOSSARY = words.cell, words.level, words.row, words.GLOSSARY


def content(
    sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
) -> dict:
    """What the template is told beyond what all reports tell."""
    return {
        "programs": json.loads(sources.image.read_text())["files"],
        "cores": plan["cores"],
        "apart": apart(runs),
        "tables": tables(sources.tables, study),
        "statistics": tests.astype(object).where(tests.notna(), "").to_dict("records"),
        "sizes": parameters(plan, CPU),
        "of_networks": parameters(plan, NETWORK),
        "second_host": plan.get("second_host"),
    }


def apart(runs: pd.DataFrame) -> list[dict]:
    """How far apart instances began: the median and the largest of the valid runs, one row per task, runtime and number."""
    valid = runs[(runs["status"] == status.VALID) & ~runs["instances"].isin([ABSENT, "1"])]
    rows = []
    for (task, runtime, instances), group in valid.groupby(["task", "runtime", "instances"], sort=False):
        times = group["apart"].astype(float)
        row = {"task": words.level("task", task), "runtime": words.level("runtime", runtime), "instances": int(instances)}
        rows.append({**row, "runs": len(group), "median": times.median(), "largest": times.max()})
    return sorted(rows, key=lambda one: (one["task"], one["runtime"], one["instances"]))


def tables(folder: Path, study: dict) -> list[dict]:
    """The paper's tables with ours, as data for the page; `folder` holds the study's tables."""
    shown = []
    for name in study.get("tables", {}):
        made = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])
        rows = made.astype(object).where(made.notna(), "").to_dict("records")
        kind, number = study["tables"][name]["kind"], name.removeprefix("table").lstrip("0")
        table = {"name": name, "number": number, "kind": kind, "rows": [_in_words(row) for row in rows]}
        shown.append({**table, "placed": of_placement("", rows[0]["hosts"])} if rows and "hosts" in rows[0] else table)
    return shown


def _in_words(row: dict) -> dict:
    """A row of a table with its levels in words."""
    factors = {"client": "runtime", "server": "runtime", "network": "network"}
    return {**row, **{key: words.level(factor, row[key]) for key, factor in factors.items() if key in row}}


def parameters(plan: Plan, task: str) -> dict:
    """Of the programs of a task; empty if none is planned."""
    return next((cell["parameters"] for cell in plan["cells"].values() if cell["task"] == task), {})
