"""Folders of the engines of parents: each a copy of one whose engine has loaded the child's image, which takes most of a
parent's start. Where creation is measured there is no copy.

Layers are linked: an engine never changes a file of theirs. The rest is copied. Networks are left out: an engine makes its own.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import output
from plimsoll.errors import Unavailable
from plimsoll.interchange import Image

# What an engine knows of images, and the images' layers.
COPIED, LINKED = "image", "overlay2"
# Layers cannot be stacked on such a file system.
STACKED = "overlayfs"


def loaded(image: Image) -> Path:
    """The folder of an engine that has loaded an image, beside the image's other forms."""
    return Path(image["archive"]).with_name("engine")


def usable(image: Image) -> bool:
    """Whether engines can have their folders where the image is: root alone can remove what they write."""
    folder = str(Path(image["archive"]).parent)
    if os.geteuid() or _refused(image).exists():
        return False
    return output(["stat", "--file-system", "--format", "%T", folder]).strip() != STACKED


def make(name: str) -> None:
    """Make an empty folder for the parent of this name; Unavailable if that fails."""
    try:
        of(name).mkdir(parents=True)
    except OSError as problem:
        raise Unavailable(f"the engine's folder {of(name)} cannot be made: {problem.strerror}") from problem


def refuse(image: Image, why: str) -> None:
    """Note that no engine can have its folder where an image is, with the reason."""
    _refused(image).write_text(f"{why}\n")


def forget(image: Image) -> None:
    """Remove the folder of the engine that has loaded an image; it need not be there."""
    output(["rm", "-rf", str(loaded(image))])


def keep(name: str, image: Image) -> None:
    """Let others have copies of the folder of an engine that has ended, in one step."""
    made = of(name)
    for entry in made.iterdir():
        if entry.name not in (COPIED, LINKED):
            output(["rm", "-rf", str(entry)])
    # What a power failure left of it would be taken for whole.
    output(["sync", "--file-system", str(made)])
    if not loaded(image).exists():
        made.rename(loaded(image))


def copy_all(names: Sequence[str], image: Image) -> None:
    """Make a folder for the parent of each name; Unavailable, with none of them left, if that fails."""
    try:
        for name in names:
            make(name)
            output(["cp", "--archive", str(loaded(image) / COPIED), str(of(name))])
            output(["cp", "--archive", "--link", str(loaded(image) / LINKED), str(of(name))])
    except Unavailable:
        remove(names)
        raise


def of(name: str) -> Path:
    """The folder of the parent of this name, if it has one."""
    return _all() / name


def remove(names: Sequence[str]) -> None:
    """Remove folders; they need not be there."""
    if there := [str(of(name)) for name in names if of(name).exists()]:
        output(["rm", "-rf", *there])


def sweep() -> None:
    """Remove the folders of all runs."""
    shutil.rmtree(_all(), ignore_errors=True)


def _refused(image: Image) -> Path:
    return loaded(image).with_name("engine.refused")


def _all() -> Path:
    return paths.image_store() / ".engines"
