"""Checks of the names in a study of a program against what they refer to."""

import re
from pathlib import Path

from plimsoll import design
from plimsoll.claims import book
from plimsoll.designs.program import ladder
from plimsoll.designs.program.factors import BESIDE, LOOK, OWN_VALUES, STAGES, Factors
from plimsoll.errors import PlimsollError, quote
from plimsoll.figures import sources


class Check(design.Check):
    """Checks of a study of a program."""

    NAMED = Factors.FACTORS

    def study(self, study: dict, source: str, refer: design.Refer) -> None:
        """Check stages, runtimes and patterns of a study. PlimsollError for a wrong one."""
        refer("experiments", list(study["experiments"]), [*STAGES, LOOK, *BESIDE])
        for name, experiment in study["experiments"].items():
            refer(f"experiments.{name}.runtime", experiment["runtime"], list(ladder.everything()))
        for name, metric in study["metrics"].items():
            _check_metric(f"{source}: metrics.{name}", metric)
            check_name(f"{source}: metrics.{name}", name, metric["source"])
        for name in study["program"].get("metrics", {}):
            check_name(f"{source}: program.metrics.{name}", name)
        for number, pattern in enumerate(study["program"].get("filter", [])):
            check_pattern(f"{source}: program.filter.{number}", pattern)
        sources.check(study, source, Path(__file__).with_name("charts"), refer)

    def claim(self, study: dict, claim: dict, refer: design.Refer) -> None:
        """Check the stages and runtimes that a claim names. PlimsollError for an unknown one."""
        for side, levels in book.levels_of(claim):
            refer(f"{side}.runtime", levels.get("runtime", []), list(ladder.everything()))
            refer(f"{side}.stage", levels.get("stage", []), list(STAGES))


def _check_metric(key: str, metric: dict) -> None:
    if metric["source"] == "output":
        if "pattern" not in metric:
            raise PlimsollError(f"{key}.pattern: a metric of the output needs a pattern with one group for the number.")
        if check_pattern(f"{key}.pattern", metric["pattern"]).groups != 1:
            raise PlimsollError(f"{key}.pattern: {quote(metric['pattern'])} must have one group, ( ), around the number.")
    elif metric["source"] == "json" and not {"file", "key"} <= metric.keys():
        raise PlimsollError(f"{key}: a metric of a JSON file needs a file and a key.")


def check_name(key: str, name: str, source: str = "output") -> None:
    """Raise PlimsollError, which names the key, if a number of the output is called like what every run has."""
    if source != "program" and name in OWN_VALUES:
        raise PlimsollError(f"{key}: every run has a value {name} of its own: choose another name.")


def check_pattern(key: str, pattern: str) -> re.Pattern:
    """Return a regular expression. Raise PlimsollError, which names the key, if the pattern is not valid."""
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as problem:
        raise PlimsollError(f"{key}: {quote(pattern)} is no regular expression: {problem}.") from problem
