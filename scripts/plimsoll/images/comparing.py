"""Whether an image that was built has the programs and libraries of another one by the same recipe."""

from collections.abc import Iterable, Mapping

from plimsoll import paths
from plimsoll.images import store
from plimsoll.interchange import Image

# So many names are told of what differs.
NAMED = 3


def others(tag: str) -> dict[str, Image]:
    """Descriptions of images by a recipe, by the folder in which they are: this user's, one that was taken from a file among
    them, and root's where it can be read."""
    folders = dict.fromkeys((paths.image_store(), paths.ROOT_S_IMAGES))
    found = {}
    for folder in folders:
        path = folder / store.folder_of({"tag": tag}).name / store.DESCRIPTION
        if known := store.described(path):
            found[str(path.parent)] = known
    return found


def sentences(built: Image, there: Mapping[str, Image]) -> Iterable[str]:
    """A sentence for each other image that is `there`: whether the build identifiers are the same, or of what they differ."""
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
    """Of each program and library what tells its build: the build identifier, or the checksum of what has none."""
    return {path: known.get("build_id") or known.get("sha256", "") for path, known in image["files"].items()}
