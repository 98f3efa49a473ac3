"""What one command of a user has done over several workflows, so that all of them count as one.

`make reproduce` starts a workflow for each stage of measuring, and one for the pages. Each adds its steps to a file. A
command is recognised by its start (plimsoll.measuring.given_up).
"""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypedDict

from plimsoll import documents
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan
from plimsoll.measuring import given_up, record
from plimsoll.planning import repetitions
from plimsoll.terminal.live import words

FILE = "logs/command.json"
# Set for a workflow that another one of the same command follows (plimsoll.rounds).
FOLLOWED = "PLIMSOLL_FOLLOWED"
# Share of a time budget that is for measuring (plimsoll.hours.FOR_MEASURING).
SHARE = 0.92


class Call(TypedDict):
    """Content of the file: when the command began (s since 1970), and what its workflows have done."""

    start: str
    began: float
    done: int
    repeated: int


class Later(NamedTuple):
    """What later workflows of this command are expected to do. Their `runs` are among their `steps`."""

    steps: int = 0
    seconds: float = 0.0
    runs: int = 0


def read(results: Path) -> tuple[Call, bool]:
    """Return what earlier workflows of this command have done, and whether this is its first workflow."""
    start = os.environ.get(given_up.VARIABLE, "")
    with contextlib.suppress(documents.Misfit):
        found = documents.of(results / FILE, Call)
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


def later(folder: Path, study: Study, plan: Plan) -> Later:
    """Return what follows the workflow that measures a stage of a study, with its results in `folder`."""
    if not followed():
        return Later()
    rules = [*words.PAGES, *("figure" for _ in study["figures"]), *("table" for _ in study.get("tables", {}))]
    seconds = sum(words.STAGES[rule].seconds for rule in rules)
    runs, measuring = _second_stage(folder, plan)
    return Later(len(rules) + runs, seconds + measuring, runs)


def sum_of(parts: Iterable[Later]) -> Later:
    """Return what several studies will do together."""
    return Later(*map(sum, zip(*parts, strict=True))) if (parts := list(parts)) else Later()


def _second_stage(folder: Path, plan: Plan) -> tuple[int, float]:
    """Return (runs, seconds) of a second stage, which takes what the first leaves of its time budget."""
    hours = repetitions.asked(folder, plan["profile"]).hours or {}
    if hours.get("stage") != "first" or not plan["order"]:
        return 0, 0.0
    first = sum(plan["cells"][cell]["expected_seconds"] for cell, _ in plan["order"])
    left = max(0.0, SHARE * 3600 * hours["given"][-1] - first)
    return round(left * len(plan["order"]) / first) if first else 0, left
