"""The copy of each image in the store, from which one that was removed is made again (plimsoll.images.restore)."""

import json
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import gone
from plimsoll.images import client
from plimsoll.interchange import Image

ARCHIVE = "image.tar"


def folder_of(image: Image) -> Path:
    """Where an image's forms lie, by its tag."""
    return paths.image_store() / image["tag"].removeprefix("plimsoll/").replace(":", "-")


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
    for each in (image, *image.get("stages", {}).values()):
        client.asked("tag", each["id"].removeprefix("sha256:"), each["tag"])


def tags(image: Image) -> list[str]:
    """Tags of an image and of those of its stages that are images too."""
    return [image["tag"], *(stage["tag"] for stage in image.get("stages", {}).values())]


def forget_replaced(folder: Path) -> None:
    """Delete the descriptions in a folder of images that have been replaced in the store since, by another clone or from a
    file: the paths in them lead to other bits."""
    for path in folder.glob("*.json"):
        try:
            described = json.loads(path.read_text())
            there = json.loads((folder_of(described) / "image.json").read_text())
            if there["id"] != described["id"]:
                path.unlink()
        except (OSError, ValueError, KeyError, TypeError):
            continue
