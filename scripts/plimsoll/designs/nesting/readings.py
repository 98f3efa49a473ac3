"""From a record to its observations: one per metric of the study that the run gives."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingRecord
from plimsoll.interchange import Plan


def observations(study: dict, row: dict, record: NestingRecord) -> list[dict]:
    """One row for each metric whose task is the cell's, with its value."""
    rows = []
    for name, metric in study["metrics"].items():
        if record["cell"]["task"] in metric["task"] and metric["source"] in record["values"]:
            described = {key: metric[key] for key in ("label", "unit", "better")}
            rows.append({**row, "metric": name, **described, "value": record["values"][metric["source"]], "censored": False})
    return rows


def of_run(record: NestingRecord) -> dict:
    """How far apart the instances began."""
    return {"apart": record["apart"]} if "apart" in record else {}


def measuring(observations):
    """All of them: no run is watched."""
    return observations


def gather(study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Nothing beside the observations."""
    return {}
