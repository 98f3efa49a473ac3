"""Folders in which archives are unpacked: by one process at a time, and each whole or not at all."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Wait until nobody else unpacks in a folder. The lock is the kernel's: a killed holder does not keep it."""
    with open(place / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A new folder that becomes `folder` in one step when the block has ended well. Nobody else may unpack there: what
    a killed process left is removed."""
    new = folder.with_name(".unfinished")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
