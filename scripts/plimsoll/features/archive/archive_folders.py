"""Unpack archives into folders: one process at a time, and each folder complete or not at all."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hold(place: Path) -> Iterator[None]:
    """Hold a folder for unpacking; wait while another process holds it.

    A killed process loses the lock, which is the kernel's.
    """
    with open(place / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `folder` in one step when the block has ended without an exception.

    The caller must hold the place (`alone`), because a killed process's unfinished folder is removed first.
    """
    new = folder.with_name(".unfinished")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
