"""Repetitions of some cells that differ from the profile's, as rounds of `plimsoll precise` or stages of a time request."""

from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents
from plimsoll.errors import DamagedFile
from plimsoll.measuring import record

FILE = "repetitions.json"
FORGOTTEN = "delete it, and only the additional repetitions are forgotten"
# Upper limit of a cell's repetitions: more would take too long.
MOST = 100_000


class Stages(TypedDict):
    """How far the stages of a time budget are (plimsoll.features.time_budget)."""

    stage: str
    given: list[float]  # hours of each budget, in the order in which they were given
    before: float  # seconds that were measured before the last budget
    minutes: NotRequired[float]  # from start to page, in all, if the last budget was given so
    chosen: NotRequired[list[str]]  # claims of the second stage
    ratios: NotRequired[int]  # how many of the answer's ratios are measured more often in the second stage


class Noted(TypedDict):
    """Content of the file."""

    profile: str
    cells: dict[str, int]
    exact: NotRequired[bool]
    hours: NotRequired[Stages]


class RequestedRepetitions(NamedTuple):
    """Requested repetitions by cell.

    They are the least that each cell gets. With `exact` they are all that it gets, and a cell that is not named has
    none. `hours` is what the stages of a time budget save with them (plimsoll.features.time_budget); None if no time was given.
    """

    cells: dict[str, int]
    exact: bool = False
    hours: Stages | None = None


NOTHING = RequestedRepetitions({})


def read_request(results: Path, profile: str) -> RequestedRepetitions:
    """Return the repetitions that were requested for this profile. Raise DamagedFile if the file is damaged."""
    found = noted(results, profile)
    return RequestedRepetitions(found["cells"], found.get("exact", False), found.get("hours")) if found else NOTHING


def noted(results: Path, profile: str) -> Noted | None:
    """Return the file's content if it is about this profile, otherwise None. Raise DamagedFile if the file is damaged."""
    path = results / FILE
    if not path.exists():
        return None
    found = documents.read(path, Noted, FORGOTTEN)
    for cell, number in found["cells"].items():
        if not 0 <= number <= MOST:
            raise DamagedFile(f"{path} is damaged ({cell} has {number} repetitions): {FORGOTTEN}.")
    return found if found["profile"] == profile else None


def ask(results: Path, profile: str, wanted: RequestedRepetitions) -> None:
    """Save the requested repetitions."""
    hours = {} if wanted.hours is None else {"hours": wanted.hours}
    record.write(results / FILE, {"profile": profile, "cells": wanted.cells, "exact": wanted.exact, **hours})
