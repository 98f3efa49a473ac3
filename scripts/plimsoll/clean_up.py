"""Remove the leftovers of killed runs on command: on this machine, in the image store, and in this project's results.

A run removes the leftovers of a killed one before it measures. This command is for users who do not measure again. It
also removes what is left on purpose: the network and the cgroup that the next run would use, and raw output. That raw
output is of attempts that ended with their process.

With `everything`, images and all else that is kept for the next run are removed too.
"""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError, Unavailable, say
from plimsoll.host import cgroup, machine_lock, private
from plimsoll.images import store as store_of_images
from plimsoll.measuring import lock, record
from plimsoll.runtimes.base import Runtime

# Names of an attempt's folder, and of a file or folder that is being built. The latter has the builder's process
# number.
ATTEMPT = re.compile(r"[0-9]+-[0-9]+")
BUILT_BY = re.compile(r"\..*[-.](?P<process>[0-9]+)(\.tar)?")
# Names of finished items in the image store.
OURS = re.compile(r"[a-z][a-z0-9_]*-[0-9a-f]{16}(\.cpio\.gz)?|kvm\.json|\.jars|\.prices|\.engines|\.times\.json")
BUILT = re.compile(r"\.[a-z]+-[a-z0-9_]{8}")
# An unfinished item without a process number is abandoned after this time (s).
ABANDONED_SECONDS = 3600.0


def machine(runtimes: Iterable[Runtime]) -> list[str]:
    """Remove the leftovers of runs from this machine.

    Return, in sentences, what was removed. The machine's lock must be held.
    """
    runtimes = list(runtimes)
    left: dict[str, str] = {}
    for runtime in runtimes:
        for name in _left(runtime):
            # Runtimes of one engine list the same containers.
            left.setdefault(name, runtime.label)
    lock.sweep(runtimes)
    with contextlib.suppress(OSError):
        lock.TEMPORARY.rmdir()
    with contextlib.suppress(Unavailable):
        cgroup.remove(cgroup.ACCOUNT)
    # Entering the context removes the folders of figures whose process was killed.
    with private.temporary(private.FIGURE):
        pass
    return [f"{label}: {name}" for name, label in left.items()]


def _left(runtime: Runtime) -> list[str]:
    try:
        return runtime.left()
    except Unavailable:
        return []


def store() -> list[str]:
    """Remove unfinished items of killed processes from the image store. Return their paths."""
    removed = []
    for path in paths.image_store().glob(".*"):
        if _abandoned(path):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
            removed.append(str(path))
    return removed


def everything(runtimes: Iterable[Runtime]) -> list[str]:
    """Remove what stays on this machine between runs for the next one. Call `machine` before.

    This is: images in engines, Apptainer's network, the image store, and the files of the machine's lock, which must
    not be held. What set-up installed stays. Return, in words, what was removed. Raise PlimsollError at the end if
    something could not be removed.
    """
    removed, problems = {}, {}
    for runtime in runtimes:
        try:
            removed |= dict.fromkeys(runtime.forget())
        except Unavailable as problem:
            problems[str(problem)] = None
    removed |= dict.fromkeys(_images())
    with machine_lock.hold(lock.say_whose):
        removed |= dict.fromkeys(machine_lock.forget())
    for problem in problems:
        say(f"not removed: {problem}.")
    if problems:
        raise PlimsollError("Not everything was removed: the reason is above. Resolve it, and type the command again.")
    return list(removed)


def _images() -> Iterator[str]:
    """Remove the project's items from the image store, and the store itself if it is empty then. Yield their paths."""
    there = paths.image_store()
    if not there.is_dir():
        return
    with store_of_images.hold():
        for path in sorted(there.iterdir()):
            if OURS.fullmatch(path.name):
                _remove(path)
                yield str(path)
        (there / store_of_images.LOCK).unlink()
    with contextlib.suppress(OSError):
        there.rmdir()


def _remove(path: Path) -> None:
    """Remove a file or a folder, even a folder of an image in which its owner may not write."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path)


def _abandoned(path: Path) -> bool:
    if by := BUILT_BY.fullmatch(path.name):
        return not Path("/proc", by["process"]).exists()
    return bool(BUILT.fullmatch(path.name)) and time.time() - path.stat().st_mtime > ABANDONED_SECONDS


def results(folder: Path) -> list[str]:
    """Remove raw output that no record names, and unfinished files, from a folder of results. Return their paths.

    Such raw output is of attempts that ended with their process. A study with a damaged record is skipped, because that
    record may name some.
    """
    removed = []
    for study in sorted(path.parent for path in folder.glob("*/raw")):
        try:
            named = set(_named(study))
        except record.DamagedFile:
            continue
        for attempt in _attempts(study / "raw"):
            inside = f"{attempt.relative_to(study)}/"
            if not any(name.startswith(inside) or inside.startswith(name) for name in named):
                private.remove(attempt)
                removed.append(str(attempt))
    for left in folder.rglob(".*.new"):
        left.unlink(missing_ok=True)
        removed.append(str(left))
    return removed


def _named(study: Path) -> Iterator[str]:
    """Yield the folders of raw output that a study's records name, each with a slash at its end.

    Raise record.DamagedFile if a record cannot be read.
    """
    for place in ("runs", "archive"):
        for path in (study / place).rglob("*.json"):
            found = record.read(path)
            for attempt in (found, *found.get("invalid_attempts", [])):
                if "raw" in attempt:
                    yield f"{attempt['raw']}/"


def _attempts(raw: Path) -> Iterator[Path]:
    """Yield the folders of attempts below a folder, without those inside another attempt."""
    for place, folders, _ in os.walk(raw):
        for name in [name for name in folders if ATTEMPT.fullmatch(name)]:
            folders.remove(name)
            yield Path(place, name)
