"""Export images to one file, and import them on a machine that cannot build them or need not.

The file is a tar archive, compressed by gzip. Its first member lists the others (config/schemas/images.yaml): the files
of each image's folder in the store, with their checksums. The unpacked image is a tar archive inside.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from plimsoll import paths, spelling
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError, quote
from plimsoll.images import builder, contents, forms, image_comparison, store
from plimsoll.interchange import Image

FORMAT, MANIFEST, PACKED = 1, "images.json", "rootfs.tar"
# Upper limit of the manifest's size (bytes).
LONGEST_MANIFEST = 1 << 20
PART_BYTES = 1 << 20


def write(images: list[tuple[str, Image]], target: Path, say: Callable[[str], None]) -> None:
    """Write images, given as (name, description), into a file. The file appears in one step.

    `say` is called with each step in words. Raise PlimsollError if the file cannot be written.
    """
    new = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(dir=paths.image_store(), prefix=".file-") as temporary:
            listed, members = [], []
            for name, image in images:
                say(f"reading {image['tag']}")
                found = _files(image, Path(temporary))
                checked = {file: {"sha256": forms.sha256(path), "bytes": path.stat().st_size} for file, path in found.items()}
                listed.append({"name": name, "tag": image["tag"], "id": image["id"], "files": checked})
                members += [(f"{store.folder_of(image).name}/{file}", path) for file, path in found.items()]
            manifest = Path(temporary) / MANIFEST
            manifest.write_text(json.dumps({"format": FORMAT, "images": listed}, indent=1))
            say(f"writing {target}")
            with tarfile.open(new, "w:gz", compresslevel=1) as archive:
                for name, path in [(MANIFEST, manifest), *members]:
                    archive.add(path, name, filter=_without_owner)
        new.rename(target)
    except OSError as problem:
        raise PlimsollError(f"{target} could not be written: {problem.strerror}.") from problem
    finally:
        new.unlink(missing_ok=True)


def _files(image: Image, temporary: Path) -> dict[str, Path]:
    """Return the files of an image's folder, by name. Its unpacked files become one tar archive in the folder `temporary`."""
    folder = store.folder_of(image)
    found = {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    if (folder / forms.ROOTFS).is_dir():
        packed = temporary / f"{folder.name}.tar"
        command = ["tar", "--create", "--numeric-owner", "--file", str(packed), "--directory", str(folder), forms.ROOTFS]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            raise PlimsollError(
                f"Some files in {folder / forms.ROOTFS} could not be read. No file was written. Type the command "
                "as the user who built the image."
            )
        found[PACKED] = packed
    return found


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


@store.hold()
def take(source: Path, base: str) -> dict[str, list[str]]:
    """Import the images of a file into the store. Return the tags of the images that the store did not have.

    Each tag comes with sentences that compare the image's build identifiers with those of other images by the same
    recipe (plimsoll.images.image_comparison). `base` is the configuration's `base_image`.

    Raise PlimsollError if the file is damaged or holds something else, or if an image belongs to another version of the
    project.
    """
    made: dict[Path, tuple[Path, dict]] = {}
    try:
        with tarfile.open(source, "r:gz") as archive:
            manifest = _manifest(archive, source)
            taken: dict[str, list[str]] = {}
            for image in manifest["images"]:
                _refuse_other_version(image, base, source)
                folder = store.folder_of(image)
                if store.digest(image) == image["id"]:
                    _skip(archive, folder.name, image, source)
                else:
                    # The host is part of the name because several hosts may share a store.
                    new = folder.with_name(f".{folder.name}-{os.uname().nodename}-{os.getpid()}")
                    made[folder] = new, image
                    new.mkdir(parents=True)
                    there = image_comparison.others(image["tag"])
                    description = _take(archive, new, folder, image, source)
                    taken[image["tag"]] = list(image_comparison.sentences(description, there))
            if archive.next() is not None:
                raise PlimsollError(
                    f"{source} holds more than it lists. Nothing was taken from it. Make it again with "
                    f"`{spelling.command('image')}`."
                )
        for folder, (new, image) in made.items():
            _put(new, folder, image)
        return taken
    except (tarfile.TarError, EOFError, zlib.error) as problem:
        raise PlimsollError(
            f"{source} is damaged, or is not a file of images. Nothing was taken from it. Copy it again, or "
            f"make it again with `{spelling.command('image')}`."
        ) from problem
    except OSError as problem:
        raise PlimsollError(f"{source} cannot be read: {problem.strerror or problem}.") from problem
    finally:
        for new, _ in made.values():
            shutil.rmtree(new, ignore_errors=True)


def _put(new: Path, folder: Path, image: dict) -> None:
    """Move an image's new folder into its place, unless another host has put the same image there in the meantime."""
    try:
        new.rename(folder)
    except OSError:
        if store.digest(image) != image["id"]:
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)


