"""Programs that may not be distributed: archives that the user supplies with a checksum, checked and unpacked for
containers."""

import os
import shutil
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import PlimsollError


def folder(checksum: str) -> Path:
    """Return the folder in which the archive with this checksum is unpacked."""
    return paths.image_store() / f"supplied-{checksum[:16]}"


def prepare(supplied: dict[str, dict]) -> None:
    """Check and unpack each archive of the configuration's `programs`, if that was not done before.

    A single folder at the top of an archive is left out, so that paths do not depend on the version. Raise
    PlimsollError if an archive is missing, has another checksum, or cannot be unpacked.
    """
    for name, given in supplied.items():
        target, archive = folder(given["sha256"]), paths.configured_file(given["archive"])
        if target.is_dir():
            continue
        import hashlib  # imported here: every run looks for a supplied program, but none unpacks one

        key = f"config: programs.{name}"
        try:
            checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
        except OSError as problem:
            raise PlimsollError(f"{key}.archive: {archive} cannot be read: {problem.strerror}.") from problem
        if checksum != given["sha256"]:
            raise PlimsollError(
                f"{key}.sha256: {archive} has the checksum {checksum}, and not the configured one. It was not "
                "unpacked. Fetch the archive again, or correct the checksum."
            )
        _unpack(archive, target, key)


def _unpack(archive: Path, target: Path, key: str) -> None:
    new = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        # The filter refuses members that would leave the folder.
        shutil.unpack_archive(archive, new, **({} if archive.suffix == ".zip" else {"filter": "data"}))
        inside = list(new.iterdir())
        (inside[0] if len(inside) == 1 and inside[0].is_dir() else new).rename(target)
    except (OSError, ValueError, shutil.ReadError) as problem:
        raise PlimsollError(f"{key}.archive: {archive} cannot be unpacked: {problem}.") from problem
    finally:
        shutil.rmtree(new, ignore_errors=True)
