"""Results in archives: the folders that are read in their place. Without the feature of archives there are none."""

from pathlib import Path

from plimsoll import features


def folder_of(path: Path) -> Path:
    """Return the folder of results for a path: the path itself or, if it names an archive, where that is unpacked.

    Raise PlimsollError if the archive cannot be used.
    """
    opened = features.find("folder_of")
    return opened(path) if opened else path


def reference_of(folder: Path) -> Path:
    """Return the folder to read instead of a study's: of reference measurements, that of their archive.

    Raise PlimsollError if the archive cannot be used.
    """
    opened = features.find("reference_of")
    return opened(folder) if opened else folder
