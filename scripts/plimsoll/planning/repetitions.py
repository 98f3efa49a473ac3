"""Other repetitions of some cells than the profile's: what earlier rounds of `make precise` or stages of `HOURS` asked for."""

import json
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import PlimsollError
from plimsoll.measuring import record

FILE = "repetitions.json"


class Asked(NamedTuple):
    """Repetitions by cell. They are the least that each gets; with `exact` there are no others, and a cell that is not named
    has none."""

    cells: dict[str, int]
    exact: bool = False


NOTHING = Asked({})


def asked(results: Path, profile: str) -> Asked:
    """What was asked for of this profile. PlimsollError if the file is damaged."""
    path = results / FILE
    if not path.exists():
        return NOTHING
    try:
        noted = json.loads(path.read_text())
        return Asked(noted["cells"], noted.get("exact", False)) if noted["profile"] == profile else NOTHING
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlimsollError(
            f"{path} is damaged ({error}): delete it, and only the additional repetitions are forgotten."
        ) from error


def ask(results: Path, profile: str, wanted: Asked, **more: object) -> None:
    """Note what is asked for, with whatever `more` its asker wants to know later."""
    record.write(results / FILE, {"profile": profile, "cells": wanted.cells, "exact": wanted.exact, **more})
