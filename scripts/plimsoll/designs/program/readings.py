"""Makes observations from a record of a study of a program: one per metric and run, the mean of its program runs."""

from statistics import mean

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.program.factors import ProgramRecord


class Readings(design.Readings):
    """Observations of a study of a program."""

    def observations(self, study: dict, row: dict, record: ProgramRecord) -> list[dict]:
        """Return one row per metric. Its value is the mean of the program's runs in this start of the node."""
        rows = []
        for name, metric in study["metrics"].items():
            values = [timed["values"][name] for timed in record["timed"] if name in timed["values"]]
            if values:
                rows.append(observation.row(row, name, metric, mean(values)))
        return rows
