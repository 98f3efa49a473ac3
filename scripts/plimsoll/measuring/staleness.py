"""Which records match the plan, and which runs are measured, for the first time or again.

A run that did not count is tried again when the workflow starts the next time. The profile says how many starts try it
(`starts`). Every attempt stays in the record. A record says how many starts tried it (`starts`). A record that does not
say so was tried by one.
"""

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import say
from plimsoll.interchange import AttemptRecord, Cell, Record
from plimsoll.measuring import record, status

# Folder in a study's folder: records that the plan does not ask for any more, by their fingerprints.
ARCHIVE = "archive"
# Keys of the record itself. The other keys are its last attempt's.
OF_THE_RUN = (
    *("format", "study", "cell", "repetition", "block", "place_in_order", "seed", "profile", "fingerprint", "image", "system"),
    *("attempts", "invalid_attempts", "starts"),
)


class Look(NamedTuple):
    """What staleness needs to know of a record. Fingerprint and status are None if the record is missing or damaged."""

    there: bool
    fingerprint: str | None = None
    status: str | None = None
    starts: int = 0


def look(path: Path | str) -> Look:
    """Return the Look at what a path holds now."""
    try:
        glanced = record.glance(path)
    except FileNotFoundError:
        return Look(False)
    except record.DamagedFile:
        return Look(True)
    return _look_of(glanced)


def _look_of(recorded: dict) -> Look:
    return Look(True, recorded["fingerprint"], recorded["status"], int(starts_of(recorded)))


# The workflow calls this several times for each of thousands of records, and must get the same answer each time.
seen_at_start = cache(look)


def starts_of(recorded: dict) -> int:
    """Return how many starts of the workflow have tried a record's run."""
    return recorded.get("starts", 1)


def to_measure(seen: Look, fingerprint: str | None, starts: int) -> bool:
    """Return whether a run is to be measured, where a record was `seen` and this `fingerprint` is planned.

    A damaged record is kept, and named in messages, until it is deleted.
    """
    if not seen.there:
        return True
    if seen.fingerprint is None:
        return False
    return seen.fingerprint != fingerprint or tried_again(seen, starts)


def tried_again(seen: Look, starts: int) -> bool:
    """Return whether a run that did not count is tried once more."""
    return seen.status in status.AGAIN and seen.starts < starts


def asked_for(seen: Look, fingerprint: str, starts: int) -> str:
    """Return a text that Snakemake compares with the one that it noted when it last ran the job.

    If they differ, the job runs again. For the first try of a run it is the planned fingerprint. For a later try it
    also has the number of the start.
    """
    if seen.fingerprint != fingerprint:
        return fingerprint
    number = seen.starts + tried_again(seen, starts)
    return fingerprint if number < 2 else f"{fingerprint},start={number}"


def usable_record(
    study_folder: Path, cell: Cell, repetition: int, target: Path, starts: int
) -> tuple[Record | None, Record | None]:
    """Return (a record that makes measuring unnecessary, a record of a run that is to be tried again).

    At least one of them is None. Move a record of another fingerprint, or a damaged one, to the archive. Take a record
    that fits back from the archive.
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
        except record.DamagedFile as damage:
            say(f"{damage}; it is put aside and measured again.")
            place = archive / "damaged"
        record.set_aside(target, place)
    return _taken_back(study_folder, cell, repetition, target), None


def in_archive(study_folder: Path, cell: Cell, repetition: int) -> tuple[Path, Record] | None:
    """Return path and content of the latest record of a run in the archive that counts; None if no record there does."""
    for path in sorted((study_folder / ARCHIVE / cell["fingerprint"]).glob(f"{repetition}-*.json"), reverse=True):
        with contextlib.suppress(record.DamagedFile):
            old = record.read(path)
            if old["status"] in status.COUNTED:
                return path, old
    return None


def _taken_back(study_folder: Path, cell: Cell, repetition: int, target: Path) -> Record | None:
    """Move a record that counts from the archive to `target`, and return it; None if the archive has no such record.

    So a profile that was measured before is not measured again.
    """
    found = in_archive(study_folder, cell, repetition)
    if not found:
        return None
    path, old = found
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    # The record must be newer than files that were made without it.
    os.utime(target)
    return old


def attempts_of(recorded: Record) -> list[AttemptRecord]:
    """Return every attempt that a record holds, in order, with the last one."""
    return [*recorded["invalid_attempts"], {key: value for key, value in recorded.items() if key not in OF_THE_RUN}]
