"""Which runs of a plan are measured, told by a glance at their records.

A record counts for the fingerprint of its cell: one that is there with another is not measured.
"""

from collections.abc import Iterable
from pathlib import Path

from plimsoll.interchange import Plan
from plimsoll.measuring import record, status

# Standings that are no status of a record.
STALE, DAMAGED = status.STALE, status.DAMAGED
# What is measured at the next start: a record that is not there (None), and one that is another cell's or profile's.
LEFT = (None, STALE)


def of_record(path: str, fingerprint: str) -> str | None:
    """A record's status; `stale` if it has another fingerprint, `damaged` if it is no record, None if it is not there."""
    try:
        glanced = record.glance(path)
    except FileNotFoundError:
        return None
    except record.Damaged:
        return DAMAGED
    return glanced["status"] if glanced["fingerprint"] == fingerprint else STALE


def of_runs(folder: Path, plan: Plan, runs: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Standings of those of the runs (cell, repetition) that have a record in runs/ of `folder`, the study's results."""
    standings = {}
    for cell, repetition in runs:
        path = f"{folder}/runs/{cell}/{repetition}.json"
        if standing := of_record(path, plan["cells"][cell]["fingerprint"]):
            standings[cell, repetition] = standing
    return standings
