"""An archive as a folder of results, to be read beside others."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.archives import layout, reading

# Below the results of this machine: one folder per archive.
PLACE = Path("results/compare/archives")


def folder_of(path: Path) -> Path:
    """The folder of results that a path names: itself, or where the archive is unpacked that it names. What was unpacked before
    is compared with the archive, and unpacked anew unless it is the same. PlimsollError for an archive that cannot be used."""
    if path.suffix != ".zip" or not path.is_file():
        return path
    PLACE.mkdir(parents=True, exist_ok=True)
    with _alone(), reading.opened(path) as archive:
        folder = PLACE / archive.identity[:16]
        if folder.exists() and reading.changed_whole(archive, folder):
            shutil.rmtree(folder)
        if not folder.exists():
            _unpack(archive, folder)
    return folder / "results"


def reference_of(folder: Path) -> Path:
    """The folder to read in the place of one with a study's results: where its archive is unpacked if reference measurements
    lie in it, which are tables alone; otherwise itself. PlimsollError for an archive that cannot be used."""
    archive = folder / layout.reference(folder.name)
    return folder_of(archive) / folder.name if archive.is_file() else folder


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until nobody else unpacks. The lock is the kernel's: a killed holder does not keep it."""
    with open(PLACE / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unpack(archive: reading.Archive, folder: Path) -> None:
    """Put all of an archive into a folder, in one step. Nobody else may unpack: what a killed process left is removed."""
    new = folder.with_name(".unfinished")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        reading.unpack_whole(archive, new)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
