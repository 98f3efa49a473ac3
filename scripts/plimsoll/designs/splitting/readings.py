"""Makes observations from a record of a splitting study."""

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.splitting.factors import SplittingRecord
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import status


class Readings(design.Readings):
    """Observations of a splitting study."""

    def observations(self, study: dict, row: dict, record: SplittingRecord) -> list[dict]:
        """Return one row per metric of the cell's section, sizes and instrument for which the run has the values."""
        rows = []
        for name, metric in study["metrics"].items():
            if metric["section"] != row["section"] or metric.get("sizes", row["sizes"]) != row["sizes"]:
                continue
            # A run under an instrument has the ordinary values too: their difference is what the instrument costs.
            if metric["instrument"] not in (Instrument.name, row["instrument"]):
                continue
            if all(source in record["values"] for source in metric["source"]):
                value = sum(record["values"][source] for source in metric["source"])
                rows.append(observation.row(row, name, metric, value, record["status"] == status.CENSORED))
        return rows

    def of_run(self, record: SplittingRecord) -> dict:
        """Return how messages travelled: the transport, the single-copy mechanism and the bytes that crossed the network."""
        carried = record.get("transport", {})
        return {
            "transport": carried.get("carried_by"),
            "single_copy": carried.get("single_copy"),
            "network_bytes": carried.get("network_bytes"),
        }

    def measuring(self, observations):
        """Return the observations of runs without an instrument."""
        return observations[observations["instrument"] == Instrument.name]

    def tests(self, study: dict, observations):
        """Return the tests of every cell against its references (`tests.of_study`), from runs without an instrument."""
        from plimsoll.designs.splitting import tests

        return tests.of_study(study, self.measuring(observations))
