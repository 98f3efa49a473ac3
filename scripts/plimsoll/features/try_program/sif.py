"""The files and the variables of an image that Apptainer reads: a SIF, a definition, an unpacked folder, or an archive."""

import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.runtimes.apptainer import executable

# Variables that every container of Apptainer has. They are not the image's.
OF_APPTAINER = re.compile(r"APPTAINER_|SINGULARITY_|(?:HOME|PWD|PS1|PROMPT_COMMAND|SHLVL|TERM|USER|_)=|LANG=C$")
LIBRARIES = ":/.singularity.d/libs"
# Endings of images that are Apptainer's own.
ENDINGS = (".sif", ".def")
# Program that starts others where an image's files run in no container. Every image has it.
ENV = "usr/bin/env"
# File of an archive that is Docker's. Others are OCI's.
OF_DOCKER = "manifest.json"
# Root alone may read each file of an image, whatever its mode is.
OPTIONS = ("--fix-perms",) if os.geteuid() else ()
LEFT_OUT = ("--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*")


def source(path: Path, has_engine: bool) -> str | None:
    """Return the name that Apptainer has for an image in a file or a folder. Return None if an engine reads the image.

    An archive is the engine's, if this machine has one.
    """
    is_unpacked = os.path.lexists(path / ENV) and not (path / "Dockerfile").exists()
    if path.suffix in ENDINGS or is_unpacked:
        return str(path)
    if has_engine or not path.is_file() or not tarfile.is_tarfile(path):
        return None
    with tarfile.open(path) as archive:
        kind = "docker" if OF_DOCKER in archive.getnames() else "oci"
    return f"{kind}-archive:{path}"


def unpack(source: str, target: Path) -> dict[str, str]:
    """Write the files of an image, as Apptainer names it, into an archive. Return the image's variables by name.

    Raise PlimsollError without Apptainer, or if it cannot read the image.
    """
    path = source.removeprefix("docker-archive:").removeprefix("oci-archive:")
    if not os.path.exists(path):
        raise PlimsollError(f"There is no file {path}: nothing was measured.")
    # Apptainer takes a colon or a comma in the path of a sandbox for the end of the path.
    with tempfile.TemporaryDirectory(prefix="plimsoll-sif-") as temporary:
        sandbox = Path(temporary, "sandbox")
        try:
            words = [executable(), "build", *OPTIONS, "--sandbox", str(sandbox), source]
            done = subprocess.run(words, capture_output=True, text=True)
        except Unavailable as problem:
            raise PlimsollError(
                f"Only Apptainer reads {path}, and {problem}. Nothing was measured. ./plimsoll setup installs it where it can."
            ) from problem
        if done.returncode:
            raise PlimsollError(f"Apptainer could not unpack {path}: {_reason(done.stderr)}. Nothing was measured.")
        found = variables(sandbox)
        subprocess.run(["tar", "--create", "--file", str(target), *LEFT_OUT, "--directory", str(sandbox), "."], check=True)
    return found


def _reason(text: str) -> str:
    """Return the first error that Apptainer printed, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = (line.partition(":")[2].strip() for line in lines if line.startswith(("ERROR:", "FATAL:")))
    return next(errors, lines[-1] if lines else "it said nothing").rstrip(".")


def variables(sandbox: Path) -> dict[str, str]:
    """Return the variables of an unpacked SIF, such as those of its %environment; empty if it has no `env`.

    Scripts of the image set them, so a container prints them.
    """
    words = [executable(), "exec", "--cleanenv", "--no-home", str(sandbox), "/usr/bin/env", "-0"]
    done = subprocess.run(words, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return printed_variables(done.stdout)


def printed_variables(text: str) -> dict[str, str]:
    """Return the image's variables from what `env -0` printed in a container of Apptainer."""
    pairs = (word.partition("=") for word in text.split("\0") if "=" in word and not OF_APPTAINER.match(word))
    kept = {name: value.removesuffix(LIBRARIES).removesuffix(":") for name, _, value in pairs}
    return {name: value for name, value in kept.items() if f":{value}" != LIBRARIES}
