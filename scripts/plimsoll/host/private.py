"""Folders in places where every user may make files. A folder that is used must be this user's alone."""

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.errors import Outage, Unavailable

# Prefix of folders in which figures are drawn.
FIGURE = "plimsoll-figure-"


def is_own(folder: Path) -> bool:
    """Return whether a folder is there, is no link, is this user's, and is closed to all others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def make(folder: Path) -> Path:
    """Return a folder of this user's alone, which is made if it is not there.

    Raise Unavailable if another user has made it, or if it is open to others. Raise Outage if the folder above it is
    not there.
    """
    refuse_missing(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_own(folder):
        raise Unavailable(f"{folder} is not a folder of this user's alone: have it removed by its owner, or by root")
    return folder


def refuse_missing(place: Path) -> None:
    """Raise Outage if a place for temporary files is not there."""
    if not place.is_dir():
        raise Outage(f"{place} is not there", "make it, with the mode 1777")


@contextlib.contextmanager
def temporary(prefix: str) -> Iterator[Path]:
    """Yield a new folder of this user's alone in the place for temporary files, and remove it at the end.

    Folders with the same prefix that killed processes left are removed first. A process that is still there holds a
    lock on its folder.
    """
    # No run needs it, and every run would pay for it.
    import tempfile

    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{prefix}*"):
        remove_left(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        held = lock(folder)
        # Another process may have removed it as a leftover before it was locked.
        if held is not None and folder.exists():
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def remove(folder: Path) -> None:
    """Remove a folder and all in it, as far as possible.

    Programs may have nested folders so deeply that Python cannot follow. Then `rm` removes them.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True)


def remove_left(folder: Path) -> bool:
    """Remove a folder if it is this user's and no process holds a lock on it. Return whether that was so."""
    if not is_own(folder) or (held := lock(folder)) is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    os.close(held)
    return True


def lock(folder: Path) -> int | None:
    """Return a descriptor that holds a lock on a folder; None if another process has the lock, or if the folder is gone."""
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
