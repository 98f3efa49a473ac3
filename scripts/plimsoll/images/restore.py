"""Makes an image that was removed again from its copy in the store: the same bits with the same digest.

An image that is built anew has another digest, and records of two builds are not compared.
"""

from pathlib import Path

from plimsoll.images import forms
from plimsoll.images.store import folder_of, in_engine, load
from plimsoll.interchange import Image


def restore(image: Image) -> None:
    """Make the forms of an image again that are gone. Outage if there is no copy, Unavailable if a step fails."""
    if not in_engine(image):
        load(image)
    if not all(path.is_file() for path in _files(image)):
        forms.unpack(image["tag"], folder_of(image), image.get("stages", {}))


def _files(image: Image) -> list[Path]:
    """The forms of an image that are files, and the files of the unpacked image that its description names."""
    packed = [Path(image[form]) for form in ("sif", "archive", "disk") if form in image]
    return packed + ([Path(image["rootfs"]) / path for path in image["files"]] if "rootfs" in image else [])
