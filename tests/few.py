"""A cgroup of this host that limits the number of processes."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def folder_of_pids() -> Path:
    """Return the folder of the cgroups that limit processes. Skip the test if this user cannot make any."""
    roots = [row.split() for row in Path("/proc/self/mounts").read_text().splitlines()]
    found = [Path(row[1]) for row in roots if row[2] == "cgroup" and "pids" in row[3].split(",")]
    if os.geteuid() or not found:
        pytest.skip("limiting processes needs root and version 1's controller pids")
    return found[0]


@contextlib.contextmanager
def processes(most: str) -> Iterator[Path]:
    """Yield a cgroup that may hold at most this many processes and threads (`max`: any number)."""
    group = folder_of_pids() / f"plimsoll-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "pids.max").write_text(most)
        yield group
    finally:
        end = time.monotonic() + 5
        while (group / "cgroup.procs").read_text() and time.monotonic() < end:
            time.sleep(0.02)
        group.rmdir()
