"""Turn records of a study of nesting into observations: one for each metric that a run has a value of."""

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.nesting.factors import NestingRecord


class Readings(design.Readings):
    """Observations of a study of nesting."""

    def observations(self, study: dict, row: dict, record: NestingRecord) -> list[dict]:
        """Return one row, with the factors in `row`, for each metric of the cell's task that the record has a value of."""
        return [
            observation.row(row, name, metric, record["values"][metric["source"]])
            for name, metric in study["metrics"].items()
            if record["cell"]["task"] in metric["task"] and metric["source"] in record["values"]
        ]

    def of_run(self, record: NestingRecord) -> dict:
        """Return a run's column in the table of runs: how far `apart` its instances began (s).

        The dict is empty if the record does not say.
        """
        return {"apart": record["apart"]} if "apart" in record else {}

    def tests(self, study: dict, observations):
        """Return one row per metric and cell (`statistics.of_cells`). The paper makes no tests."""
        from plimsoll.designs.nesting import statistics

        return statistics.of_cells(observations)
