"""Names in a study of nesting and its claims, against what they refer to."""

from pathlib import Path

from plimsoll import environments
from plimsoll.claims import book
from plimsoll.design import Refer
from plimsoll.designs.nesting.contrasts import EVERY, MOST, WORDS
from plimsoll.designs.nesting.factors import CPU, TASKS
from plimsoll.errors import PlimsollError
from plimsoll.figures import sources


def study(study: dict, source: str, refer: Refer) -> None:
    """Names of runtimes, metrics, experiments and files."""
    for name, experiment in study["experiments"].items():
        refer(f"experiments.{name}.runtime", experiment["runtime"], sorted(environments.known()))
        for runtime in experiment["runtime"]:
            if experiment["task"] != CPU and not hasattr(environments.find(runtime), "foreground"):
                raise PlimsollError(f"{source}: experiments.{name}.runtime: {runtime} does not create containers one by one.")
    refer("asks", study.get("asks", []), [runtime for one in study["experiments"].values() for runtime in one["runtime"]])
    for kind in ("figures", "tables"):
        for name, item in study.get(kind, {}).items():
            refer(f"{kind}.{name}.experiment", [item["experiment"], *item.get("beside", [])], list(study["experiments"]))
            refer(f"{kind}.{name}.metrics", item["metrics"], list(study["metrics"]))
    sources.check(study, source, Path(__file__).with_name("charts"), refer)


def claim(study: dict, claim: dict, refer: Refer) -> None:
    """Tasks, runtimes and numbers, or words for them."""
    numbers = {
        key: sorted({str(number) for one in study["experiments"].values() for number in one.get(key, [1])}, key=int)
        for key in ("instances", "children")
    }
    for side, levels in book.levels_of(claim):
        refer(f"{side}.task", levels.get("task", []), list(TASKS))
        refer(f"{side}.runtime", levels.get("runtime", []), [*sorted(environments.known()), "vm"])
        refer(f"{side}.instances", levels.get("instances", []), [*numbers["instances"], *WORDS, EVERY])
        refer(f"{side}.children", levels.get("children", []), [*numbers["children"], EVERY])
        refer(f"{side}.total", levels.get("total", []), ["256", MOST])
