"""The format of an archive: its number, and how older formats are read.

The number is increased when this version could not read an archive of the previous version as it is. That happens when
the manifest or the records' lines change their meaning. It also happens when a schema of a study, of claims or of a
profile no longer accepts what it did. UPGRADES then gets a step from each older format that can still be read;
docs/reports/archives.md lists these formats.
"""

from collections.abc import Callable

from plimsoll.errors import quote
from plimsoll.features.archive.layout import RefusedArchive

FORMAT = 1
# By the number of a format: a function from a manifest of that format to one of the next.
UPGRADES: dict[int, Callable[[dict], dict]] = {}


def current(manifest: dict) -> dict:
    """Return a manifest in this version's format. Raise RefusedArchive if its format is newer, or too old to be read."""
    given = manifest.get("format")
    if type(given) is not int or given < 1:
        raise RefusedArchive("it does not say in which format it is")
    if given > FORMAT:
        raise RefusedArchive(
            f"it has the format {quote(given)}, and this version of Plimsoll reads {FORMAT}: take a newer version"
        )
    for number in range(given, FORMAT):
        if number not in UPGRADES:
            raise RefusedArchive(
                f"it has the format {given}, which this version of Plimsoll no longer reads: take an older version"
            )
        manifest = {**UPGRADES[number](manifest), "format": number + 1}
    return manifest
