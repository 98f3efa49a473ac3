"""From a record of a splitting study to its observations."""

from pathlib import Path

from plimsoll.designs.splitting.factors import SplittingPlan, SplittingRecord
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import status


def observations(study: dict, row: dict, record: SplittingRecord) -> list[dict]:
    """Every metric of the cell's section, sizes and instrument that the run has the values for."""
    rows = []
    for name, metric in study["metrics"].items():
        if metric["section"] != row["section"] or metric.get("sizes", row["sizes"]) != row["sizes"]:
            continue
        # A run under an instrument has the ordinary values too: the difference is what the instrument costs.
        if metric["instrument"] not in (Instrument.name, row["instrument"]):
            continue
        if all(source in record["values"] for source in metric["source"]):
            described = {key: metric[key] for key in ("label", "unit", "better")}
            value = sum(record["values"][source] for source in metric["source"])
            censored = record["status"] == status.CENSORED
            measured = {"metric": name, **described, "value": value, "censored": censored}
            rows.append({**row, **measured})
    return rows


def of_run(record: SplittingRecord) -> dict:
    """How the messages went."""
    carried = record.get("transport", {})
    return {
        "transport": carried.get("carried_by"),
        "single_copy": carried.get("single_copy"),
        "network_bytes": carried.get("network_bytes"),
    }


def measuring(observations):
    """Observations of runs without an instrument."""
    return observations[observations["instrument"] == Instrument.name]


def gather(study: dict, plan: SplittingPlan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Every function of an MPI profile, as `profile`."""
    # Here, because reading a single record needs no table.
    from plimsoll.designs.splitting import profiles

    experiment = study["experiments"][study["figures"][name]["experiment"]]
    return {"profile": profiles.gather(folder, plan, runs)} if experiment.get("instrument") == "mpi" else {}
