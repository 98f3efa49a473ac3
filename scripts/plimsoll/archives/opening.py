"""An archive as a folder of results, to be read beside others."""

import shutil
from pathlib import Path

from plimsoll.archives import layout, places, reading

# Below the results of this machine: one folder per archive.
PLACE = Path("results/compare/archives")


def folder_of(path: Path) -> Path:
    """The folder of results that a path names: itself, or where the archive is unpacked that it names. What was unpacked before
    is compared with the archive, and unpacked anew unless it is the same. PlimsollError for an archive that cannot be used."""
    if path.suffix != ".zip" or not path.is_file():
        return path
    PLACE.mkdir(parents=True, exist_ok=True)
    with places.alone(PLACE), reading.opened(path) as archive:
        folder = PLACE / archive.identity[:16]
        if folder.exists() and reading.changed_whole(archive, folder):
            shutil.rmtree(folder)
        if not folder.exists():
            with places.whole(folder) as new:
                reading.unpack_whole(archive, new)
    return folder / "results"


def reference_of(folder: Path) -> Path:
    """The folder to read in the place of one with a study's results: where its archive is unpacked if reference measurements
    lie in it, which are tables alone; otherwise itself. PlimsollError for an archive that cannot be used."""
    archive = folder / layout.reference(folder.name)
    return folder_of(archive) / folder.name if archive.is_file() else folder
