"""Folders for the engines of parents. Each is a copy of the folder of an engine that has loaded the child's image.

Loading takes most of a parent's start. Where creation is measured there is no copy. Image layers are hard links,
because an engine never changes their files. The rest is copied. Networks are left out, because an engine makes its
own.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import Unavailable
from plimsoll.interchange import Image
from plimsoll.runtimes.commands import output

# Subfolders of an engine's folder: its notes of images, and the images' layers.
COPIED, LINKED = "image", "overlay2"
# Type of a file system on which layers cannot be stacked.
STACKED = "overlayfs"


def with_image(image: Image) -> Path:
    """Return the path of the folder of an engine that has loaded an image. It lies beside the image's other forms."""
    return Path(image["archive"]).with_name("engine")


def usable(image: Image) -> bool:
    """Return whether engines can have their folders where the image is.

    They can only for root, because other users cannot remove what engines write. They cannot if `refuse` noted so, or
    if layers cannot be stacked on that file system.
    """
    folder = str(Path(image["archive"]).parent)
    if os.geteuid() or _refused(image).exists():
        return False
    return output(["stat", "--file-system", "--format", "%T", folder]).strip() != STACKED


def make(name: str) -> None:
    """Make an empty folder for the parent of this name. Raise Unavailable if that fails."""
    try:
        of_parent(name).mkdir(parents=True)
    except OSError as problem:
        raise Unavailable(f"the engine's folder {of_parent(name)} cannot be made: {problem.strerror}") from problem


def refuse(image: Image, why: str) -> None:
    """Note that no engine can have its folder where an image is, with the reason."""
    _refused(image).write_text(f"{why}\n")


def forget(image: Image) -> None:
    """Remove the folder of the engine that has loaded an image, if it exists."""
    output(["rm", "-rf", str(with_image(image))])


def keep(name: str, image: Image) -> None:
    """Make the folder of an engine that has ended, cut down to images and layers, the one that others copy, in one
    step."""
    made = of_parent(name)
    for entry in made.iterdir():
        if entry.name not in (COPIED, LINKED):
            output(["rm", "-rf", str(entry)])
    # Without this, what a power failure leaves of the folder would be taken for complete.
    output(["sync", "--file-system", str(made)])
    if not with_image(image).exists():
        made.rename(with_image(image))


def copy_all(names: Sequence[str], image: Image) -> None:
    """Make a folder for the parent of each name. Raise Unavailable, with none of them left, if that fails."""
    try:
        for name in names:
            make(name)
            output(["cp", "--archive", str(with_image(image) / COPIED), str(of_parent(name))])
            output(["cp", "--archive", "--link", str(with_image(image) / LINKED), str(of_parent(name))])
    except Unavailable:
        remove(names)
        raise


def of_parent(name: str) -> Path:
    """Return the path of the folder of the parent of this name. It may not exist."""
    return _all() / name


def remove(names: Sequence[str]) -> None:
    """Remove the folders of the parents of these names. Missing ones are ignored."""
    if there := [str(of_parent(name)) for name in names if of_parent(name).exists()]:
        output(["rm", "-rf", *there])


def sweep() -> None:
    """Remove the folders of all runs."""
    shutil.rmtree(_all(), ignore_errors=True)


def _refused(image: Image) -> Path:
    return with_image(image).with_name("engine.refused")


def _all() -> Path:
    return paths.image_store() / ".engines"
