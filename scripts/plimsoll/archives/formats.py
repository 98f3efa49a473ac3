"""The format of an archive: its number, and how what an older version wrote is read.

The number is counted up when this version could not read an archive of the version before as it is: when the manifest or the
records' lines say something else, and also when a schema of a study, of claims or of a profile no longer takes what it took.
UPGRADES then gets a step from each older format that is still read, and docs/archives.md says which these are.
"""

from collections.abc import Callable

from plimsoll.archives.layout import Refused
from plimsoll.errors import shown

FORMAT = 1
# By the number of a format: from a manifest of that format to one of the next.
UPGRADES: dict[int, Callable[[dict], dict]] = {}


def current(manifest: dict) -> dict:
    """A manifest of any format that is read, as one of this format. Refused for one that is newer, or too old."""
    given = manifest.get("format")
    if type(given) is not int or given < 1:
        raise Refused("it does not say in which format it is")
    if given > FORMAT:
        raise Refused(f"it has the format {shown(given)}, and this version of Plimsoll reads {FORMAT}: take a newer version")
    for number in range(given, FORMAT):
        if number not in UPGRADES:
            raise Refused(f"it has the format {given}, which this version of Plimsoll no longer reads: take an older version")
        manifest = {**UPGRADES[number](manifest), "format": number + 1}
    return manifest
