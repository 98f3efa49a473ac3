"""Times at which files of the results changed, from which Snakemake concludes what to make."""

import contextlib
import os
import time
from pathlib import Path

# Folders of results whose files' times do not matter to Snakemake.
UNTIMED = ("raw", "reference")


def bring_back(results: Path) -> None:
    """Set the times of files in the results that lie in the future to now: the clock was ahead when they were written.

    Snakemake refuses to make anything from such files.
    """
    now = time.time()
    for place, folders, names in os.walk(results):
        folders[:] = [name for name in folders if name not in UNTIMED]
        for path in (os.path.join(place, name) for name in names):
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime > now:
                    os.utime(path, follow_symlinks=False)


def newer(path: str, moment: int) -> bool:
    """Return whether a file was changed after a moment (nanoseconds since 1970)."""
    return os.stat(path).st_mtime_ns > moment
