"""Turn the records of an interference study into observations: one metric of one iteration that counts."""

from pathlib import Path

from plimsoll.designs.interference.factors import InterferenceRecord
from plimsoll.interchange import Plan


def observations(study: dict, row: dict, record: InterferenceRecord) -> list[dict]:
    """Return one row per metric and iteration that counts, with the factors in `row`.

    A row also has `benchmark`, `co_runner`, the iteration's `place` in the pair, and its processor time and wall time
    in seconds.
    """
    rows = []
    members = record["cell"]["members"]
    for member in record["iterations"]:
        place, benchmark = member["place"], member["benchmark"]
        co_runner = members[1 - place] if len(members) == 2 else "none"
        for iteration in member["iterations"]:
            if not iteration["counts"]:
                continue
            wall = iteration["end"] - iteration["begin"]
            whole = {
                **row,
                "benchmark": benchmark,
                "co_runner": co_runner,
                "place": place,
                "iteration": iteration["iteration"],
                "begin": iteration["begin"],
                "cpu_seconds": iteration["user_seconds"] + iteration["system_seconds"],
                "wall_seconds": wall,
            }
            values = {**iteration["values"], "processors_used": whole["cpu_seconds"] / wall}
            for name, metric in study["metrics"].items():
                if metric["benchmark"] == benchmark:
                    described = {key: metric[key] for key in ("label", "unit", "better")}
                    value = values[metric["source"]] * metric.get("factor", 1)
                    rows.append({**whole, "metric": name, **described, "value": value, "censored": False})
    return rows


def of_run(record: InterferenceRecord) -> dict:
    """Return a run's columns in the table of runs: `iterations`, `counted` and `share_counted`.

    The dict is empty if the run recorded no iterations. `iterations` and `counted` are texts with one number per
    member. `share_counted` is the smaller of the members' shares.
    """
    members = [member["iterations"] for member in record.get("iterations", [])]
    if not members:
        return {}
    counted = [sum(iteration["counts"] for iteration in iterations) for iterations in members]
    return {
        "iterations": " ".join(str(len(iterations)) for iterations in members),
        "counted": " ".join(map(str, counted)),
        "share_counted": min(count / max(1, len(each)) for count, each in zip(counted, members, strict=True)),
    }


def measuring(observations):
    """Return all observations: no run of this design is watched by an instrument."""
    return observations


def gather(study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Return an empty dict: figures need no tables beside the observations."""
    return {}