def _manifest(archive: tarfile.TarFile, source: Path) -> dict:
    first = archive.next()
    if first is None or first.name != MANIFEST or not first.isreg() or first.size > LONGEST_MANIFEST:
        raise PlimsollError(f"{source} is not a file that `{spelling.command('image')}` made. Nothing was taken from it.")
    try:
        manifest = json.loads(archive.extractfile(first).read())
    except (ValueError, RecursionError) as problem:
        raise PlimsollError(
            f"{source} is damaged: its list of images is not JSON. Copy it again, or make it again."
        ) from problem
    if isinstance(manifest, dict) and manifest.get("format") != FORMAT:
        raise PlimsollError(
            f"{source} has the format {quote(manifest.get('format'))}, and this version reads {FORMAT}. Nothing was "
            "taken from it. Make it again with this version."
        )
    yaml_files.check(manifest, "images", str(source))
    return manifest


def _refuse_other_version(image: dict, base: str, source: Path) -> None:
    """Raise PlimsollError if this version of the project, with this configuration, would build another image."""
    if not paths.recipe(image["name"]).is_dir():
        raise PlimsollError(
            f"{source} has an image {image['name']}, which this version of the project does not know. Nothing was taken "
            "from it. Make it again with this version."
        )
    wanted = f"plimsoll/{image['name']}:{builder.identity(image['name'], base)}"
    if image["tag"] != wanted:
        raise PlimsollError(
            f"{source} has {image['tag']}, and this version of the project, with its base_image, needs {wanted}: make the file "
            "with the same version and configuration."
        )


def _members(archive: tarfile.TarFile, folder: str, image: dict, source: Path) -> Iterator[tuple[str, BinaryIO]]:
    """Yield (name, readable content) of each file of an image, in the manifest's order.

    Raise PlimsollError for another member.
    """
    for name, known in image["files"].items():
        member = archive.next()
        if member is None or member.name != f"{folder}/{name}" or not member.isreg() or member.size != known["bytes"]:
            raise PlimsollError(
                f"{source} is damaged: it does not have {folder}/{name} in its place. Copy it again, or make it again."
            )
        yield name, archive.extractfile(member)


def _skip(archive: tarfile.TarFile, folder: str, image: dict, source: Path) -> None:
    for _ in _members(archive, folder, image, source):
        pass


def _take(archive: tarfile.TarFile, new: Path, folder: Path, image: dict, source: Path) -> Image:
    """Put the files of an image into the folder `new`, which will become `folder`. Return the image's description.

    Raise PlimsollError if a file differs from what the manifest says.
    """
    for name, content in _members(archive, folder.name, image, source):
        if _copied(content, new / name) != image["files"][name]["sha256"]:
            raise PlimsollError(
                f"{source} is damaged: {folder.name}/{name} differs from what was written. Copy it again, or make it again."
            )
    if (new / PACKED).exists():
        command = ["tar", "--extract", "--no-same-owner", "--file", str(new / PACKED), "--directory", str(new)]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            raise PlimsollError(
                f"{source}: {folder.name}/{PACKED} could not be unpacked. Look whether the disk is full; otherwise "
                "copy the file again."
            )
        (new / PACKED).unlink()
    description = _placed(new, folder, image, source)
    (new / store.DESCRIPTION).write_text(json.dumps(description, indent=1))
    return description


def _copied(content: BinaryIO, path: Path) -> str:
    """Copy content to a file and return its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        while part := content.read(PART_BYTES):
            digest.update(part)
            file.write(part)
    return digest.hexdigest()


def _placed(new: Path, folder: Path, image: dict, source: Path) -> dict:
    """Return an image's description with the paths that its files have on this machine.

    Raise PlimsollError if the description names another image, or if the unpacked files differ from it.
    """
    try:
        description = json.loads((new / store.DESCRIPTION).read_text())
        if (description["tag"], description["id"]) != (image["tag"], image["id"]):
            raise ValueError
        for form in ("sif", "rootfs", "archive", "disk"):
            if form in description:
                description[form] = str(folder / Path(description[form]).name)
                if not (new / Path(description[form]).name).exists():
                    raise ValueError
        stated = contents.declaration(image["name"])["programs"]
        if "rootfs" in description and contents.files(new / forms.ROOTFS, stated) != description["files"]:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise PlimsollError(
            f"{source} is damaged: its description of {image['tag']} differs from its content. Copy it again, or make it again."
        ) from problem
    return description
