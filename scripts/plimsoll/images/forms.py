"""Forms of an image that are files. They are all made from the same files, and moved into place together."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.images import client, contents, settings, store
from plimsoll.interchange import StageOfImage
from plimsoll.runtimes.apptainer import executable, is_installed
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.image_forms import SUMS, name_of

# File that holds an image without its stages.
ALONE = "alone.tar"
SIF, ROOTFS = "image.sif", "rootfs"
DISK, DISK_MAKER = "disk.squashfs", "mksquashfs"
# The file system is not compressed: otherwise every start of a container decompresses the libraries again, which costs
# a third of a second per run.
AS_IT_IS = ("-noI", "-noD", "-noF", "-noX")
UNCOMPRESSED = ("--mksquashfs-args", " ".join(AS_IT_IS))
# Label of a container from which an image is unpacked; its value is the user and process that unpack. It is not the
# label of runs: another workflow's sweep must not remove this container.
UNPACKING = "plimsoll-unpacking"


def lacking(description: Mapping, wanted: list[str]) -> bool:
    """Whether an image lacks a wanted form that can be made now. Its tool may have been installed after the image was built."""
    makers = {"disk": lambda: shutil.which(DISK_MAKER) is not None, "sif": is_installed}
    return any(form in wanted and form not in description and can() for form, can in makers.items())


def unpack(tag: str, folder: Path, stages: Mapping[str, StageOfImage]) -> dict:
    """Make the forms of an image that are files, from the image in the engine. Return the image's description.

    Raise Unavailable if a step fails.
    """
    with _replacing(folder) as new:
        _unpack(tag, new / ROOTFS)
        description: dict = {"tag": tag, "id": client.image_id(tag), **({"stages": dict(stages)} if stages else {})}
        store.save(new / store.ARCHIVE, store.tags(description))
        if "archive" in settings.of_image(name_of(tag))["forms"]:
            store.save(new / ALONE, [tag])
            description["archive"] = str(folder / ALONE)
        return _described(description, new, folder, f"docker-archive://{new / store.ARCHIVE}")


def assemble(tag: str, folder: Path, files: Mapping[Path, str]) -> dict:
    """Make the forms of an image that are files, without an engine. Return the image's description.

    `files` make up the whole image. Each has its path in the image, and an archive the folder into which it is unpacked. Raise
    Unavailable if a step fails.
    """
    with _replacing(folder) as new:
        for path, place in files.items():
            target = _inside(new / ROOTFS, place)
            if path.suffix == ".tar":
                output(["tar", "--extract", "--numeric-owner", "--directory", str(target), "--file", str(path)], 300)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
        digest = hashlib.sha256("".join(map(sha256, files)).encode()).hexdigest()
        return _described({"tag": tag, "id": f"sha256:{digest}"}, new, folder, str(new / ROOTFS))


def _inside(root: Path, place: str) -> Path:
    """Return the path of a place in an image's files. Raise Unavailable if a link of the image leads out of them."""
    target = (root / place).resolve()
    if not target.is_relative_to(root.resolve()):
        raise Unavailable(f"a link in the image leads from /{place} to this host's own files, so that nothing is written there")
    return target


@contextlib.contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Yield a folder with an empty one for an image's files. At the end it takes the place of `folder`."""
    new = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    (new / ROOTFS).mkdir(parents=True)
    try:
        yield new
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _described(description: dict, new: Path, folder: Path, source: str) -> dict:
    """Add the forms that are made of an image's unpacked files, and return its description, which is saved beside them.

    The forms are in the folder `new`, which becomes `folder`. Apptainer makes the SIF from the image's `source`.
    """
    name = name_of(description["tag"])
    stated, forms = contents.declaration(name), settings.of_image(name)["forms"]
    # Without Apptainer the SIF has no use.
    if "sif" in forms and is_installed():
        _pack(source, new / SIF)
        description["sif"] = str(folder / SIF)
    # Only virtual machines need it, and they need other tools too that not every host has.
    if "disk" in forms and shutil.which(DISK_MAKER):
        output([DISK_MAKER, str(new / ROOTFS), str(new / DISK), *AS_IT_IS, "-no-progress", "-quiet"], 300)
        description["disk"] = str(folder / DISK)
    sums = {name: sha256(new / name) for name in (SIF, ALONE, DISK) if (new / name).is_file()}
    (new / SUMS).write_text(json.dumps(sums, indent=1))
    description |= {
        "rootfs": str(folder / ROOTFS),
        "files": contents.files(new / ROOTFS, stated["programs"]),
        "versions": contents.versions(new / ROOTFS, stated["versions"]),
    }
    (new / store.DESCRIPTION).write_text(json.dumps(description, indent=1))
    return description


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(tag: str, rootfs: Path) -> None:
    _remove_abandoned()
    container = client.output("create", "--label", f"{UNPACKING}={os.geteuid()}.{os.getpid()}", tag).strip()
    try:
        with subprocess.Popen([*client.command(), "export", container], stdout=subprocess.PIPE) as export:
            tar = ["tar", "--extract", "--directory", str(rootfs), "--exclude", "dev/*"]
            if subprocess.run(tar, stdin=export.stdout).returncode or export.wait():
                raise Unavailable("the image's file system could not be unpacked")
    finally:
        client.output("rm", container)


def _remove_abandoned() -> None:
    """Remove the containers that killed unpackings of this user left.

    Containers of other users are kept, because their processes may be invisible to this user.
    """
    form = f'{{{{.ID}}}} {{{{.Label "{UNPACKING}"}}}}'
    listed = client.output("ps", "--all", "--filter", f"label={UNPACKING}", "--format", form)
    for container, maker in (line.split() for line in listed.splitlines()):
        user, _, process = maker.partition(".")
        if user == str(os.geteuid()) and not Path(f"/proc/{process}").exists():
            client.output("rm", container)


def _pack(source: str, sif: Path) -> None:
    """Make a SIF from an image as Apptainer names it. It is uncompressed if this Apptainer or Singularity has the option."""
    known = UNCOMPRESSED[0] in output([executable(), "build", "--help"])
    options = ["--force", "--disable-cache", *(UNCOMPRESSED if known else ())]
    output([executable(), "build", *options, str(sif), source], 900)
