"""A folder for what readers are given: in memory, where there is such a file system."""

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
    """This process's folder."""
    return _made(os.getpid())


def put(name: str, data: bytes) -> Path:
    """A file in it."""
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def take_away(name: str) -> None:
    """A file that another reader may have been given in this process."""
    (folder() / name).unlink(missing_ok=True)
