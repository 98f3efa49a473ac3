"""Files by which Open MPI's ranks share memory, on this host or in containers that have its IPC namespace.

A killed rank leaves its files, which take memory.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from plimsoll.runtimes.base import SHARED_MEMORY

# Pattern of the files' names, with the host name of the rank that made them.
NAMED = "vader_segment.{}*"


def remove(hosts: Sequence[str]) -> None:
    """Remove the files of ranks whose host names begin with one of `hosts`. Their containers are gone. Files of other
    users stay."""
    for host in hosts:
        for segment in SHARED_MEMORY.glob(NAMED.format(host)):
            _unlink(segment)


def remove_unused() -> None:
    """Remove the files of ranks on this host that no process has mapped: their ranks were killed.

    Files that are mapped stay, because other programs of this user may have files with the same name here.
    """
    if not (there := list(SHARED_MEMORY.glob(NAMED.format(os.uname().nodename)))):
        return
    mapped = _mapped()
    for segment in there:
        if str(segment) not in mapped:
            _unlink(segment)


def _mapped() -> set[str]:
    """Return the paths of the files that processes have in their memory."""
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            found |= {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines() if "vader_segment" in line}
    return found


def _unlink(segment: Path) -> None:
    with contextlib.suppress(OSError):
        if os.geteuid() in (0, segment.lstat().st_uid):
            segment.unlink()
