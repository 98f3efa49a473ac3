"""Forms of an image that are files. They are all made from the image in the engine, and moved into place together."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
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
    name = name_of(tag)
    stated, forms = contents.declaration(name), settings.of_image(name)["forms"]
    new = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    (new / ROOTFS).mkdir(parents=True)
    try:
        _unpack(tag, new / ROOTFS)
        description: dict = {"tag": tag, "id": client.image_id(tag), **({"stages": dict(stages)} if stages else {})}
        store.save(new / store.ARCHIVE, store.tags(description))
        # Without Apptainer the SIF has no use.
        if "sif" in forms and is_installed():
            _pack(new / store.ARCHIVE, new / SIF)
            description["sif"] = str(folder / SIF)
        if "archive" in forms:
            store.save(new / ALONE, [tag])
            description["archive"] = str(folder / ALONE)
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
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
        return description
    finally:
        shutil.rmtree(new, ignore_errors=True)


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


def _pack(archive: Path, sif: Path) -> None:
    """Make a SIF from a Docker archive. It is uncompressed if this Apptainer or Singularity has the option for that."""
    known = UNCOMPRESSED[0] in output([executable(), "build", "--help"])
    options = ["--force", "--disable-cache", *(UNCOMPRESSED if known else ())]
    output([executable(), "build", *options, str(sif), f"docker-archive://{archive}"], 900)
