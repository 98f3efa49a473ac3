"""Checks of the names in an interference study and in its claims."""

from pathlib import Path

from plimsoll import design, runtimes, workloads
from plimsoll.claims import book
from plimsoll.designs.interference.cells import CASES
from plimsoll.designs.interference.factors import CO_RUNNERS
from plimsoll.designs.interference.words import STATISTICS
from plimsoll.errors import PlimsollError
from plimsoll.figures import sources
from plimsoll.workloads.base import Microservice


class Check(design.Check):
    """Checks of an interference study."""

    NAMED = ("case", "co_runner", "benchmark", "statistic")

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check a study's microservices, metrics, runtimes, charts and the metrics of its tables.

        Call `refer` with each name and the names that are known; it raises PlimsollError for an unknown one. Raise
        PlimsollError too for a runtime that cannot keep single containers up, and for a figure that does not fit its chart.
        """
        known = sorted(workloads.of_kind(Microservice))
        for name, experiment in study["experiments"].items():
            refer(f"experiments.{name}.benchmark", experiment["benchmark"], known)
            refer(f"experiments.{name}.runtime", experiment["runtime"], sorted(runtimes.known()))
            for runtime in experiment["runtime"]:
                if not runtimes.find(runtime).services:
                    raise PlimsollError(
                        f"{source}: experiments.{name}.runtime: {runtime} cannot keep a single container running. Name "
                        "another runtime."
                    )
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for name, metric in study["metrics"].items():
            refer(f"metrics.{name}.benchmark", [metric["benchmark"]], benchmarks)
        sources.check(study, source, Path(__file__).with_name("charts"), refer)
        for name, table in study.get("tables", {}).items():
            refer(f"tables.{name}.metrics", table.get("metrics", []), list(study["metrics"]))

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the cases, co-runners, microservices and statistics that a claim names.

        A co-runner may be a word for several (CO_RUNNERS). Call `refer` with each name and the names that are known; it
        raises PlimsollError for an unknown one. Raise PlimsollError too if only one of the claim's two sides names a
        statistic or a benchmark.
        """
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for side, levels in book.levels_of(claim):
            refer(f"{side}.case", levels.get("case", []), list(CASES))
            refer(f"{side}.co_runner", levels.get("co_runner", []), [*benchmarks, *CO_RUNNERS])
            refer(f"{side}.benchmark", levels.get("benchmark", []), benchmarks)
            refer(f"{side}.statistic", levels.get("statistic", []), list(STATISTICS))
        for factor in ("statistic", "benchmark") if not {"parts", "untestable"} & set(claim) else ():
            if (factor in claim.get("a", {})) != (factor in claim.get("b", {})):
                raise PlimsollError(
                    f"config/claims/{study['id']}.yaml: {claim['id']}: only one of the sides a and b names a {factor}. "
                    "Name it in both, or in neither."
                )
