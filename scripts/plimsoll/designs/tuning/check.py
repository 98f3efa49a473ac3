"""Checks of the names in a study of tuning and its claims against what they refer to."""

from pathlib import Path

from plimsoll import design, runtimes
from plimsoll.claims import book
from plimsoll.designs.tuning.factors import BASELINE, Factors
from plimsoll.designs.tuning.strategies import parts
from plimsoll.errors import PlimsollError
from plimsoll.figures import sources


class Check(design.Check):
    """Checks of a study of tuning."""

    NAMED = Factors.FACTORS

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check the names of strategies, runtimes, metrics and files in a study. PlimsollError for a wrong one."""
        known = study["strategies"]
        if "workers" not in known.get(BASELINE, {}):
            raise PlimsollError(
                f"{source}: strategies.{BASELINE}.workers is missing. Add it: the other strategies have as many "
                "workers, unless they have a number of their own."
            )
        for name, experiment in study["experiments"].items():
            if ("strategy" in experiment) == ("factors" in experiment):
                raise PlimsollError(f"{source}: experiments.{name}: it needs either `strategy` or `factors`.")
            refer(f"experiments.{name}.strategy", experiment.get("strategy", []), list(known))
            refer(f"experiments.{name}.factors", experiment.get("factors", []), [name for name in known if name != BASELINE])
            refer(f"experiments.{name}.runtime", experiment["runtime"], sorted(runtimes.known()))
            for runtime in experiment["runtime"]:
                found = runtimes.find(runtime)
                if not found.services or found.own_kernels or found.nested:
                    raise PlimsollError(
                        f"{source}: experiments.{name}.runtime: {runtime} cannot keep the nodes of a cluster running. Name "
                        "another runtime."
                    )
        for name, table in study.get("tables", {}).items():
            refer(f"tables.{name}.metrics", table["metrics"], list(study["metrics"]))
        sources.check(study, source, Path(__file__).with_name("charts"), refer)

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the strategies, alone or combined, and the runtimes that a claim names. PlimsollError for an unknown one."""
        for side, levels in book.levels_of(claim):
            named = [part for strategy in levels.get("strategy", []) for part in parts(strategy)]
            refer(f"{side}.strategy", named, list(study["strategies"]))
            refer(f"{side}.runtime", levels.get("runtime", []), sorted(runtimes.known()))
