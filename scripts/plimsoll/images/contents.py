"""Contents of an image: what its folder declares (containers/<image>/contents.yaml), looked up in the image's file
system."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from plimsoll import paths
from plimsoll.config import yaml_files
from plimsoll.errors import PlimsollError
from plimsoll.images import elf
from plimsoll.runtimes.rootfs import libraries

# This file is not an input of the build: it does not change the image's identity.
FILE = "contents.yaml"
NOTHING: dict = {"programs": [], "versions": {}, "built": {}, "unpacked": {}}
# Files in the image: notes of its build, and the package list of dpkg.
NOTES, STATUS = "opt/plimsoll/versions.txt", "var/lib/dpkg/status"


def declaration(name: str) -> dict:
    """Return what containers/<name>/contents.yaml declares: `programs`, `versions`, `built` and `unpacked`.

    Raise PlimsollError if the file does not fit its schema.
    """
    path = paths.recipe(name) / FILE
    return {**NOTHING, **(yaml_files.load(path, "contents") if path.is_file() else {})}


def read_notes(text: str) -> dict[str, str]:
    """Return the notes that a build left in the file NOTES: text by name."""
    return dict(line.split(": ", 1) for line in text.splitlines())


def paragraphs(status: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each package in a list as dpkg writes it. Only the first line of a field is kept."""
    for paragraph in status.split("\n\n"):
        yield dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")


def versions(rootfs: Path, named: dict[str, dict]) -> dict[str, str]:
    """Return the versions of the items in `named`: from the build's notes, or from Debian's package list.

    Raise PlimsollError if neither has an item.
    """
    if not named:
        return {}
    by_build = read_notes((rootfs / NOTES).read_text())
    packages = {fields.get("Package"): fields.get("Version") for fields in paragraphs((rootfs / STATUS).read_text())}
    told = {}
    for name, source in named.items():
        version = by_build.get(source.get("noted")) or packages.get(source.get("package"))
        if version is None:
            raise PlimsollError(
                f"{FILE} names the version of {name}, but the image does not have it: {source}. Correct that file, "
                "or the Dockerfile beside it."
            )
        told[name] = version
    return told


def files(rootfs: Path, programs: list[str]) -> dict[str, dict]:
    """Return SHA-256 and build identifier of the given programs and of every shared library, by path in the image."""
    listed = {}
    for path in [*(rootfs / program for program in programs), *sorted(libraries(rootfs).rglob("*.so*"))]:
        if path.is_file() and not path.is_symlink() and (build_id := elf.build_id(path)):
            checksum = hashlib.sha256(path.read_bytes()).hexdigest()
            listed[str(path.relative_to(rootfs))] = {"sha256": checksum, "build_id": build_id}
    return listed
