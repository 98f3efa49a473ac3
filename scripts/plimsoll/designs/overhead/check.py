"""Checks of the names in a study of overhead and its claims against what they refer to."""

from pathlib import Path

from plimsoll import design, runtimes, workloads
from plimsoll.claims import book
from plimsoll.designs.overhead.factors import BARE, STORAGE, Factors
from plimsoll.errors import PlimsollError
from plimsoll.figures import sources
from plimsoll.workloads.base import Microservice


class Check(design.Check):
    """Checks of a study of overhead."""

    # Claims also name successive trials as a trend. Testing that needs a rotating disk.
    NAMED = (*Factors.FACTORS, "trial")

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check the names of benchmarks, metrics, runtimes and files in a study. PlimsollError for a wrong one."""
        for name, experiment in study["experiments"].items():
            refer(f"experiments.{name}.benchmark", experiment["benchmark"], sorted(workloads.of_kind(Microservice)))
            refer(f"experiments.{name}.runtime", experiment["runtime"], sorted(runtimes.known()))
            for runtime in experiment["runtime"]:
                if runtime != BARE and not runtimes.find(runtime).services:
                    raise PlimsollError(
                        f"{source}: experiments.{name}.runtime: {runtime} cannot keep a single node running. Name another "
                        "runtime."
                    )
            for benchmark in experiment["benchmark"]:
                if ("disk" in workloads.find(benchmark).resources) != ("storage" in experiment):
                    raise PlimsollError(
                        f"{source}: experiments.{name}.storage: benchmarks of the disk need this key, and others must not "
                        "have it."
                    )
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for name, metric in study["metrics"].items():
            refer(f"metrics.{name}.benchmark", [metric["benchmark"]], benchmarks)
        refer("asks", study.get("asks", []), [name for one in study["experiments"].values() for name in one["runtime"]])
        for name, table in study.get("tables", {}).items():
            refer(f"tables.{name}.metrics", table["metrics"], list(study["metrics"]))
        sources.check(study, source, Path(__file__).with_name("charts"), refer)

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the benchmarks, runtimes and storage that a claim names. PlimsollError for an unknown one."""
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        for side, levels in book.levels_of(claim):
            refer(f"{side}.benchmark", levels.get("benchmark", []), benchmarks)
            refer(f"{side}.runtime", levels.get("runtime", []), sorted(runtimes.known()))
            refer(f"{side}.storage", levels.get("storage", []), list(STORAGE))
