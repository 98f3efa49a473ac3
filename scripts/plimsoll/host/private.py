"""Folders in places where everybody may make files: what is taken for this user's has to be this user's alone."""

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from plimsoll.errors import Outage, Unavailable

# Folders in which figures are drawn.
FIGURE = "plimsoll-figure-"


def is_own(folder: Path) -> bool:
    """Whether a folder is there, no link, this user's, and closed to all others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def make(folder: Path) -> Path:
    """The folder, made if it is not there. Unavailable if somebody else has made it, or left it open; Outage if what it is to
    be in is not there."""
    refuse_missing(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_own(folder):
        raise Unavailable(f"{folder} is not a folder of this user's alone: have it removed by its owner, or by root")
    return folder


def refuse_missing(place: Path) -> None:
    """Outage if a place for temporary files is not there."""
    if not place.is_dir():
        raise Outage(f"{place} is not there", "make it, with the mode 1777")


@contextlib.contextmanager
def temporary(prefix: str) -> Iterator[Path]:
    """A new folder of this user's alone in the place for temporary files, which goes with the context. Those of the same prefix
    go too that were left when a process was killed: whose process is there, holds a lock on its folder."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{prefix}*"):
        remove_left(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        held = locked(folder)
        # Another process may have taken it for one that was left, before there was the lock.
        if held is not None and folder.exists():
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def remove(folder: Path) -> None:
    """Remove a folder and all in it, as far as that can be. Programs may have nested folders in it so deeply that Python cannot
    follow."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True)


def remove_left(folder: Path) -> bool:
    """Whether a folder was this user's and nobody held a lock on it: it is removed then."""
    if not is_own(folder) or (held := locked(folder)) is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    os.close(held)
    return True


def locked(folder: Path) -> int | None:
    """A descriptor of a folder that holds a lock on it; None if another process has one, or if it is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
