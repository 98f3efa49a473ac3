"""Processes of this host by what the kernel says of them."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path


def named(names: Collection[str], user: int | None = None) -> list[int]:
    """Numbers of the processes with one of these names, of all users or of one."""
    return [number for number, name in _names(user) if name in names]


def beginning(name: str, user: int) -> list[int]:
    """Numbers of a user's processes whose name begins so: some programs start themselves anew under a longer one."""
    return [number for number, full in _names(user) if full.startswith(name)]


def words(process: int) -> list[str]:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def _names(user: int | None) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if user in (None, folder.stat().st_uid):
                yield int(folder.name), (folder / "comm").read_text().strip()
