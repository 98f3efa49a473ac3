"""Factors of a table: the study names them, so each study has its own."""

from collections.abc import Iterable

from plimsoll import design
from plimsoll.interchange import ABSENT

# Which machine a row was measured on, if the rows are of several: a factor that claims do not name.
MACHINE = "machine"
# Columns and keys that the tables of a judged study have besides its factors, so that no factor can be called so.
RESERVED = (
    *("study", "metric", "label", "unit", "better", "value", "censored", "repetition", "block", "session", "where"),
    *("status", "reason", "attempts", "path", "experiments", "useful", "repetitions", "parameters", "expected_seconds"),
    *("fingerprint", "metrics", MACHINE),
)
# Stand-ins for what a level must not be in a cell's path: its separator, and the word for a level that is not there.
SLASH, NONE = "\N{DIVISION SLASH}", "(none)"


class Factors(design.Factors):
    """Keys and columns of a table. Without a study it has no keys, and no path is one of its cells."""

    FACTORS: tuple[str, ...] = ()
    PATTERN = "(?!)"

    def __init__(self, names: Iterable[str] = ()):
        self.FACTORS = tuple(names)


def stored(level: object) -> str:
    """Return a level as cells have it: as a part of a path. An empty one is that of a row without the factor."""
    text = str(level).strip().replace("/", SLASH)
    return NONE if text == ABSENT else text or ABSENT


def as_written(level: str) -> str:
    """Return a level of a cell as its table has it: the inverse of `stored`."""
    return {ABSENT: "", NONE: ABSENT}.get(level, level.replace(SLASH, "/"))
