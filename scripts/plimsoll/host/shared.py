"""Files in a run's folder, into which what is measured writes too, and in some containers as root: what it has put there is
never followed, waited for, or kept in the place of a file of ours."""

import contextlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

from plimsoll.errors import Unavailable


def new_folder(folder: Path) -> Path:
    """A new folder. Unavailable if something has its name."""
    try:
        folder.mkdir()
    except FileExistsError:
        raise _taken(folder) from None
    return folder


def new_file(path: Path, mode: int = 0o644) -> BinaryIO:
    """A new file, open to be written; a file or link of its name goes. Unavailable if a folder has its name."""
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    except (FileExistsError, IsADirectoryError):
        raise _taken(path) from None
    # The caller's mask takes no bits of it away.
    os.fchmod(descriptor, mode)
    return os.fdopen(descriptor, "wb")


def write(path: Path, content: str | bytes, mode: int = 0o644) -> Path:
    """Write a new file, and return its path. Errors as of `new_file`."""
    with new_file(path, mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def reading(path: Path) -> BinaryIO:
    """A file, open to be read. OSError if it is none, or a link, or in a folder that is a link."""
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a link")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no file")
    return os.fdopen(descriptor, "rb")


def _taken(path: Path) -> Unavailable:
    return Unavailable(f"what was measured before has made {path.name} in the run's folder, which is not its own to make")
