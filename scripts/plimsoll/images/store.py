"""The copy of each image in the store, from which one that was removed is made again (plimsoll.images.restore)."""

from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import output
from plimsoll.interchange import Image

ARCHIVE = "image.tar"


def folder_of(image: Image) -> Path:
    """Where an image's forms lie, by its tag."""
    return paths.image_store() / image["tag"].removeprefix("plimsoll/").replace(":", "-")


def keep(image: Image) -> None:
    """Put a copy of a Docker image and of its stages into the store, unless there is one. Unavailable if that fails."""
    path = folder_of(image) / ARCHIVE
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{ARCHIVE}")
    try:
        output(["docker", "save", "--output", str(temporary), *tags(image)], 300)
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def tags(image: Image) -> list[str]:
    """Tags of an image and of those of its stages that are images too."""
    return [image["tag"], *(stage["tag"] for stage in image.get("stages", {}).values())]
