"""Makes an image that was removed again from its copy in the store: the same bits with the same digest.

An image that is built anew has another digest, and records of two builds are not compared.
"""

from pathlib import Path

from plimsoll.environments.base import gone, output
from plimsoll.images import builder
from plimsoll.images.store import ARCHIVE, folder_of, tags
from plimsoll.interchange import Image


def restore(image: Image) -> None:
    """Make the forms of an image again that are gone. Outage if there is no copy, Unavailable if a step fails."""
    wanted = [image["id"], *(stage["id"] for stage in image.get("stages", {}).values())]
    if [builder.image_id(tag) for tag in tags(image)] != wanted:
        archive = folder_of(image) / ARCHIVE
        if not archive.is_file():
            raise gone(image, f"and {archive} is not there")
        output(["docker", "load", "--quiet", "--input", str(archive)], 300)
    if not all(path.is_file() for path in _files(image)):
        builder.unpack(image["tag"], folder_of(image), image.get("stages", {}))


def _files(image: Image) -> list[Path]:
    """The forms of an image that are files, and the files of the unpacked image that its description names."""
    forms = [Path(image[form]) for form in ("sif", "archive", "disk") if form in image]
    return forms + ([Path(image["rootfs"]) / path for path in image["files"]] if "rootfs" in image else [])
