"""Files in a run's folder, into which what is measured writes too, and in some containers as root: what it has put there is
never followed, waited for, or kept in the place of a file of ours."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from plimsoll.errors import Unavailable

# What the kernel says of a name that something else has, or of a folder that has gone, or that nobody may enter any more.
TAKEN = (FileExistsError, IsADirectoryError, NotADirectoryError, FileNotFoundError, PermissionError)
# A folder that is nested deeper is left out (bytes): the kernel takes no longer path.
LONGEST = 4000


def new_folder(folder: Path) -> Path:
    """A new folder. Unavailable if something has its name."""
    try:
        folder.mkdir()
    except TAKEN:
        raise _taken(folder) from None
    return folder


def new_file(path: Path, mode: int = 0o644) -> BinaryIO:
    """A new file, open to be written; a file or link of its name goes. Unavailable if a folder has its name, or if its folder
    is a link or has gone."""
    try:
        _refuse_link(path.parent)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    except TAKEN:
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
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def cut(path: Path, most: int, left: int) -> bool:
    """Whether a file is longer than `most` bytes; it is cut to those that are to be `left`, where this user may."""
    try:
        descriptor = _opened(path, os.O_WRONLY)
    except OSError:
        return False  # it has gone, is another user's, or no file
    try:
        if os.fstat(descriptor).st_size <= most:
            return False
        os.ftruncate(descriptor, left)
    finally:
        os.close(descriptor)
    return True


def files_below(folder: Path) -> Iterator[Path]:
    """The files in a folder, and in its folders, as far as they can be seen; nothing of a folder that is a link. Folders may be
    nested as deeply as whoever made them liked."""
    folders = [] if folder.is_symlink() else [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as seen:
                there = list(seen)
        except OSError:
            continue
        for one in there:
            if one.is_dir(follow_symlinks=False) and len(one.path) < LONGEST:
                folders.append(one.path)
            elif one.is_file(follow_symlinks=False):
                yield Path(one.path)


def _opened(path: Path, how: int) -> int:
    """A descriptor of a file. OSError as of `reading`."""
    _refuse_link(path.parent)
    descriptor = os.open(path, how | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no file")
    return descriptor


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise NotADirectoryError(f"{folder} is a link")


def _taken(path: Path) -> Unavailable:
    return Unavailable(
        f"a program of the run has changed {path.parent.name}, its folder, so that {path.name} could not be made there"
    )
