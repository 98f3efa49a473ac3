"""Settings of this machine that were changed to make it quiet: a note of their earlier values, and how to take them back.

The note is written before the first change. Its lock is held by the process that changes, and by the command that this
process starts. So a note without a lock is a leftover of a kill, unless it says that the settings are kept.
"""

import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from plimsoll import documents
from plimsoll.errors import PlimsollError
from plimsoll.host import machine_lock, system
from plimsoll.host.topology import read

NOTE = "plimsoll.quiet"
SWAPS = Path("/proc/swaps")


class Change(TypedDict):
    """One setting: path of its file, and its text before and after the change."""

    path: str
    before: str
    after: str


class Note(TypedDict):
    """Changed settings. `swaps` are swap areas that were switched off, with their priorities.

    The settings are those of one `boot`. If `kept`, they stay until a user takes them back.
    """

    boot: str
    kept: bool
    changes: list[Change]
    swaps: dict[str, int]


def swaps() -> dict[str, int]:
    """Return the priority of each swap area in use, by its path."""
    rows = [line.split() for line in read(SWAPS).splitlines()[1:]]
    return {row[0]: int(row[4]) for row in rows}


def _place() -> Path:
    return machine_lock.folder() / f"{NOTE}.{os.geteuid()}"


def read_note() -> Note | None:
    """Return this user's note; None if it does not exist. A note of an earlier start of the machine is removed.

    Raise PlimsollError if the note cannot be read, because what was before is then unknown.
    """
    path = machine_lock.marks(NOTE).get(os.geteuid())
    if path is None:
        return None
    try:
        note = documents.load(path, Note)
    except documents.Misfit as misfit:
        raise PlimsollError(
            f"{path} says how this machine was before `plimsoll doctor` changed it, and cannot be read ({misfit}). Restart "
            "the machine, which resets its settings, or set them by hand and remove the file."
        ) from misfit
    if note["boot"] != system.boot():
        path.unlink(missing_ok=True)
        return None
    return note


def of_others() -> list[str]:
    """Return the names of other users who have made this machine quiet."""
    return [machine_lock.user_of(path) for number, path in machine_lock.marks(NOTE).items() if number != os.geteuid()]


def write(note: Note) -> int:
    """Write this user's note to the disk, in place of an older one. Return a descriptor that holds its lock.

    The machine's lock must be held. Raise PlimsollError if another user has put something in the note's place.
    """
    path = _place()
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(note, indent=1).encode())
        # The name need not reach the disk: after a power failure the settings are as they were before.
        os.fsync(descriptor)
        new.replace(path)
    except OSError as problem:
        new.unlink(missing_ok=True)
        raise PlimsollError(f"Nothing was changed, because {path} cannot be written ({problem.strerror}).") from problem
    return descriptor


def apply(note: Note) -> list[str]:
    """Change what a note lists. Return, in words, what could not be changed."""
    problems = [_set(change["path"], change["after"]) for change in note["changes"]]
    return [*filter(None, [*problems, *(_run("swapoff", area) for area in note["swaps"])])]


def undo(note: Note) -> list[str]:
    """Take back what a note lists, and remove the note. Return, in words, what could not be taken back.

    A setting that was changed again since stays as it is. The note stays if something could not be taken back.
    """
    problems = [
        _set(one["path"], one["before"]) for one in reversed(note["changes"]) if read(Path(one["path"])) == one["after"]
    ]
    for area, priority in note["swaps"].items():
        if area not in swaps():
            # The kernel gives out negative priorities itself, and accepts none.
            problems.append(_run("swapon", *(("-p", str(priority)) if priority >= 0 else ()), area))
    failed = [*filter(None, problems)]
    if not failed:
        _place().unlink(missing_ok=True)
    return failed


@contextlib.contextmanager
def unlocked() -> Iterator[bool]:
    """Yield whether no process holds the lock of this user's note. It is then held during the context."""
    path = machine_lock.marks(NOTE).get(os.geteuid())
    if path is None:
        yield False
        return
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def is_left() -> bool:
    """Return whether a killed `plimsoll doctor` has left settings changed."""
    with unlocked() as free:
        note = read_note() if free else None
    return bool(note and not note["kept"])


def undo_left() -> list[str]:
    """Take back the settings that a killed `plimsoll doctor` has left changed. Return what was done, in sentences.

    The machine's lock must be held, or be free. Settings that are kept, or of a command that still runs, stay.
    """
    with unlocked() as free:
        note = read_note() if free else None
        if note is None or note["kept"]:
            return []
        failed = undo(note)
    if failed:
        return [f"a killed `plimsoll doctor` has left this machine changed, and not all was taken back: {'; '.join(failed)}."]
    return ["a killed `plimsoll doctor` had left this machine changed. Its settings are now as they were before."]


def _set(path: str, text: str) -> str:
    """Write a setting. Return why that failed; empty if it did not."""
    try:
        Path(path).write_text(text)
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    return ""


def _run(*command: str) -> str:
    """Run a program. Return why it failed; empty if it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as problem:
        return f"{command[0]}: {problem.strerror}"
    return "" if done.returncode == 0 else done.stderr.strip() or f"{' '.join(command)} failed"
