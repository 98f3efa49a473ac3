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
        with _folder_of(path) as within:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=within)
            descriptor = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=within)
    except TAKEN:
        raise _taken(path) from None
    file = os.fdopen(descriptor, "wb")
    # The caller's mask takes no bits of it away.
    os.fchmod(descriptor, mode)
    return file


def write(path: Path, content: str | bytes, mode: int = 0o644) -> Path:
    """Write a new file, and return its path. Errors as of `new_file`."""
    with new_file(path, mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def reading(path: Path) -> BinaryIO:
    """A file, open to be read. OSError if it is none, or a link, or in a folder that is a link."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def text(path: Path, most: int) -> str:
    """What is in the first `most` bytes of a file; nothing if it cannot be read (`reading`)."""
    try:
        with reading(path) as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def cut(path: Path, most: int, left: int) -> bool:
    """Whether a file is longer than `most` bytes; it is cut to those that are to be `left`, where this user may."""
    try:
        # Nothing is opened while all is well: some file systems then write what is to be written.
        seen = path.lstat()
        if not stat.S_ISREG(seen.st_mode) or seen.st_size <= most:
            return False
        descriptor = _opened(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, left)
        finally:
            os.close(descriptor)
    except OSError:
        return False  # it has gone, is another user's, or no file
    return True


def files_below(folder: Path) -> Iterator[Path]:
    """The files in a folder, and in its folders, as far as they can be seen; nothing of a folder that is a link. Folders may be
    nested as deeply as whoever made them liked."""
    folders = [] if folder.is_symlink() else [str(folder)]
    while folders:
        files = []
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as there:
            for one in there:
                if one.is_dir(follow_symlinks=False) and len(one.path) < LONGEST:
                    folders.append(one.path)
                elif one.is_file(follow_symlinks=False):
                    files.append(Path(one.path))
        yield from files


@contextlib.contextmanager
def _folder_of(path: Path) -> Iterator[int]:
    """A descriptor of the folder of a file. OSError if that is a link."""
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(path: Path, how: int) -> int:
    """A descriptor of a file. OSError as of `reading`."""
    with _folder_of(path) as within:
        # Devices do something when they are opened, so it is only looked at first.
        seen = os.open(path.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=within)
    try:
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            raise OSError(f"{path} is no file")
        return os.open(f"/proc/self/fd/{seen}", how)
    finally:
        os.close(seen)


def _taken(path: Path) -> Unavailable:
    return Unavailable(
        f"a program of the run has changed {path.parent.name}, its folder, so that {path.name} could not be made there"
    )
