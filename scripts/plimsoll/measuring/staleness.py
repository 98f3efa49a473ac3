"""Which records are what the plan asks for, and which runs are measured, again or for the first time.

A run that did not count is tried again when the workflow starts the next time, until `starts` of them have tried it: the
profile's number. Every attempt stays in the record. A record says how many starts tried it (`starts`); a record that does not
say so was tried by one.
"""

import contextlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from plimsoll.interchange import Cell, Record, Tried
from plimsoll.measuring import record, status

# In a study's folder: records of what the plan does not ask for any more, by their fingerprints.
ARCHIVE = "archive"
# What is the record's own and not its last attempt's.
OF_THE_RUN = (
    *("format", "study", "cell", "repetition", "block", "place_in_order", "seed", "profile", "fingerprint", "image", "system"),
    *("attempts", "invalid_attempts", "starts"),
)


class Look(NamedTuple):
    """What staleness needs to know of a record: all None if there is none or it is damaged."""

    there: bool
    fingerprint: str | None = None
    status: str | None = None
    starts: int = 0


def look(path: Path | str) -> Look:
    """What a path holds now."""
    try:
        glanced = record.glance(path)
    except FileNotFoundError:
        return Look(False)
    except record.Damaged:
        return Look(True)
    return _look_of(glanced)


def _look_of(recorded: dict) -> Look:
    return Look(True, recorded["fingerprint"], recorded["status"], int(starts_of(recorded)))


# The workflow asks several times for each of thousands of records, and must get the same answer each time.
seen_at_start = cache(look)


def starts_of(recorded: dict) -> int:
    """How many starts of the workflow have tried a record's run."""
    return recorded.get("starts", 1)


def to_measure(seen: Look, fingerprint: str | None, starts: int) -> bool:
    """Whether a run is to be measured, where a record was `seen` and this `fingerprint` is planned.

    A damaged record is kept and named until it is deleted.
    """
    if not seen.there:
        return True
    if seen.fingerprint is None:
        return False
    return seen.fingerprint != fingerprint or tried_again(seen, starts)


def tried_again(seen: Look, starts: int) -> bool:
    """Whether a run that did not count is tried once more."""
    return seen.status in status.AGAIN and seen.starts < starts


def asked_for(seen: Look, fingerprint: str, starts: int) -> str:
    """A text that Snakemake compares with the one that it noted when it last ran the job: if they differ, the job runs again.

    For a run that is tried for the first time it is the planned fingerprint; for a later try it has the number of the start
    too.
    """
    if seen.fingerprint != fingerprint:
        return fingerprint
    number = seen.starts + tried_again(seen, starts)
    return fingerprint if number < 2 else f"{fingerprint},start={number}"


def kept(study_folder: Path, cell: Cell, repetition: int, target: Path, starts: int) -> tuple[Record | None, Record | None]:
    """(a record that makes measuring unnecessary, a record of the run that is to be tried again): one of them is None, or both
    are.

    Moves a record of another fingerprint, or a damaged one, out of the way; takes one back from the archive.
    """
    archive = study_folder / ARCHIVE
    if target.exists():
        try:
            old = record.read(target)
            if old["fingerprint"] == cell["fingerprint"]:
                if tried_again(_look_of(old), starts):
                    return None, old
                os.utime(target)
                return old, None
            place = archive / old["fingerprint"]
        except record.Damaged as damage:
            print(f"plimsoll: {damage}; it is set aside and measured again.", file=sys.stderr, flush=True)
            place = archive / "damaged"
        record.set_aside(target, place)
    return _taken_back(study_folder, cell, repetition, target), None


def in_archive(study_folder: Path, cell: Cell, repetition: int) -> tuple[Path, Record] | None:
    """Return the latest record of a run in the archive that counts, with its path; None if there is none."""
    for path in sorted((study_folder / ARCHIVE / cell["fingerprint"]).glob(f"{repetition}-*.json"), reverse=True):
        with contextlib.suppress(record.Damaged):
            old = record.read(path)
            if old["status"] in status.COUNTED:
                return path, old
    return None


def _taken_back(study_folder: Path, cell: Cell, repetition: int, target: Path) -> Record | None:
    """A record that the archive has: a profile that was measured before is not measured again."""
    found = in_archive(study_folder, cell, repetition)
    if not found:
        return None
    path, old = found
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    # It is newer than what was made without it.
    os.utime(target)
    return old


def attempts_of(recorded: Record) -> list[Tried]:
    """Every attempt that a record holds, its last one too, in order."""
    return [*recorded["invalid_attempts"], {key: value for key, value in recorded.items() if key not in OF_THE_RUN}]
