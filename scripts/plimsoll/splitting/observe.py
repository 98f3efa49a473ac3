"""From a record of a splitting study to its observations."""

from plimsoll.instruments.base import Instrument


def observations(study: dict, row: dict, found: dict) -> list[dict]:
    """Every metric of the cell's section, sizes and instrument that the run has the values for."""
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
            rows.append({**row, **measured})
    return rows
