"""Microservices alone and in pairs, in one container or in two: jha2018's and jha2021's cases."""

import json

from plimsoll import microservices, paths, runtimes
from plimsoll.designs.base import Attempt, Design
from plimsoll.errors import PlimsollError


class Interference(Design):
    """Cells are a microservice alone, or a pair of them, in one of the cases."""

    name = "interference"
    factors = ("case", "pair", "runtime")
    of_observation = ("benchmark", "co_runner", "place", "iteration", "begin", "cpu_seconds", "wall_seconds")
    of_run = ("iterations", "counted", "share_counted")
    pattern = "(?:1|2|3a|3b)/[a-z_+]+/[a-z-]+"
    template = "interference.html.j2"

    def check(self, study: dict, source: str, refer) -> None:
        """Names of microservices, metrics, runtimes and reference tables."""
        known = sorted(microservices.known())
        for name, experiment in study["experiments"].items():
            refer(f"experiments.{name}.benchmark", experiment["benchmark"], known)
            refer(f"experiments.{name}.runtime", experiment["runtime"], sorted(runtimes.known()))
            for runtime in experiment["runtime"]:
                if not runtimes.find(runtime).services:
                    raise PlimsollError(f"{source}: experiments.{name}.runtime: {runtime} cannot keep single containers up.")
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for name, metric in study["metrics"].items():
            refer(f"metrics.{name}.benchmark", [metric["benchmark"]], benchmarks)
        for name, table in study.get("measured_tables", {}).items():
            refer(f"measured_tables.{name}.metrics", table.get("metrics", []), list(study["metrics"]))
            printed = [table["reference"]] if "reference" in table else []
            refer(f"measured_tables.{name}.reference", printed, [path.stem for path in paths.REFERENCE.glob("*.csv")])

    def check_claim(self, study: dict, claim: dict, refer) -> None:
        """Cases and microservices, or words for them."""
        from plimsoll.interference.cells import CASES
        from plimsoll.interference.contrasts import WORDS

        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for side in ("a", "b", "scope"):
            levels = claim.get(side, {})
            refer(f"{side}.case", levels.get("case", []), list(CASES))
            refer(f"{side}.co_runner", levels.get("co_runner", []), [*benchmarks, *WORDS])
            refer(f"{side}.benchmark", levels.get("benchmark", []), benchmarks)

    def repetitions(self, profile: dict) -> int:
        """The profile's number for studies of interference."""
        return profile["interference"]["repetitions"]

    def wanted(self, study, profile, host, config, unavailable) -> list[tuple[str, dict]]:
        """Each microservice alone, and every pair in the other cases."""
        from plimsoll.interference import cells

        return cells.wanted(study, profile, host, config, unavailable)

    def shown(self, plan: dict, study: dict, name: str) -> list[dict]:
        """Cells in which a microservice of the metrics runs."""
        from plimsoll.interference import cells

        return cells.shown(plan, study, name)

    def attempt(self, attempt: Attempt) -> dict:
        """Microservices over and over, in the cell's containers."""
        from plimsoll.interference import run

        return run.attempt(attempt)

    def observations(self, study: dict, row: dict, found: dict) -> list[dict]:
        """Every metric of every iteration that counts."""
        from plimsoll.interference import observe

        return observe.observations(study, row, found)

    def run(self, found: dict) -> dict:
        """How many iterations each member made, and how many of them count."""
        from plimsoll.interference import observe

        return observe.shares(found)

    def tests(self, study: dict, observations):
        """The statistics of section 5 and the interference ratio with its interval, a row a metric and view of a cell."""
        from plimsoll.interference import table

        return table.statistics_of(observations)

    def asking(self, plan: dict, study: dict):
        """By case and co-runner."""
        from plimsoll.interference import contrasts

        return contrasts.asking(plan, study)

    def table(self, study: dict, name: str, folder):
        """Statistics, versions, operations, or which pairs may share a container."""
        from plimsoll.interference import paper_tables

        return paper_tables.make(study, name, folder)

    def short(self, path: str, metric: dict) -> str:
        """As in the papers: 2 L(+S)."""
        case, pair, _ = path.split("/")
        members = pair.split("+")
        own = metric["benchmark"]
        letter = microservices.find(own).short
        if len(members) == 1:
            return f"{case} {letter}"
        members.remove(own)
        return f"{case} {letter}(+{microservices.find(members[0]).short})"

    def notebook(self, plan: dict, study: dict, name: str) -> dict:
        """The microservices, whose metrics these are, and what the papers print of them."""
        from plimsoll.interference import cells, papers

        figure = study["figures"][name]
        experiment = study["experiments"][figure["experiment"]]
        described = microservices.described(cells.parameters(plan))
        metrics = {metric: study["metrics"][metric] for metric in figure["metrics"]}
        printed = papers.printed(study)
        return {
            "of_cell": ("members",),
            "benchmarks": {name: described[name] for name in experiment["benchmark"] if name in described},
            "benchmark_of": {metric: found["benchmark"] for metric, found in metrics.items()},
            "metrics": {metric: {key: found[key] for key in ("label", "unit", "better")} for metric, found in metrics.items()},
            "paper": json.loads(printed[printed["metric"].isin(metrics)].to_json(orient="records")),
            # Charts show the first of the study's runtimes.
            "runtime": experiment["runtime"][0],
        }

    def report(self, folder, study, plan, observations, runs, tests) -> dict:
        """The protocol, shares of iterations that count, limits as seen from inside, tables and recommendations."""
        from plimsoll.interference import report

        return report.content(folder, study, plan, observations, runs, tests)


DESIGNS = (Interference(),)
