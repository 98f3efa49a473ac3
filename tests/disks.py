"""Small disks, each a file with its own file system."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def mounted(image: Path, place: Path, size: int) -> Iterator[list[str]]:
    """Mount a disk of `size` bytes, the file `image`, at an empty folder `place`. Yield the command that mounts it.
    Skip the test if this machine cannot do that."""
    if os.geteuid() or not shutil.which("mkfs.ext4"):
        pytest.skip("a disk of its own needs root and mkfs.ext4")
    image.touch()
    os.truncate(image, size)
    # No blocks are reserved for root: everything here is root's.
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True)
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-o", "loop", str(image), str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine mounts no loop devices")
    try:
        (place / "lost+found").rmdir()
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """Fill a disk to its last byte. Return the file that takes the space."""
    path = place / "full"
    with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
        for size in (2**20, 2**12):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
    return path


@contextlib.contextmanager
def swap(path: Path, size: int) -> Iterator[None]:
    """Use `size` bytes in the file `path` as swap space during the context. Raise CalledProcessError if this machine
    refuses it."""
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    path.chmod(0o600)
    for words in (["mkswap", "--quiet"], ["swapon"]):
        subprocess.run([*words, path], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["swapoff", path], check=True)
