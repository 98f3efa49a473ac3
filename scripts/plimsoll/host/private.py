"""Folders in places where everybody may make files: what is taken for this user's has to be this user's alone."""

import contextlib
import os
import stat
from pathlib import Path

from plimsoll.errors import Unavailable


def is_own(folder: Path) -> bool:
    """Whether a folder is there, no link, this user's, and closed to all others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def make(folder: Path) -> Path:
    """The folder, made if it is not there. Unavailable if somebody else has made it, or left it open."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_own(folder):
        raise Unavailable(f"{folder} is not a folder of this user's alone: have it removed by its owner, or by root")
    return folder
