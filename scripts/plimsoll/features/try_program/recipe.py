"""The recipe of a study's image: a folder with a Dockerfile, what it copies in, and the program that times."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from plimsoll.designs.program import attempts
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import files, sif
from plimsoll.features.try_program.study_options import StudyOptions
from plimsoll.images import client

IMAGE = "program"
PACKED, TIMER = "files.tar", "timed"
FROM_PACKED = f"FROM scratch\nADD {PACKED} /\n"
# Says of what an image is made where no engine builds it.
ROOT_OF_IMAGE = f"root: {{{PACKED}: ., {TIMER}: {attempts.TIMED}}}\n"
ROOT = ("root", "0")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*(?:=[A-Za-z0-9.+:~-]+)?")
TIMED = f'COPY {TIMER} /{attempts.TIMED}\nCMD ["/{attempts.TIMED}", "--pause"]\n'


class Written(NamedTuple):
    """What a recipe is made of: where the image's files come from, in words, and the image's variables."""

    files: str
    variables: dict[str, str]


def write(options: StudyOptions, folder: Path, timer: Path, tell: Callable[[str], None]) -> Written:
    """Write the recipe of a study's image. Return what it is made of. Raise PlimsollError if that is not there."""
    variables: dict[str, str] = {}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy2(timer, folder / TIMER)
    (folder / TIMER).chmod(0o755)
    source = sif.source(Path(options.image), client.works()) if options.image else None
    packed = bool(source) or not (options.packages or options.image)
    if not packed:
        _refuse_without_engine(options)
    (folder / "image.yaml").write_text(f"forms: [docker, sif, rootfs]\n{ROOT_OF_IMAGE if packed else ''}")
    if options.packages:
        text, told = _of_packages(options.packages), f"Debian packages: {', '.join(options.packages)}"
    elif options.image:
        _refuse_both(options.image)
        (text, variables), told = _of_image(options.image, source, folder, tell), f"the image {options.image}"
    else:
        needed = files.needed(options, tell)
        size = sum(path.stat().st_size for path in needed)
        tell(f"The image gets {len(needed)} files of this host ({size / 1e6:.1f} MB):")
        for path in needed:
            tell(f"  {path}")
        files.pack(needed, folder / PACKED)
        text, told = FROM_PACKED, f"{len(needed)} files of this host"
    (folder / "Dockerfile").write_text(f"{text}{TIMED}")
    return Written(told, variables)


def _refuse_without_engine(options: StudyOptions) -> None:
    """Raise PlimsollError if no engine works that could build the image."""
    try:
        client.command()
    except Unavailable as problem:
        given = "--packages" if options.packages else f"--image {options.image}"
        raise PlimsollError(
            f"{given}: {problem}. Nothing was measured. Without Docker and Podman, the image is made of this host's files, or "
            "of a SIF, an Apptainer definition, an archive or an unpacked image (--image)."
        ) from problem


def _of_packages(packages: tuple[str, ...]) -> str:
    for name in packages:
        if not PACKAGE.fullmatch(name):
            raise PlimsollError(f"--packages {name}: this cannot be the name of a Debian package. Nothing was measured.")
    return (
        "ARG BASE\nFROM $BASE\n"
        f"RUN apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
        " && rm -rf /var/lib/apt/lists/*\n"
    )


def _of_image(image: str, source: str | None, folder: Path, tell: Callable[[str], None]) -> tuple[str, dict[str, str]]:
    """Return the beginning of a Dockerfile, and the image's variables.

    `source` is Apptainer's name for the image, if Apptainer reads it. An engine reads others: a Dockerfile, an archive, or a
    name.
    """
    if source:
        return FROM_PACKED, sif.unpack(source, folder / PACKED)
    path = Path(image)
    tag = _tag(path) if path.exists() else image
    try:
        architecture = client.output("image", "inspect", "--format", "{{.Architecture}}", tag).strip()
        here = client.output("version", "--format", "{{.Server.Arch}}").strip()
        digest = client.image_id(tag)
        configured = json.loads(client.output("image", "inspect", "--format", "{{json .Config}}", tag)) or {}
    except Unavailable as problem:
        raise PlimsollError(
            f"The engine has no image {image}, and nothing is fetched for it. Nothing was measured. Type: "
            f"{client.command()[0]} pull {image} ({problem})"
        ) from problem
    if architecture and here and architecture != here:
        raise PlimsollError(f"The image {image} is for {architecture}, and this machine is {here}: nothing was measured.")
    kept = f"plimsoll/given:{digest.removeprefix('sha256:')[:16]}"
    client.output("tag", digest.removeprefix("sha256:"), kept)
    if (user := configured.get("User") or "root").partition(":")[0] not in ROOT:
        tell(f"The image's user is {user}, and its program runs as root: the levels below a container need that.")
    return f"FROM {kept}\nUSER 0\nENTRYPOINT []\n", variables_of(configured)


def variables_of(configured: dict) -> dict[str, str]:
    """Return the variables of an image's configuration by name. HOME is the run's in every level."""
    pairs = (word.partition("=") for word in configured.get("Env") or [])
    return {name: value for name, _, value in pairs if name != "HOME"}


def _refuse_both(image: str) -> None:
    """Raise PlimsollError if a word names a file here and an image of the engine's."""
    if os.path.exists(image) and not image.startswith((".", "/")) and client.image_id(image):
        raise PlimsollError(
            f"--image {image} is a file here and an image of the engine's: ./{image} names the file, and "
            f"{image if ':' in image else f'{image}:latest'} the image elsewhere than in this folder. Nothing was measured."
        )


def _tag(path: Path) -> str:
    """Return the tag of an image that a Dockerfile builds, or that an archive holds."""
    try:
        if path.is_dir() or path.name.startswith("Dockerfile") or path.suffix == ".Dockerfile":
            context, file = (path, path / "Dockerfile") if path.is_dir() else (path.absolute().parent, path)
            return client.output(
                "build", "--quiet", *client.build_options(), "--file", str(file), str(context), seconds=1800
            ).strip()
        said = client.output("load", "--quiet", "--input", str(path), seconds=600)
    except Unavailable as problem:
        raise PlimsollError(f"No image could be made from {path}: {problem}.") from problem
    return said.strip().rpartition(": ")[2]
