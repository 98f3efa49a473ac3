"""Files in a run's folder, into which measured programs write too, in some containers as root.

What a program has put there is never followed, waited for, or kept in the place of a file of ours.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from plimsoll.errors import Unavailable

# Errors if a program has taken a name, or if a folder is gone or may no longer be entered.
TAKEN = (FileExistsError, IsADirectoryError, NotADirectoryError, FileNotFoundError, PermissionError)
# Folders with a path longer than this (characters) are left out: the kernel takes no longer path.
LONGEST = 4000


def new_folder(folder: Path) -> Path:
    """Make a new folder, and return its path. Raise Unavailable if its name is taken."""
    try:
        folder.mkdir()
    except TAKEN:
        raise _taken(folder) from None
    return folder


def new_file(path: Path, mode: int = 0o644) -> BinaryIO:
    """Return a new file, open for writing, in place of any file or link of its name.

    Raise Unavailable if a folder has its name, or if the folder that it is in is a link or is gone.
    """
    try:
        with _folder_of(path) as within:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=within)
            descriptor = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=within)
    except TAKEN:
        raise _taken(path) from None
    file = os.fdopen(descriptor, "wb")
    # The umask of this process must not take bits away.
    os.fchmod(descriptor, mode)
    return file


def write(path: Path, content: str | bytes, mode: int = 0o644) -> Path:
    """Write a new file, and return its path. Raise Unavailable as `new_file` does."""
    with new_file(path, mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def reading(path: Path) -> BinaryIO:
    """Return a file, open for reading.

    Raise OSError if it is not a regular file, is a link, or is in a folder that is a link.
    """
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def text(path: Path, most: int) -> str:
    """Return the first `most` bytes of a file as text; an empty text if it cannot be read (`reading`)."""
    try:
        with reading(path) as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def cut(path: Path, most: int, left: int) -> bool:
    """Cut a file that is longer than `most` bytes to `left` bytes. Return whether it was longer and could be cut."""
    try:
        # A file of usual length is not opened: opening makes some file systems write what is still to be written.
        seen = path.lstat()
        if not stat.S_ISREG(seen.st_mode) or seen.st_size <= most:
            return False
        descriptor = _opened(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, left)
        finally:
            os.close(descriptor)
    except OSError:
        return False  # it is gone, is another user's, or is no file
    return True


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the regular files in a folder and in its folders, as far as they can be seen; nothing if the folder is a link.

    A stack replaces recursion, because programs may nest folders at any depth.
    """
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
    """Yield a descriptor of the folder of a file. Raise OSError if that folder is a link."""
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(path: Path, how: int) -> int:
    """Return a descriptor of a file. Raise OSError as `reading` does."""
    with _folder_of(path) as within:
        # Opening a device may do something, so the file's kind is checked first, without opening it (O_PATH).
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
