"""What is in an image: what its folder states (containers/<image>/contents.yaml), looked up in its file system."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from plimsoll import paths
from plimsoll.config import yaml_files
from plimsoll.environments.rootfs import libraries
from plimsoll.errors import PlimsollError
from plimsoll.images import elf

# No part of what the image is built from.
FILE = "contents.yaml"
NOTHING: dict = {"programs": [], "versions": {}, "built": {}, "unpacked": {}}
# Where an image has what its build noted, and what Debian knows of its packages.
NOTES, STATUS = "opt/plimsoll/versions.txt", "var/lib/dpkg/status"


def stated(name: str) -> dict:
    """Return what containers/<name>/ says of what is in its image: `programs`, `versions`, `built` and `unpacked`.

    PlimsollError if it is misspelt.
    """
    path = paths.PROJECT / "containers" / name / FILE
    return {**NOTHING, **(yaml_files.load(path, "contents") if path.is_file() else {})}


def noted(text: str) -> dict[str, str]:
    """What a build noted of itself in the file NOTES, by name."""
    return dict(line.split(": ", 1) for line in text.splitlines())


def paragraphs(status: str) -> Iterator[dict[str, str]]:
    """What a list of packages has of each, as dpkg writes it: the fields of one line."""
    for paragraph in status.split("\n\n"):
        yield dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")


def versions(rootfs: Path, named: dict[str, dict]) -> dict[str, str]:
    """Versions of what is `named`, in the image: as the build noted them, or Debian's of a package.

    Raises PlimsollError for one that is nowhere.
    """
    by_build = noted((rootfs / NOTES).read_text())
    packages = {fields.get("Package"): fields.get("Version") for fields in paragraphs((rootfs / STATUS).read_text())}
    told = {}
    for name, source in named.items():
        version = by_build.get(source.get("noted")) or packages.get(source.get("package"))
        if version is None:
            raise PlimsollError(f"{FILE} names the version of {name}, and the image does not have it: {source}.")
        told[name] = version
    return told


def files(rootfs: Path, programs: list[str]) -> dict[str, dict]:
    """Checksum and build identifier of the programs and of every shared library, by path in the image."""
    listed = {}
    for path in [*(rootfs / program for program in programs), *sorted(libraries(rootfs).rglob("*.so*"))]:
        if path.is_file() and not path.is_symlink() and (build_id := elf.build_id(path)):
            checksum = hashlib.sha256(path.read_bytes()).hexdigest()
            listed[str(path.relative_to(rootfs))] = {"sha256": checksum, "build_id": build_id}
    return listed
