"""What one command of a user has done over several workflows, so that all of them count as one.

`plimsoll reproduce` starts a workflow for each stage of measuring, and one for the pages. Each adds its steps to a file. A
command is recognised by its start (plimsoll.measuring.failing_groups).
"""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict

from plimsoll import documents
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan
from plimsoll.measuring import failing_groups, record
from plimsoll.planning import repetitions, timetable
from plimsoll.terminal.live import words

FILE = "logs/command.json"
# Set for a workflow that another one of the same command follows (plimsoll.rounds).
FOLLOWED = "PLIMSOLL_FOLLOWED"
# Share of a time budget that is for measuring.
SHARE = timetable.MEASURED


class Call(TypedDict):
    """Content of the file: when the command began (s since 1970), and what its workflows have done."""

    start: str
    began: float
    done: int
    repeated: int


class Later(NamedTuple):
    """What later workflows of this command are expected to do.

    Their `runs` are among their `steps`, and the seconds of `measuring` among their `seconds`. Measuring `ends` at this
    moment (s since 1970) however long runs take; None if no time was given.
    """

    steps: int = 0
    seconds: float = 0.0
    runs: int = 0
    measuring: float = 0.0
    ends: float | None = None

    def left(self, measuring: float, moment: float) -> float:
        """Return the seconds left at a `moment` in which this workflow needs so many more for `measuring`."""
        whole = measuring + self.measuring
        return self.seconds - self.measuring + (whole if self.ends is None else min(whole, max(0.0, self.ends - moment)))


def read(results: Path) -> tuple[Call, bool]:
    """Return what earlier workflows of this command have done, and whether this is its first workflow."""
    start = os.environ.get(failing_groups.VARIABLE, "")
    with contextlib.suppress(documents.Misfit):
        found = documents.load(results / FILE, Call)
        if start and found["start"] == start:
            return found, False
    return {"start": start, "began": time.time(), "done": 0, "repeated": 0}, True


def write(results: Path, call: Call) -> None:
    """Save what this command has done so far. A full disk is no reason to stop."""
    with contextlib.suppress(OSError):
        (results / FILE).parent.mkdir(parents=True, exist_ok=True)
        record.write(results / FILE, dict(call))


def followed() -> bool:
    """Return whether another workflow of the same command follows this one."""
    return os.environ.get(FOLLOWED) == "1"


def later(results: Path, current: str, studies: Mapping[str, Study], plans: Mapping[str, Plan]) -> Later:
    """Return what follows the workflow that measures a stage of the `current` study: the rest of it, and studies after it.

    `studies` are those of the command, in order. Nothing is known of a workflow that no other one follows.
    """
    if not followed():
        return Later()
    hours = repetitions.read_request(results / current, plans[current]["profile"]).hours or {}
    budget = SHARE * 3600 * hours["given"][-1] if hours.get("given") else None
    names = list(studies)
    parts = [_pages(studies[name]) for name in names]
    if hours.get("stage") == "first":
        parts.append(_stage(plans[current], budget, _seconds(plans[current])))
    for name in names[names.index(current) + 1 :] if current in names else ():
        parts.append(_stage(plans[name], budget if studies[name].design.factors.STAGES else None))
    whole = Later(*(sum(part[place] for part in parts) for place in range(4)))
    return whole._replace(ends=timetable.measured_by() if budget else None)


def _pages(study: Study) -> Later:
    rules = [*words.PAGES, *("figure" for _ in study["figures"]), *("table" for _ in study.get("tables", {}))]
    return Later(len(rules), sum(words.STAGES[rule].seconds for rule in rules))


def _seconds(plan: Plan) -> float:
    """Return the seconds that the runs of a plan are expected to take."""
    return sum(plan["cells"][cell]["expected_seconds"] for cell, _ in plan["order"])


def _stage(plan: Plan, budget: float | None, spent: float = 0.0) -> Later:
    """Return runs like those of a plan in a budget of seconds of which some are `spent`; None is for the plan itself."""
    whole, number = _seconds(plan), len(plan["order"])
    seconds = whole if budget is None else max(0.0, budget - spent)
    runs = round(number * seconds / whole) if whole else 0
    return Later(runs, seconds, runs, seconds)
