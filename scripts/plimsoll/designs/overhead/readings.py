"""From a record of a study of overhead to its observations: one metric of one iteration that counts."""

from pathlib import Path
from statistics import mean

from plimsoll.designs.overhead.factors import OverheadRecord
from plimsoll.interchange import Plan

# What a run comes to beside what its benchmark prints: how many iterations an hour has, one after the other (1/h).
HOUR = 3600.0


def observations(study: dict, row: dict, record: OverheadRecord) -> list[dict]:
    """Rows with the factors, the number of the iteration, the moment at which it was started (s since 1970) and its time
    (s)."""
    rows, counted = [], [iteration for iteration in record["iterations"] if iteration["counts"]]
    last = counted[-1]
    for iteration in counted:
        wall = iteration["end"] - iteration["begin"]
        whole = {**row, "iteration": iteration["iteration"], "moment": iteration["moment"], "wall_seconds": wall}
        values = dict(iteration["values"])
        if iteration is last:
            # Of the mean time, and so once for a run: the mean of reciprocals would be more, the more times vary.
            values["in_an_hour"] = HOUR / mean(one["end"] - one["begin"] for one in counted)
        for name, metric in study["metrics"].items():
            if metric["benchmark"] == record["cell"]["benchmark"] and metric["source"] in values:
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
