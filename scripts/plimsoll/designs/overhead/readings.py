"""Makes observations from a record of a study of overhead: one per metric and iteration that counts."""

from statistics import mean

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.overhead.factors import OverheadRecord

# Seconds in an hour: besides what the benchmark prints, a run gives the number of iterations in an hour (1/h).
HOUR = 3600.0


class Readings(design.Readings):
    """Observations of a study of overhead."""

    def observations(self, study: dict, row: dict, record: OverheadRecord) -> list[dict]:
        """Return rows with the factors, the number, start (s since 1970) and duration (s) of the iteration, and its value.

        There is one row per metric and iteration that counts. The metric of iterations in an hour has one row per run.
        """
        rows, counted = [], [iteration for iteration in record["iterations"] if iteration["counts"]]
        last = counted[-1]
        for iteration in counted:
            wall = iteration["end"] - iteration["begin"]
            whole = {**row, "iteration": iteration["iteration"], "moment": iteration["moment"], "wall_seconds": wall}
            values = dict(iteration["values"])
            if iteration is last:
                # Computed once per run, from the mean time: the mean of reciprocals would grow with the variation of the times.
                values["in_an_hour"] = HOUR / mean(one["end"] - one["begin"] for one in counted)
            for name, metric in study["metrics"].items():
                if metric["benchmark"] == record["cell"]["benchmark"] and metric["source"] in values:
                    rows.append(observation.row(whole, name, metric, values[metric["source"]]))
        return rows

    def of_run(self, record: OverheadRecord) -> dict:
        """Return the number of iterations of a run, and how many of them count."""
        made = record.get("iterations")
        return {"iterations": len(made), "counted": sum(one["counts"] for one in made)} if made else {}

    def tests(self, study: dict, observations):
        """Return one row per metric and cell (`statistics.of_cells`). The paper makes no tests."""
        from plimsoll.designs.overhead import statistics

        return statistics.of_cells(observations)
