"""Other repetitions of some cells than the profile's: what earlier rounds of `make precise` or stages of `HOURS` asked for."""

from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from plimsoll import documents
from plimsoll.errors import Damaged
from plimsoll.measuring import record

FILE = "repetitions.json"
FORGOTTEN = "delete it, and only the additional repetitions are forgotten"
# Nobody has the time for more of a cell.
MOST = 100_000


class Stages(TypedDict):
    """How far the stages of a given time are (plimsoll.hours)."""

    stage: str
    given: list[float]  # hours of each time
    before: float  # seconds that were measured before the last one
    chosen: NotRequired[list[str]]  # claims of the second stage
    ratios: NotRequired[int]  # how many of the answer's ratios are measured more often in the second stage


class Noted(TypedDict):
    """What the file holds."""

    profile: str
    cells: dict[str, int]
    exact: NotRequired[bool]
    hours: NotRequired[Stages]


class Asked(NamedTuple):
    """Repetitions by cell. They are the least that each gets; with `exact` there are no others, and a cell that is not named
    has none. `hours` is what the stages of a given time note with them (plimsoll.hours); nothing where nobody gave a time."""

    cells: dict[str, int]
    exact: bool = False
    hours: Stages | None = None


NOTHING = Asked({})


def asked(results: Path, profile: str) -> Asked:
    """What was asked for of this profile. Damaged if the file is."""
    found = noted(results, profile)
    return Asked(found["cells"], found.get("exact", False), found.get("hours")) if found else NOTHING


def noted(results: Path, profile: str) -> Noted | None:
    """All that was noted of this profile; None for nothing. Damaged if the file is."""
    path = results / FILE
    if not path.exists():
        return None
    found = documents.read(path, Noted, FORGOTTEN)
    for cell, number in found["cells"].items():
        if not 0 <= number <= MOST:
            raise Damaged(f"{path} is damaged ({cell} has {number} repetitions): {FORGOTTEN}.")
    return found if found["profile"] == profile else None


def ask(results: Path, profile: str, wanted: Asked) -> None:
    """Note what is asked for."""
    hours = {} if wanted.hours is None else {"hours": wanted.hours}
    record.write(results / FILE, {"profile": profile, "cells": wanted.cells, "exact": wanted.exact, **hours})
