"""Turn records of a study of nesting into observations: one for each metric that a run has a value of."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingRecord
from plimsoll.interchange import Plan


def observations(study: dict, row: dict, record: NestingRecord) -> list[dict]:
    """Return one row, with the factors in `row`, for each metric of the cell's task that the record has a value of."""
    rows = []
    for name, metric in study["metrics"].items():
        if record["cell"]["task"] in metric["task"] and metric["source"] in record["values"]:
            described = {key: metric[key] for key in ("label", "unit", "better")}
            rows.append({**row, "metric": name, **described, "value": record["values"][metric["source"]], "censored": False})
    return rows


def of_run(record: NestingRecord) -> dict:
    """Return a run's column in the table of runs: how far `apart` its instances began (s).

    The dict is empty if the record does not say.
    """
    return {"apart": record["apart"]} if "apart" in record else {}


def measuring(observations):
    """Return all observations: no run of this design is watched by an instrument."""
    return observations


def gather(study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Return an empty dict: figures need no tables beside the observations."""
    return {}
