"""From a record of a study of tuning to its observations: one metric of a run's job on data of one size."""

import math
from pathlib import Path

from plimsoll.designs.tuning.factors import TuningRecord
from plimsoll.interchange import Plan


def values(job: dict) -> dict[str, float]:
    """What a job comes to, by the names that metrics refer to: its `time` and the processor time of its tasks (s), how often a
    map task spilled a record (`spills`), and what went where (bytes)."""
    counters = job["counters"]
    return {
        "time": job["seconds"],
        "cpu": sum(counters["cpu_milliseconds"].values()) / 1000,
        "maps": job["maps"],
        "spills": counters["spilled_records"]["map"] / records
        if (records := counters["map_output_records"]["map"])
        else math.nan,
        "output": counters["map_output_bytes"]["map"],
        "materialized": counters["materialized_bytes"]["map"],
        "shuffled": counters["shuffled_bytes"]["reduce"],
        "written": sum(counters["written_bytes"].values()),
    }


def observations(study: dict, row: dict, record: TuningRecord) -> list[dict]:
    """Rows with the factors, one for each metric whose size of data the run had."""
    of_size = {job["size"]: values(job) for job in record["jobs"]}
    rows = []
    for name, metric in study["metrics"].items():
        size, _, source = metric["source"].partition(".")
        if size in of_size:
            described = {key: metric[key] for key in ("label", "unit", "better")}
            value = of_size[size][source] * metric.get("factor", 1)
            rows.append({**row, "metric": name, **described, "value": value, "censored": False})
    return rows


def of_run(record: TuningRecord) -> dict:
    """How many jobs ended well, and which workers were lost."""
    told = {"jobs": len(record["jobs"])} if "jobs" in record else {}
    return {**told, "lost_workers": " ".join(record["lost"])} if record.get("lost") else told


def measuring(observations):
    """All of them: no run is watched."""
    return observations


def gather(study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Nothing beside the observations."""
    return {}
