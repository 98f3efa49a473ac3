"""From a record of a study of overhead to its observations: one metric of one iteration that counts."""

from pathlib import Path

from plimsoll.designs.overhead.factors import OverheadRecord
from plimsoll.interchange import Plan

# What an iteration comes to beside what its benchmark prints: how many would be made in an hour, one after the other (1/h).
HOUR = 3600.0


def observations(study: dict, row: dict, record: OverheadRecord) -> list[dict]:
    """Rows with the factors, the number of the iteration, the moment at which it was started (s since 1970) and its time
    (s)."""
    rows = []
    for iteration in record["iterations"]:
        if not iteration["counts"]:
            continue
        wall = iteration["end"] - iteration["begin"]
        whole = {**row, "iteration": iteration["iteration"], "moment": iteration["moment"], "wall_seconds": wall}
        values = {**iteration["values"], "in_an_hour": HOUR / wall}
        for name, metric in study["metrics"].items():
            if metric["benchmark"] == record["cell"]["benchmark"]:
                described = {key: metric[key] for key in ("label", "unit", "better")}
                value = values[metric["source"]] * metric.get("factor", 1)
                rows.append({**whole, "metric": name, **described, "value": value, "censored": False})
    return rows


def of_run(record: OverheadRecord) -> dict:
    """How many iterations were made, and how many count."""
    made = record.get("iterations")
    return {"iterations": len(made), "counted": sum(one["counts"] for one in made)} if made else {}


def measuring(observations):
    """All of them: no run is watched."""
    return observations


def gather(study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Nothing beside the observations."""
    return {}
