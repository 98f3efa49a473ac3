"""The copy of each image in the store, from which one that was removed is made again (plimsoll.images.restore)."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from plimsoll import documents, paths
from plimsoll.environments.base import gone
from plimsoll.errors import PlimsollError, shown
from plimsoll.host import machine_lock
from plimsoll.images import client
from plimsoll.interchange import Image, StageOfImage

ARCHIVE, DESCRIPTION, LOCK = "image.tar", "image.json", ".lock"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Have the store for this process alone while images are built, taken, unpacked or made again: two workflows that start at
    once would take each other's files away. Who has it is said, and waited for."""
    paths.image_store().mkdir(parents=True, exist_ok=True)
    with machine_lock.exclusive(paths.image_store() / LOCK, _say_whose, os.O_RDWR):
        yield


def _say_whose(holder: str) -> None:
    print(
        f"images: another workflow is at work on images in {paths.image_store()} ({holder}); waiting for it.",
        file=sys.stderr,
        flush=True,
    )


def folder_of(image: Image) -> Path:
    """Where an image's forms lie, by its tag. PlimsollError for a tag that would lead elsewhere."""
    name = image["tag"].removeprefix("plimsoll/").replace(":", "-")
    if Path(name).name != name or name.startswith("."):
        raise PlimsollError(f"{shown(image['tag'])} is no tag of an image of ours: delete the description that has it.")
    return paths.image_store() / name


def keep(image: Image) -> None:
    """Put a copy of an engine's image and of its stages into the store, unless there is one. Unavailable if that fails."""
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
    """Write images of the engine, by their tags, to a file as Docker writes it; Unavailable if that fails."""
    # Podman leaves out all but the first unless it is told.
    several = ("--multi-image-archive",) if "podman" in client.command() and len(named) > 1 else ()
    client.asked("save", *several, "--output", str(path), *named, seconds=300)


def load(image: Image) -> None:
    """Give the engine an image, and those of its stages, from the copy; Outage if there is none, Unavailable if that fails."""
    archive = folder_of(image) / ARCHIVE
    if not archive.is_file():
        raise gone(image, f"and {archive} is not there")
    client.asked("load", "--quiet", "--input", str(archive), seconds=300)
    # Docker and Podman name what they save differently, and the digest is the same.
    for each in parts(image):
        client.asked("tag", each["id"].removeprefix("sha256:"), each["tag"])


def tags(image: Image) -> list[str]:
    """Tags of an image and of those of its stages that are images too."""
    return [each["tag"] for each in parts(image)]


def parts(image: Image) -> list[StageOfImage]:
    """An image and those of its stages that are images too."""
    return [image, *image.get("stages", {}).values()]


def in_engine(image: Image) -> bool:
    """Whether the engine has an image and its stages as they are described, and not others by the same recipe."""
    return all(client.image_id(each["tag"]) == each["id"] for each in parts(image))


def digest(image: Mapping) -> str | None:
    """The digest of what the store has under an image's tag; None if it has nothing, or if what it says is damaged."""
    known = described(folder_of(image) / DESCRIPTION)
    return known["id"] if known else None


def described(path: Path) -> StageOfImage | None:
    """The description of an image in a file; None if there is none, or if it is damaged: it is then made anew."""
    try:
        return documents.of(path, StageOfImage)
    except documents.Misfit:
        return None


def forget_replaced(folder: Path) -> None:
    """Delete the descriptions in a folder of images that have been replaced in the store since, by another clone or from a
    file: the paths in them lead to other bits."""
    for path in folder.glob("*.json"):
        known = described(path)
        if known and digest(known) not in (None, known["id"]):
            path.unlink()
