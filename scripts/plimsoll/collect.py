"""From records to observations: one metric of one valid run a row. The other runs are listed with the reason."""

import json
from pathlib import Path

import pandas as pd

from plimsoll import plan as planning
from plimsoll import record
from plimsoll.errors import PlimsollError
from plimsoll.instruments.base import Instrument

FACTORS = list(planning.FACTORS)
SIZES = ["containers", "ranks", "ranks_per_container", "cores"]
OBSERVATION = ["study", *FACTORS, *SIZES, "section", "metric", "label", "unit", "better", "value", "censored"]
RUN = ["repetition", "place_in_order", "started", "fingerprint", "profile"]


def collect(folder: Path, plan: dict, study: dict, wanted: list[tuple[str, int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(observations, runs) of the wanted runs, from the records below `folder`/runs.

    `runs` has a row a run: its status and reason, how its messages went, and what neighbours used. Raises PlimsollError if
    the runs did not all run the same bits.
    """
    observations, runs, bits = [], [], Bits()
    for cell_path, repetition in wanted:
        path = record.path_of(folder / "runs", cell_path, repetition)
        cell = plan["cells"][cell_path]
        row = {**{key: cell[key] for key in (*FACTORS, *SIZES, "section")}, "repetition": repetition}
        try:
            found = record.read(path)
        except record.Damaged as damage:
            runs.append({**row, "status": "damaged", "reason": str(damage)})
            continue
        if found["fingerprint"] != cell["fingerprint"]:
            reason = "it was measured with other parameters than the plan's: delete the record, and it is measured again"
            runs.append({**row, "status": "stale", "reason": reason})
            continue
        runs.append({**row, **_run(found)})
        if found["status"] == "valid":
            bits.add(path, found)
        if found["status"] in record.COUNTED:
            observations.extend(_observations(study, row, found))
    columns = [*OBSERVATION, *RUN]
    table = pd.DataFrame(observations, columns=columns)
    return table, pd.DataFrame(runs)


class Bits:
    """The build identifiers seen so far; a second one for the same object is refused."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, str, Path]] = {}

    def add(self, path: Path, found: dict) -> None:
        """Compare a record's objects, and its image, with those of the records before it."""
        for name, build_id in {**found["bits"], "the image": found["image"]["id"]}.items():
            first, runtime, where = self.seen.setdefault(name, (build_id, found["cell"]["runtime"], path))
            if first != build_id:
                raise PlimsollError(
                    f"{path}: {found['cell']['runtime']} did not run the same bits as {runtime} in {where}: {name} is "
                    f"{build_id[:16]} and not {first[:16]}; delete the records of the older image, and they are measured again."
                )


def _run(found: dict) -> dict:
    during = found.get("noise", {}).get("during", {})
    return {
        "status": found["status"],
        "reason": found.get("reason"),
        "attempts": found["attempts"],
        "invalid_attempts": "; ".join(f"{a['status']}: {a['reason']}" for a in found["invalid_attempts"]),
        "transport": found.get("transport", {}).get("carried_by"),
        "single_copy": found.get("transport", {}).get("single_copy"),
        "network_bytes": found.get("transport", {}).get("network_bytes"),
        "neighbour_share": during.get("neighbour_share"),
        "busy_share_before": found["noise"]["before"]["busy_share"],
        **{f"{part}_seconds": seconds for part, seconds in found["seconds"].items()},
        "place_in_order": found["place_in_order"],
        "started": found["started"],
        "raw": found["raw"],
    }


def _observations(study: dict, row: dict, found: dict) -> list[dict]:
    rows = []
    for name, metric in study["metrics"].items():
        if metric["section"] != row["section"] or metric.get("sizes", row["sizes"]) != row["sizes"]:
            continue
        # A run under an instrument has the ordinary values too: the difference is what the instrument costs.
        if metric["instrument"] not in (Instrument.name, row["instrument"]):
            continue
        if all(source in found["values"] for source in metric["source"]):
            described = {key: metric[key] for key in ("label", "unit", "better")}
            value = sum(found["values"][source] for source in metric["source"])
            censored = found["status"] == "censored"
            measured = {"metric": name, **described, "value": value, "censored": censored}
            rows.append({"study": study["id"], **row, **measured, **{k: found[k] for k in RUN}})
    return rows


def load_plan(folder: Path) -> dict:
    """The plan that lies in a study's results."""
    plan = json.loads((folder / "plan.json").read_text())
    plan["order"] = [tuple(run) for run in plan["order"]]
    return plan
