"""Write a zip file that is complete or absent, with the same bytes whenever it has the same members.

The file is written beside its target, flushed to the disk, and renamed last. Its writer holds a lock of the kernel on
the unfinished file. A killed writer's file has no lock, so the next writer overwrites it.
"""

import contextlib
import fcntl
import filecmp
import hashlib
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from plimsoll.errors import PlimsollError

PART_BYTES = 1 << 20
# Members have no time, place or owner: these would differ from one writing to the next.
NO_TIME, UNIX, REGULAR, FOLDER = (1980, 1, 1, 0, 0, 0), 3, 0o100644 << 16, 0o40755 << 16 | 0x10

# Source of a member's content: a file, bytes, or an open file that is read from its start.
Source = Path | bytes | BinaryIO


class MemberDigest(NamedTuple):
    """Size of a member in bytes, and its checksum."""

    bytes: int
    sha256: str


def member_digest(source: Source) -> MemberDigest:
    """Return size and checksum of a member's content."""
    digest, size = hashlib.sha256(), 0
    for part in _parts(source):
        digest.update(part)
        size += len(part)
    return MemberDigest(size, digest.hexdigest())


def _parts(source: Source) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with open(source, "rb") if isinstance(source, Path) else contextlib.nullcontext(source) as file:
        file.seek(0)
        while part := file.read(PART_BYTES):
            yield part


def write(target: Path, members: Iterable[tuple[str, Source]]) -> bool:
    """Write members, given as (name, source), into a zip file. A name that ends with a slash is a folder.

    Return False if the same file already exists. Raise PlimsollError if another file has this name, if another process
    writes it, or if it cannot be written.
    """
    try:
        with _unfinished(target) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
                for name, source in members:
                    _add(archive, name, source)
            file.flush()
            os.fsync(file.fileno())
            return _put(Path(file.name), target)
    except OSError as problem:
        raise PlimsollError(
            f"{target} could not be written: {problem.strerror or problem}. Name another place with --file."
        ) from problem


def _add(archive: zipfile.ZipFile, name: str, source: Source) -> None:
    member = zipfile.ZipInfo(name, NO_TIME)
    folder = member.is_dir()
    member.create_system, member.external_attr = UNIX, FOLDER if folder else REGULAR
    member.compress_type = zipfile.ZIP_STORED if folder else zipfile.ZIP_DEFLATED
    # The size class of a member is written before its content, so it is always the large one.
    with archive.open(member, "w", force_zip64=True) as file:
        for part in _parts(source):
            file.write(part)


@contextlib.contextmanager
def _unfinished(target: Path) -> Iterator[BinaryIO]:
    """Yield an empty file that is to become the target. It is removed afterwards unless it was renamed to the target.

    Raise PlimsollError if another process writes the target, or has just written it.
    """
    path = target.with_name(f".{target.name}.unfinished")
    with open(path, "r+b", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlimsollError(
                f"Another process is writing {target}. Nothing was written. Wait for it to end, or stop it."
            ) from None
        if not _is(path, file):
            raise PlimsollError(f"Another process has just written {target}. Nothing was written. Type the command again.")
        file.truncate()
        try:
            yield file
        finally:
            if _is(path, file):
                path.unlink()


def _is(path: Path, file: BinaryIO) -> bool:
    """Whether an open file has this path."""
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def _put(written: Path, target: Path) -> bool:
    """Rename a finished file to its target, if that does not exist. Return False if the target has the same content.

    Raise PlimsollError if the target has other content. No other process renames in between, because that needs the
    lock.
    """
    if target.exists():
        if filecmp.cmp(written, target, shallow=False):
            return False
        raise PlimsollError(
            f"{target} exists, and has other content than this archive. It was not changed. Move it away, or name another "
            "file with --file."
        )
    written.rename(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True
