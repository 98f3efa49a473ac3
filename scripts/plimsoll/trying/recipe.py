"""The recipe of a study's image: a folder with a Dockerfile, what it copies in, and the program that times."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from plimsoll.designs.program import attempts
from plimsoll.environments.apptainer import executable
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.images import client
from plimsoll.trying import files
from plimsoll.trying.asked import Asked

IMAGE = "program"
PACKED, TIMER = "files.tar", "timed"
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*(?:=[A-Za-z0-9.+:~-]+)?")
TIMED = f'COPY {TIMER} /{attempts.TIMED}\nCMD ["/{attempts.TIMED}", "--pause"]\n'


def write(asked: Asked, folder: Path, timer: Path, tell: Callable[[str], None]) -> str:
    """Write the recipe of a study's image. Return in words where its files come from. Raise PlimsollError if it has none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy2(timer, folder / TIMER)
    (folder / TIMER).chmod(0o755)
    (folder / "image.yaml").write_text("forms: [docker, sif, rootfs]\n")
    if asked.packages:
        text, told = _of_packages(asked.packages), f"Debian packages: {', '.join(asked.packages)}"
    elif asked.image:
        text, told = _of_image(asked.image, folder), f"the image {asked.image}"
    else:
        needed = files.needed(asked)
        size = sum(path.stat().st_size for path in needed)
        tell(f"The image gets {len(needed)} files of this host ({size / 1e6:.1f} MB):")
        for path in needed:
            tell(f"  {path}")
        files.pack(needed, folder / PACKED)
        text, told = f"FROM scratch\nADD {PACKED} /\n", f"{len(needed)} files of this host"
    (folder / "Dockerfile").write_text(f"{text}{TIMED}")
    return told


def _of_packages(packages: tuple[str, ...]) -> str:
    for name in packages:
        if not PACKAGE.fullmatch(name):
            raise PlimsollError(f"--packages {name}: this is no name of a Debian package.")
    return (
        "ARG BASE\nFROM $BASE\n"
        f"RUN apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
        " && rm -rf /var/lib/apt/lists/*\n"
    )


def _of_image(image: str, folder: Path) -> str:
    """Return the beginning of a Dockerfile from any kind of image: a SIF, a definition, a Dockerfile, an archive, or a name."""
    path = Path(image)
    if path.suffix == ".sif" or path.suffix == ".def":
        _unpack_sif(path, folder / PACKED)
        return f"FROM scratch\nADD {PACKED} /\n"
    tag = _tag(path) if path.exists() else image
    try:
        architecture = client.asked("image", "inspect", "--format", "{{.Architecture}}", tag).strip()
        here = client.asked("version", "--format", "{{.Server.Arch}}").strip()
        digest = client.image_id(tag)
    except Unavailable as problem:
        raise PlimsollError(
            f"The engine has no image {image}, and nothing is fetched for it: pull it first. ({problem})"
        ) from problem
    if architecture and here and architecture != here:
        raise PlimsollError(f"The image {image} is for {architecture}, and this machine is {here}: nothing was measured.")
    kept = f"plimsoll/given:{digest.removeprefix('sha256:')[:16]}"
    client.asked("tag", digest.removeprefix("sha256:"), kept)
    return f"FROM {kept}\nUSER root\nENTRYPOINT []\n"


def _tag(path: Path) -> str:
    """Return the tag of an image that a Dockerfile builds, or that an archive holds."""
    try:
        if path.is_dir() or path.name.startswith("Dockerfile") or path.suffix == ".Dockerfile":
            context, file = (path, path / "Dockerfile") if path.is_dir() else (path.absolute().parent, path)
            return client.asked(
                "build", "--quiet", *client.build_options(), "--file", str(file), str(context), seconds=1800
            ).strip()
        said = client.asked("load", "--quiet", "--input", str(path), seconds=600)
    except Unavailable as problem:
        raise PlimsollError(f"No image could be made from {path}: {problem}.") from problem
    return said.strip().rpartition(": ")[2]


def _unpack_sif(path: Path, target: Path) -> None:
    """Write the files of a SIF, or of an Apptainer definition, into an archive."""
    if not path.is_file():
        raise PlimsollError(f"There is no file {path}: nothing was measured.")
    sandbox = target.with_name("sandbox")
    try:
        done = subprocess.run(
            [executable(), "build", "--sandbox", "--force", str(sandbox), str(path)], capture_output=True, text=True
        )
    except Unavailable as problem:
        raise PlimsollError(f"{path} needs Apptainer: {problem}.") from problem
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise PlimsollError(f"Apptainer could not unpack {path}: {said[-1]}.")
    left_out = ["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*"]
    subprocess.run(["tar", "--create", "--file", str(target), *left_out, "--directory", str(sandbox), "."], check=True)
    shutil.rmtree(sandbox)
