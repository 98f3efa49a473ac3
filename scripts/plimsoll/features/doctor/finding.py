"""One finding about the machine, and what several mean together."""

from collections.abc import Iterable
from typing import NamedTuple

# FINE: as it should be. NOTE: known, and no reason to wait. WARNS: verdicts suffer. STOPS: measuring fails.
FINE, NOTE, WARNS, STOPS = LEVELS = ("fine", "note", "warns", "stops")
# What to type where `plimsoll doctor` can change a setting itself.
QUIET = "./plimsoll doctor --quiet-machine -- ./plimsoll reproduce"


class Finding(NamedTuple):
    """What was seen of the machine (`value`), its level, what it means for verdicts, and what to type (empty if nothing)."""

    name: str
    value: str
    level: str
    means: str
    remedy: str = ""


def status(findings: Iterable[Finding]) -> int:
    """Return the exit status: 1 if a finding warns or stops, else 0."""
    return int(any(one.level in (WARNS, STOPS) for one in findings))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of their levels, those that stop first."""
    return sorted(findings, key=lambda one: -LEVELS.index(one.level))
