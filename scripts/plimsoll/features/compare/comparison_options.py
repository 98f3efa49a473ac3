"""Options of a comparison on the command line: its numbers, the studies that both sets have, and the output folder."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from plimsoll import spelling
from plimsoll.errors import PlimsollError
from plimsoll.features.compare.two_sets import USUAL, Terms
from plimsoll.planning import amounts
from plimsoll.result_sets.sets import RESULTS, ResultSet

# Comparisons are written to this folder below results/.
FOLDER = "compare"
# The value of `session_blocks` that makes no allowance for differences between days.
NO_DAYS = "all"


class ComparisonOptions(NamedTuple):
    """Options of a comparison.

    `terms` are its margin, its level and its allowance for differences between days. With `force`, cells are compared
    although bits, sizes or machines differ. With `strict`, bits must be known and the same, and an undecided or missing
    result makes the comparison fail. `studies` is the number of studies that are compared at once. p is adjusted for
    it, as any of them may give a false alarm.
    """

    terms: Terms = USUAL
    force: bool = False
    strict: bool = False
    studies: int = 1


def terms(margin: str, session_blocks: str) -> Terms:
    """Return the terms of a comparison from two texts of the command line.

    `margin` is a share, such as 0.05 for 5 %. `session_blocks` is the number of blocks that a session is worth at most,
    or NO_DAYS. Raise PlimsollError if a text is not such a number.
    """
    within = amounts.positive(margin, f"The margin {margin!r}", "The margin", "give a share, such as 0.05 for 5 %")
    if session_blocks == NO_DAYS:
        return Terms(within, session_blocks=math.inf)
    hint = f"give the number of blocks that a session is worth at most, such as 6, or {NO_DAYS}"
    given = f"The number of blocks of a session, {session_blocks!r},"
    return Terms(within, session_blocks=amounts.positive(session_blocks, given, "The number of blocks of a session", hint))


def paths(a: str, b: str) -> tuple[Path, Path]:
    """Return the paths of both sets. Raise PlimsollError if one is not named."""
    if not a or not b:
        raise PlimsollError(
            "Two sets of results are needed, and at most one is named. Name both: "
            f"{spelling.command('compare', 'results/reference/liu2020', 'results/liu2020')}."
        )
    return Path(a), Path(b)


def shared(a: Mapping[str, ResultSet], b: Mapping[str, ResultSet]) -> list[str]:
    """Return the names of the studies that both sets have, in A's order. Raise PlimsollError if they share no study."""
    names = [name for name in a if name in b]
    if not names:
        raise PlimsollError(
            f"A has {', '.join(a)} and B has {', '.join(b)}, so nothing can be compared. Name two sets that share a study."
        )
    return names


def folder(a: Path, b: Path) -> Path:
    """Return the folder that a comparison is written to if none is given: results/compare/<A>-<B>."""
    return Path(RESULTS, FOLDER, f"{name_of(a)}-{name_of(b)}")


def name_of(path: Path) -> str:
    """Return the name of a set: its path below a folder `results`, joined by dashes, or else the last part of its path.

    A folder that is itself called `results` has the name of its parent. The one in the working directory is called
    `results`.
    """
    parts = path.resolve().parts
    below = parts[len(parts) - parts[::-1].index(RESULTS) :] if RESULTS in parts else parts[-1:]
    return "-".join(below) or (RESULTS if path.resolve() == Path(RESULTS).resolve() else parts[-2])
