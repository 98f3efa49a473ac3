"""Turn the records of an interference study into observations: one metric of one iteration that counts."""

from plimsoll import design
from plimsoll.analysis import observation
from plimsoll.designs.interference.factors import InterferenceRecord


class Readings(design.Readings):
    """Observations of an interference study."""

    def observations(self, study: dict, row: dict, record: InterferenceRecord) -> list[dict]:
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
                        rows.append(observation.row(whole, name, metric, values[metric["source"]]))
        return rows

    def of_run(self, record: InterferenceRecord) -> dict:
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

    def tests(self, study: dict, observations):
        """Return the statistics of section 5 and the interference ratios with their intervals (`tests.statistics_of`)."""
        from plimsoll.designs.interference import tests

        return tests.statistics_of(observations)
