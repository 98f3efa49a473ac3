"""Makes observations from a record of a splitting study."""

from pathlib import Path

from plimsoll.designs.splitting.factors import SplittingPlan, SplittingRecord
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import status


def observations(study: dict, row: dict, record: SplittingRecord) -> list[dict]:
    """Return one row per metric of the cell's section, sizes and instrument for which the run has the values."""
    rows = []
    for name, metric in study["metrics"].items():
        if metric["section"] != row["section"] or metric.get("sizes", row["sizes"]) != row["sizes"]:
            continue
        # A run under an instrument has the ordinary values too: their difference is what the instrument costs.
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
    """Return how messages travelled: the transport, the single-copy mechanism and the bytes that crossed the network."""
    carried = record.get("transport", {})
    return {
        "transport": carried.get("carried_by"),
        "single_copy": carried.get("single_copy"),
        "network_bytes": carried.get("network_bytes"),
    }


def measuring(observations):
    """Return the observations of runs without an instrument."""
    return observations[observations["instrument"] == Instrument.name]


def gather(study: dict, plan: SplittingPlan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
    """Return the functions of each run's MPI profile as the table `profile`, if the figure is made from such runs."""
    # Imported here, because reading a single record needs no table.
    from plimsoll.designs.splitting import profiles

    experiment = study["experiments"][study["figures"][name]["experiment"]]
    return {"profile": profiles.gather(folder, plan, runs)} if experiment.get("instrument") == "mpi" else {}
