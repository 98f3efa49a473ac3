"""A folder for what readers are given: in memory, if there is such a file system."""

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


@functools.cache
def _made(process: int) -> Path:
    made = Path(tempfile.mkdtemp(prefix="plimsoll-fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    (made / "work").mkdir()
    return made / "work"


def folder() -> Path:
    """Return this process's folder."""
    return _made(os.getpid())


def put(name: str, data: bytes) -> Path:
    """Write a file in this process's folder, and return its path."""
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def take_away(name: str) -> None:
    """Remove a file that another reader may have been given in this process."""
    (folder() / name).unlink(missing_ok=True)
