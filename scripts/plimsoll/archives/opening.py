"""An archive as a folder of results, to be read beside others."""

import os
import shutil
from pathlib import Path

from plimsoll.archives import reading

# Below the results of this machine: one folder per archive.
PLACE = Path("results/compare/archives")


def folder_of(path: Path) -> Path:
    """The folder of results that a path names: itself, or where the archive is unpacked that it names, which is done once.
    PlimsollError for an archive that cannot be used."""
    if path.suffix != ".zip" or not path.is_file():
        return path
    with reading.opened(path) as archive:
        folder = PLACE / archive.identity[:16]
        if not folder.exists():
            _unpack(archive, folder)
    return folder / "results"


def _unpack(archive: reading.Archive, folder: Path) -> None:
    """Put all of an archive into a folder, in one step."""
    new = folder.with_name(f".{folder.name}-{os.getpid()}")
    new.mkdir(parents=True)
    try:
        reading.unpack_whole(archive, new)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
