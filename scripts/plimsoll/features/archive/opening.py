"""Open an archive as a folder of results, to be compared with others."""

import shutil
from pathlib import Path

from plimsoll.features.archive import archive_folders, layout, reading

# Folder in this machine's results that has one folder per archive.
PLACE = Path("results/compare/archives")


def folder_of(path: Path) -> Path:
    """Return the folder of results for a path: the path itself or, if it names an archive, the folder where that is
    unpacked.

    A folder that was unpacked before is checked against the archive, and unpacked again if it differs. Raise
    PlimsollError if the archive cannot be used.
    """
    if path.suffix != ".zip" or not path.is_file():
        return path
    PLACE.mkdir(parents=True, exist_ok=True)
    with archive_folders.hold(PLACE), reading.open_archive(path) as archive:
        folder = PLACE / archive.identity[:16]
        if folder.exists() and reading.changed_whole(archive, folder):
            shutil.rmtree(folder)
        if not folder.exists():
            with archive_folders.whole(folder) as new:
                reading.unpack_whole(archive, new)
    return folder / "results"


def reference_of(folder: Path) -> Path:
    """Return the folder to read instead of one with a study's results.

    Reference measurements are only tables and an archive: for them it is the folder where that archive is unpacked. Any
    other folder is returned as it is. Raise PlimsollError if the archive cannot be used.
    """
    archive = folder / layout.reference(folder.name)
    return folder_of(archive) / folder.name if archive.is_file() else folder
