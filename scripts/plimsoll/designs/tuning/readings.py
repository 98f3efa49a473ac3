"""Makes observations from a record of a study of tuning: one per metric, from the run's job on data of one size."""

import math

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.tuning.factors import TuningRecord


def values(job: dict) -> dict[str, float]:
    """Return a job's values by the names that metrics refer to.

    `time` and `cpu` are the job's time and the processor time of its tasks (s). `spills` is how often a map task spilled a
    record, and `maps` is the number of map tasks. The others are amounts of data (bytes).
    """
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


class Readings(design.Readings):
    """Observations of a study of tuning."""

    def observations(self, study: dict, row: dict, record: TuningRecord) -> list[dict]:
        """Return rows with the factors, one for each metric whose size of data the run measured."""
        of_size = {job["size"]: values(job) for job in record["jobs"]}
        rows = []
        for name, metric in study["metrics"].items():
            size, _, source = metric["source"].partition(".")
            if size in of_size:
                rows.append(observation.row(row, name, metric, of_size[size][source]))
        return rows

    def of_run(self, record: TuningRecord) -> dict:
        """Return the number of jobs that ended well, and the workers that were lost."""
        told = {"jobs": len(record["jobs"])} if "jobs" in record else {}
        return {**told, "lost_workers": " ".join(record["lost"])} if record.get("lost") else told

    def tests(self, study: dict, observations):
        """Return one row per metric, runtime and strategy (`statistics.changes`). The paper makes no tests."""
        from plimsoll.designs.tuning import statistics

        return statistics.changes(observations)
