"""The files by which Open MPI's ranks share memory, on this host or in containers that have its IPC. A rank that is killed
leaves its own, which takes memory."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from plimsoll.environments.base import SHARED_MEMORY

# They carry the host name of the rank that made them.
NAMED = "vader_segment.{}*"


def remove(hosts: Sequence[str]) -> None:
    """Remove those of ranks whose host names begin so: their containers are gone. Another user's are left."""
    for host in hosts:
        for segment in SHARED_MEMORY.glob(NAMED.format(host)):
            _unlink(segment)


def remove_unused() -> None:
    """Remove those that nobody has mapped, of ranks on this host that were killed: other programs of this user may have theirs
    here under the same name."""
    if not (there := list(SHARED_MEMORY.glob(NAMED.format(os.uname().nodename)))):
        return
    mapped = _mapped()
    for segment in there:
        if str(segment) not in mapped:
            _unlink(segment)


def _mapped() -> set[str]:
    """The segments that processes have in their memory."""
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            found |= {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines() if "vader_segment" in line}
    return found


def _unlink(segment: Path) -> None:
    with contextlib.suppress(OSError):
        if os.geteuid() in (0, segment.lstat().st_uid):
            segment.unlink()
