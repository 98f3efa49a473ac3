"""Find which runs of a plan are measured, by a short look at their records.

A record counts for the fingerprint of its cell. A run whose record has another fingerprint is not measured.
"""

from collections.abc import Iterable
from pathlib import Path

from plimsoll.interchange import Plan
from plimsoll.measuring import record, status

# Standings of a run that its record does not state itself.
STALE, DAMAGED = status.STALE, status.DAMAGED
# The next start measures runs without a record (None), and runs whose record is of another cell or profile.
LEFT = (None, STALE)


def of_record(path: str, fingerprint: str) -> str | None:
    """Return the status of a record.

    Return `stale` if it has another fingerprint, `damaged` if it is no record, and None if it is not there.
    """
    try:
        glanced = record.glance(path)
    except FileNotFoundError:
        return None
    except record.DamagedFile:
        return DAMAGED
    return glanced["status"] if glanced["fingerprint"] == fingerprint else STALE


def of_runs(folder: Path, plan: Plan, runs: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the standings of those of the runs (cell, repetition) that have a record in runs/ of the study's `folder`."""
    standings = {}
    for cell, repetition in runs:
        path = f"{folder}/runs/{cell}/{repetition}.json"
        if standing := of_record(path, plan["cells"][cell]["fingerprint"]):
            standings[cell, repetition] = standing
    return standings
