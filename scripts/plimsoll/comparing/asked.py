"""What a comparison is asked for on the command line: numbers, studies that both sets have, and where it is written."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll.analysis.two_sets import USUAL, Terms
from plimsoll.comparing.sets import RESULTS, ResultSet
from plimsoll.errors import PlimsollError
from plimsoll.planning import amounts

# Below results/.
FOLDER = "compare"
# What is given where nothing is to be allowed for days.
NO_DAYS = "all"


class Asked(NamedTuple):
    """What is asked of a comparison: its terms; whether it is made by `force` although bits or sizes differ; whether it is
    `strict`; and how many `studies` are compared at once, among which a false alarm may come from any."""

    terms: Terms = USUAL
    force: bool = False
    strict: bool = False
    studies: int = 1


def terms(margin: str, session_blocks: str) -> Terms:
    """The terms of a comparison. PlimsollError for texts that are no such numbers."""
    within = amounts.positive(margin, f"The margin {margin!r}", "The margin", "give a share, such as 0.05 for 5 %")
    if session_blocks == NO_DAYS:
        return Terms(within, session_blocks=math.inf)
    hint = f"give the number of blocks that a session is worth at most, such as 6, or {NO_DAYS}"
    given = f"The number of blocks of a session, {session_blocks!r},"
    return Terms(within, session_blocks=amounts.positive(session_blocks, given, "The number of blocks of a session", hint))


def paths(a: str, b: str) -> tuple[Path, Path]:
    """Where the two sets are. PlimsollError if one is not named."""
    if not a or not b:
        raise PlimsollError(
            "Two sets of results are compared: name both, as in make compare A=results/reference/liu2020 B=results/liu2020."
        )
    return Path(a), Path(b)


def shared(a: Mapping[str, ResultSet], b: Mapping[str, ResultSet]) -> list[str]:
    """The studies that both sets have, as A lists them. PlimsollError if there is none."""
    names = [name for name in a if name in b]
    if not names:
        raise PlimsollError(f"A has {', '.join(a)} and B has {', '.join(b)}: only sets of the same study are compared.")
    return names


def folder(a: Path, b: Path) -> Path:
    """Where a comparison is written unless somebody says so."""
    return Path(RESULTS, FOLDER, f"{name_of(a)}-{name_of(b)}")


def name_of(path: Path) -> str:
    """What a set is called: its path below a folder `results`, or the last part of its path."""
    parts = path.resolve().parts
    below = parts[len(parts) - parts[::-1].index(RESULTS) :] if RESULTS in parts else parts[-1:]
    return "-".join(below) or (RESULTS if path.resolve() == Path(RESULTS).resolve() else parts[-2])
