"""Reads a job's history, and decides whether the job counts."""

from plimsoll.designs.tuning import strategies
from plimsoll.services.hadoop.prices import Prices
from plimsoll.workloads.base import InvalidOutput

# Hadoop's counters in the record, by their names there.
COUNTERS = {
    "input_records": "MAP_INPUT_RECORDS",
    "map_output_records": "MAP_OUTPUT_RECORDS",
    "map_output_bytes": "MAP_OUTPUT_BYTES",
    "materialized_bytes": "MAP_OUTPUT_MATERIALIZED_BYTES",
    "shuffled_bytes": "REDUCE_SHUFFLE_BYTES",
    "spilled_records": "SPILLED_RECORDS",
    "written_bytes": "FILE_BYTES_WRITTEN",
    "cpu_milliseconds": "CPU_MILLISECONDS",
    "output_records": "REDUCE_OUTPUT_RECORDS",
}
# Value of a key that the daemons do not serve. The record has the served values, defaults included, of all strategies' keys.
ABSENT = "not set"


def job(size: str, history: dict, data: Prices, settings: dict[str, str], known: dict[str, dict]) -> dict:
    """Return a job's part of the record: its times (s), tasks, counters of maps and of reduces, and served settings.

    `served` has the daemons' values for the keys of all strategies in `known`. InvalidOutput if the daemons did not serve the
    job's `settings`, or if the job lost records of its `data`.
    """
    told, counters = history["job"], history["counters"]
    keys = sorted({key for strategy in known.values() for key in strategy.get("settings", {})})
    served = {key: strategies.text(history["conf"].get(key, ABSENT)) for key in keys}
    if differing := {key: served[key] for key, value in settings.items() if not _same(served[key], value)}:
        key, value = next(iter(differing.items()))
        raise InvalidOutput(f"the job had {key} = {value}, and was given {settings[key]}")
    found = {
        name: {side: counters.get(counter, {}).get(side, 0) for side in ("map", "reduce")} for name, counter in COUNTERS.items()
    }
    if (read := found["input_records"]["map"]) != data.records:
        raise InvalidOutput(f"the job read {read} records of {data.records}")
    if (made := found["output_records"]["reduce"]) != data.distinct:
        raise InvalidOutput(f"the job made {made} records, and {data.distinct} are distinct")
    return {
        "size": size,
        "job": told["id"],
        "bytes": data.bytes,
        "records": data.records,
        "distinct": data.distinct,
        "seconds": (told["finishTime"] - told["submitTime"]) / 1000,
        "before_start_seconds": (told["startTime"] - told["submitTime"]) / 1000,
        "maps": told["mapsCompleted"],
        "reduces": told["reducesCompleted"],
        "failed_tasks": sum(told[f"{end}{side}Attempts"] for end in ("failed", "killed") for side in ("Map", "Reduce")),
        "task_seconds": {name: told[f"avg{name.capitalize()}Time"] / 1000 for name in ("map", "shuffle", "merge", "reduce")},
        "counters": found,
        "served": served,
    }


def _same(served: str, given: str) -> bool:
    try:
        return float(served) == float(given)
    except ValueError:
        return served == given


def problem(jobs: list[dict], lost: list[str]) -> str | None:
    """Return why a run does not count although its jobs ended well; None if it counts.

    The reasons are a worker that was lost, and a task that ran more than once.
    """
    if lost:
        return f"the worker {lost[0]} ended during the job, which succeeded nevertheless"
    again = sum(one["failed_tasks"] for one in jobs)
    return f"{again} task{' was' if again == 1 else 's were'} made again" if again else None
