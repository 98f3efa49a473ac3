"""Forms of an image (an archive, one file, an unpacked folder): whether each is as it was made."""

import json
from pathlib import Path

from plimsoll.errors import ImageGone
from plimsoll.interchange import Image

# File beside the forms of an image. It holds the checksum of each form that is one file, by the file's name.
SUMS = "sums.json"
CHANGED = "was changed after it was made"
# Form of an image that is a folder.
UNPACKED = "rootfs"


def name_of(tag: str) -> str:
    """Return the name of an image from its tag. Its folder in containers/ has the same name."""
    return tag.partition(":")[0].rpartition("/")[2]


def image_gone(image: Image, what: str) -> ImageGone:
    """Return the ImageGone of an image that has changed since it was built, or lacks one of its forms. `what` says
    how."""
    remedy = f"delete results/images/{name_of(image['tag'])}.json, so that the image is built again"
    how = "has changed" if what.endswith(CHANGED) else "was removed"
    return ImageGone(f"the image {image['tag']} {how} ({what})", remedy)


def unpacked_problem(image: Image) -> str | None:
    """Return, in words, which unpacked file of an image is gone or has changed since it was built. Return None if all
    are unchanged. It reads all of them."""
    for path, known in image["files"].items() if "rootfs" in image else ():
        if what := problem_of(Path(image["rootfs"], path), known["sha256"]):
            return f"its unpacked file {path} {what}"
    return None


def form_problem(image: Image, form: str) -> str | None:
    """Return, in words, what is wrong with a form of an image that is one file. Return None if it is as it was made."""
    path = Path(image.get(form, ""))
    try:
        sums = json.loads(path.with_name(SUMS).read_text())
    except (OSError, ValueError):
        sums = {}  # an image of an earlier version has no such file
    what = problem_of(path, sums.get(path.name))
    return f"its {form} {what}" if what else None


def problem_of(path: Path, wanted: str | None) -> str | None:
    """Return, in words, what is wrong with a file: it is missing, or its SHA-256 is not `wanted`. Return None if
    nothing is wrong. Without `wanted` only its presence is checked."""
    import hashlib  # here, because a run that ends well does not need it

    try:
        with open(path, "rb") as file:
            differs = wanted is not None and hashlib.file_digest(file, "sha256").hexdigest() != wanted
    except OSError:
        return "is not there"
    return CHANGED if differs else None
