"""The image store's copy of each image. A removed image is restored from it (plimsoll.images.restore)."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from plimsoll import documents, paths
from plimsoll.errors import PlimsollError, quote, say
from plimsoll.host import machine_lock
from plimsoll.images import client
from plimsoll.interchange import Image, StageOfImage
from plimsoll.runtimes.image_forms import image_gone

ARCHIVE, DESCRIPTION, LOCK = "image.tar", "image.json", ".lock"


@contextlib.contextmanager
def hold() -> Iterator[None]:
    """Hold the image store for this process alone while images are built, imported, unpacked or restored.

    Two workflows that start at once would delete each other's files. If another process holds the store, name it on
    standard error and wait.
    """
    paths.image_store().mkdir(parents=True, exist_ok=True)
    with machine_lock.exclusive(paths.image_store() / LOCK, _say_whose, os.O_RDWR):
        yield


def _say_whose(holder: str) -> None:
    say(f"another workflow ({holder}) is changing images in {paths.image_store()}. Waiting for it.", "images")


def folder_of(image: Image) -> Path:
    """Return the folder of an image's forms, by its tag. Raise PlimsollError for a tag that would lead out of the store."""
    name = image["tag"].removeprefix("plimsoll/").replace(":", "-")
    if Path(name).name != name or name.startswith("."):
        raise PlimsollError(
            f"{quote(image['tag'])} is not the tag of an image of this project. Delete the file that describes "
            "it: it is made again."
        )
    return paths.image_store() / name


def keep(image: Image) -> None:
    """Save an engine's image and its stages into the store, if there is no copy yet. Raise Unavailable if that fails."""
    path = folder_of(image) / ARCHIVE
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{ARCHIVE}")
    try:
        save(temporary, tags(image))
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, named: list[str]) -> None:
    """Write images of the engine, given by their tags, to a file in Docker's format. Raise Unavailable if that fails."""
    # Without this option Podman saves only the first image.
    several = ("--multi-image-archive",) if "podman" in client.command() and len(named) > 1 else ()
    client.output("save", *several, "--output", str(path), *named, seconds=300)


def load(image: Image) -> None:
    """Load an image and its stages from the copy into the engine.

    Raise Outage if there is no copy, Unavailable if that fails.
    """
    archive = folder_of(image) / ARCHIVE
    if not archive.is_file():
        raise image_gone(image, f"and {archive} is not there")
    client.output("load", "--quiet", "--input", str(archive), seconds=300)
    # Docker and Podman name saved images differently, so each is tagged again by its digest.
    for each in parts(image):
        client.output("tag", each["id"].removeprefix("sha256:"), each["tag"])


def tags(image: Image) -> list[str]:
    """Return the tags of an image and of its stages that are images too."""
    return [each["tag"] for each in parts(image)]


def parts(image: Image) -> list[StageOfImage]:
    """Return an image and its stages that are images too."""
    return [image, *image.get("stages", {}).values()]


def in_engine(image: Image) -> bool:
    """Whether the engine has an image and its stages with the digests of the description, and not others by the same recipe."""
    return all(client.image_id(each["tag"]) == each["id"] for each in parts(image))


def digest(image: Mapping) -> str | None:
    """Return the digest of the image that the store has under an image's tag.

    Return None if its description is missing or damaged.
    """
    known = read_description(folder_of(image) / DESCRIPTION)
    return known["id"] if known else None


def read_description(path: Path) -> StageOfImage | None:
    """Return the description of an image in a file. Return None if the file is missing or damaged: it is then made again."""
    try:
        return documents.load(path, StageOfImage)
    except documents.Misfit:
        return None


def forget_replaced(folder: Path) -> None:
    """Delete the descriptions in a folder whose images were replaced in the store, by another clone or from a file.

    The paths in such a description lead to other bits.
    """
    for path in folder.glob("*.json"):
        known = read_description(path)
        if known and digest(known) not in (None, known["id"]):
            path.unlink()
