"""Runtimes that are given up in one start of the workflow, because their first runs all failed alike.

The workflow then restarts without their other runs (plimsoll.measuring.stop). The next start tries them again. A start is one
command of a user: a workflow that restarts belongs to it, and so does each workflow that a stage or `make` starts.
"""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypedDict

from plimsoll import documents
from plimsoll.errors import shorten
from plimsoll.interchange import Cell, Plan, Record
from plimsoll.measuring import progress, record, status

VARIABLE = "PLIMSOLL_START"
FILE = "progress/given_up.json"
# Number of runs that must fail alike.
RUNS = 3
# Statuses that a runtime may cause. A disturbed run is not among them, because other programs cause it.
FAULTS = (status.FAILED, status.INVALID, status.TIMEOUT)
# Longest reason (characters).
LONGEST = 300
# Process numbers, identities of runs and times differ between runs that fail alike.
VARYING = re.compile("[0-9a-f]*[0-9][0-9a-f]*")


class Group(NamedTuple):
    """The cells of a runtime that have the same needs; `kind` says in words what they need of it."""

    runtime: str
    kind: str

    @property
    def text(self) -> str:
        """Return the name of the group, for messages and as a key."""
        return f"{self.runtime}, {self.kind}" if self.kind else self.runtime


class Noted(TypedDict):
    """Content of the file: which start it is, and reasons by the group's name."""

    start: str
    reasons: dict[str, str]


def begin() -> None:
    """Give this start an identifier, unless the process that started this one has done so."""
    os.environ.setdefault(VARIABLE, f"{os.getpid()}-{time.time_ns()}")


def reasons(study_folder: Path) -> dict[str, str]:
    """Return why groups of a study are given up in this start, by the group's name."""
    try:
        noted = documents.load(study_folder / FILE, Noted)
    except documents.Misfit:
        return {}
    return noted["reasons"] if noted["start"] == os.environ.get(VARIABLE) else {}


def note(study_folder: Path, group: Group, reason: str) -> None:
    """Give up a group for this start, for a reason."""
    begin()
    known = {**reasons(study_folder), group.text: reason}
    record.write(study_folder / FILE, {"start": os.environ[VARIABLE], "reasons": known})


def reason(study_folder: Path, plan: Plan, group: Group, group_of: Callable[[Cell], Group]) -> str | None:
    """Return why a group is to be given up; None if it is not.

    It is given up if its last RUNS runs of this start failed alike on an idle machine, and none of its runs counts.
    Disturbed runs are ignored. `group_of` returns the group of a cell.
    """
    rows = [
        row
        for row in progress.measured_runs(study_folder / "progress")
        if row[3] in FAULTS and _is_of(row[0], plan, group, group_of)
    ]
    if len(rows) < RUNS:
        return None
    found = [record.read(study_folder / "runs" / f"{row[0]}.json") for row in rows[-RUNS:]]
    if len({likeness_key(one) for one in found}) > 1 or not all(_was_idle(one) for one in found):
        return None
    if any(_counts(study_folder, path, number) for path, number in plan["order"] if group_of(plan["cells"][path]) == group):
        return None
    last = found[-1]
    return f"the first runs all failed alike: {last['status']}, {shorten(last['reason'] or 'no reason', LONGEST)}"


def _is_of(run: str, plan: Plan, group: Group, group_of: Callable[[Cell], Group]) -> bool:
    cell = plan["cells"].get(run.rpartition("/")[0])
    return cell is not None and group_of(cell) == group


def likeness_key(found: Record) -> tuple[str, str]:
    """Return a key that is the same for records of runs that failed alike."""
    return found["status"], VARYING.sub("0", found["reason"] or "")


def _was_idle(found: Record) -> bool:
    return found.get("noise", {}).get("before", {}).get("idle", True)


def _counts(study_folder: Path, path: str, number: int) -> bool:
    try:
        return record.glance(record.path_of(study_folder / "runs", path, number))["status"] in status.COUNTED
    except (FileNotFoundError, record.DamagedFile):
        return False
