"""Compare the programs and libraries of a new image with those of other images built by the same recipe."""

from collections.abc import Iterable, Mapping

from plimsoll import paths
from plimsoll.images import store
from plimsoll.interchange import Image

# At most this many differing files are named.
NAMED = 3


def others(tag: str) -> dict[str, Image]:
    """Return the descriptions of other images by the recipe of `tag`, by the folder that each lies in.

    Looks in this user's image store, which also holds images taken from a file, and in root's store if it is readable.
    """
    folders = dict.fromkeys((paths.image_store(), paths.SYSTEM_IMAGE_STORE))
    found = {}
    for folder in folders:
        path = folder / store.folder_of({"tag": tag}).name / store.DESCRIPTION
        if known := store.read_description(path):
            found[str(path.parent)] = known
    return found


def sentences(built: Image, there: Mapping[str, Image]) -> Iterable[str]:
    """Yield a sentence for each image in `there`: its build identifiers are the same as those of `built`, or which
    files differ."""
    for folder, other in there.items():
        if other["id"] == built["id"] or "files" not in other:
            continue
        own, its = _identifiers(built), _identifiers(other)
        differing = [path for path in sorted({*own, *its}) if own.get(path) != its.get(path)]
        if differing:
            more = f" and {len(differing) - NAMED} others" if len(differing) > NAMED else ""
            yield f"{built['tag']} has other build identifiers than the image of {folder}: {', '.join(differing[:NAMED])}{more}"
        else:
            yield f"{built['tag']} has the same build identifiers as the image of {folder}, in all {len(own)} files"


def _identifiers(image: Image) -> dict[str, str]:
    """Return the build identifier of each program and library, by path; the checksum of a file that has none."""
    return {path: known.get("build_id") or known.get("sha256", "") for path, known in image["files"].items()}
