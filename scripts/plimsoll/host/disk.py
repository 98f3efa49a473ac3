"""The block device under a folder, and what was read from it and written to it."""

import os
from pathlib import Path

from plimsoll.errors import Outage


def device_of(storage: Path) -> str | None:
    """Name of the block device that a folder is on; None if that is no block device."""
    number = os.stat(storage).st_dev
    path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return path.resolve().name if path.exists() else None


def refuse_less(folder: Path, needed: float) -> None:
    """Outage if a folder has less room on its disk than what will be written there (bytes)."""
    seen = os.statvfs(folder)
    free = seen.f_bavail * seen.f_frsize
    if free < needed:
        raise Outage(f"{folder} has {free / 2**30:.1f} GiB free, and {needed / 2**30:.1f} are needed", "free some")


def device_bytes(diskstats: str, device: str) -> dict[str, int]:
    """Bytes read from and written to a device since boot, from /proc/diskstats (sectors of 512 bytes)."""
    for line in diskstats.splitlines():
        fields = line.split()
        if fields[2] == device:
            return {"read_bytes": 512 * int(fields[5]), "written_bytes": 512 * int(fields[9])}
    return {}
