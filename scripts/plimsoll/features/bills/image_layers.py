"""Read images from a file of `docker save` or `podman save`, without an engine and without unpacking.

Such a file lists its images, each with its configuration and its layers. A layer is a tar archive. The file system of
an image is its layers, one over the other; a name that begins with .wh. removes a file of a lower layer.
"""

import contextlib
import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from plimsoll.errors import PlimsollError
from plimsoll.interchange import StageOfImage

LIST, INDEX = "manifest.json", "index.json"
TAKEN_AWAY, EMPTIED = ".wh.", ".wh..wh..opq"
# Exceptions that reading a damaged file ends with.
UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError)


class SavedImage:
    """An image in such a file.

    `tag` and `id` name it, `created` is its moment of creation as its configuration has it, and `files` holds the paths
    of its regular files.
    """

    def __init__(self, image: StageOfImage, created: str, layers: list[tarfile.TarFile]):
        self.tag, self.id, self.created = image["tag"], image["id"], created
        self._places = _merged(layers)
        self.files = frozenset(self._places)

    def __contains__(self, path: str) -> bool:
        return path in self._places

    def open(self, path: str) -> BinaryIO:
        """Open a file of the image for reading. Raise PlimsollError if the image does not have it."""
        if path not in self._places:
            raise PlimsollError(f"The image {self.tag} has no /{path}. It is not an image of Debian, or its copy is damaged.")
        layer, member = self._places[path]
        return layer.extractfile(member)

    def text(self, path: str) -> str:
        """Return the text of a file of the image."""
        return self.open(path).read().decode(errors="replace")

    def sha256(self, path: str) -> str:
        """Return the SHA-256 of a file of the image."""
        return hashlib.file_digest(self.open(path), "sha256").hexdigest()


@contextlib.contextmanager
def open_images(path: Path, wanted: list[StageOfImage]) -> Iterator[list[SavedImage]]:
    """Yield the `wanted` images of a file, in their order.

    Raise PlimsollError if one is not in it, or if the file is damaged. Damage that is found while the images are read
    raises it too.
    """
    try:
        with contextlib.ExitStack() as layers:
            yield _all(layers.enter_context(tarfile.open(path)), wanted, layers, path)
    except UNREADABLE as problem:
        raise _damaged(path, problem) from problem


def _damaged(path: Path, problem: Exception) -> PlimsollError:
    return PlimsollError(
        f"{path} is damaged, or not there ({problem}). Measurements are not affected. Delete it: the next "
        "start of the workflow makes it again."
    )


def _all(archive: tarfile.TarFile, wanted: list[StageOfImage], layers: contextlib.ExitStack, path: Path) -> list[SavedImage]:
    try:
        listed = json.load(archive.extractfile(LIST))
        return [_of(archive, image, listed, layers, path) for image in wanted]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise _damaged(path, problem) from problem


def _of(
    archive: tarfile.TarFile, image: StageOfImage, listed: list[dict], layers: contextlib.ExitStack, path: Path
) -> SavedImage:
    # Podman puts the name of a registry before a tag.
    found = [one for one in listed if any(f"/{tag}".endswith(f"/{image['tag']}") for tag in one["RepoTags"] or ())]
    if not found or image["id"] not in _digests(archive, found[0]):
        raise PlimsollError(
            f"{path} does not have the image {image['tag']} of its description. Measurements are not affected. "
            "Delete it: the next start of the workflow makes it again."
        )
    config = json.load(archive.extractfile(found[0]["Config"]))
    opened = [layers.enter_context(tarfile.open(fileobj=archive.extractfile(name), mode="r:*")) for name in found[0]["Layers"]]
    return SavedImage(image, config["created"], opened)


def _digests(archive: tarfile.TarFile, entry: Mapping) -> set[str]:
    """Return the digests that an engine may use for an image: that of its configuration, or of a manifest that leads to it."""
    own = f"sha256:{hashlib.sha256(archive.extractfile(entry['Config']).read()).hexdigest()}"
    if INDEX not in archive.getnames():
        return {own}
    return {own, *(one["digest"] for one in json.load(archive.extractfile(INDEX))["manifests"])}


def _merged(layers: list[tarfile.TarFile]) -> dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Return the regular files of layers that lie one over the other: by path, (the layer that has it, its member)."""
    found: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = {}
    for layer in layers:
        members = {PurePosixPath(member.name).as_posix(): member for member in layer}
        for name in members:
            folder, _, last = name.rpartition("/")
            if last == EMPTIED:
                _take_away(found, folder)
            elif last.startswith(TAKEN_AWAY):
                _take_away(found, f"{folder}/{last.removeprefix(TAKEN_AWAY)}".lstrip("/"))
        for name, member in members.items():
            if member.isfile() or member.islnk():
                found[name] = layer, member
            elif not member.isdir():
                found.pop(name, None)
    return found


def _take_away(found: dict, path: str) -> None:
    for name in [name for name in found if name == path or name.startswith(f"{path}/")]:
        del found[name]
