"""The block device under a folder, what was read from it and written to it, and what room is left on it."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from plimsoll.errors import Outage, Unavailable

# A run is ended that has taken more of a disk than the first of these and has left less than the second (bytes): who shares
# the disk needs some of it, and what is written goes on until somebody looks again.
TAKEN_BYTES, LEFT_BYTES = 2**28, 2**30
# What has to be free before a run beside what it writes (bytes).
SPARE_BYTES = 2 * LEFT_BYTES
# What lies on the disk of an engine, in words.
CONTAINERS = "the containers"


def device_of(storage: Path) -> str | None:
    """Name of the block device that a folder is on; None if that is no block device."""
    number = os.stat(storage).st_dev
    path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return path.resolve().name if path.exists() else None


def refuse_less(folder: Path, needed: float) -> None:
    """Outage if a folder has less room on its disk than what will be written there (bytes)."""
    free = free_bytes(folder)
    if free < needed:
        raise Outage(f"{folder} has {free / 2**30:.1f} GiB free, and {needed / 2**30:.1f} are needed", "free some")


def free_bytes(folder: Path) -> int:
    """What this user may still write to the disk of a folder."""
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize


class Room:
    """The disks on which a run writes, which it may not fill: those of folders, by what lies there in words. A folder that
    cannot be seen from here, or no longer, is left out. `refused` says whether a run was ended for them."""

    def __init__(self, folders: Mapping[str, Path]):
        self.refused = False
        self._folders = dict(folders)
        self.begin()

    def watch(self, folders: Mapping[str, Path]) -> None:
        """Watch the disks of these folders, too."""
        self._folders |= folders
        self.begin()

    def moved(self, folders: Mapping[str, Path]) -> None:
        """See the same disks by other folders, as those by which they were seen have gone."""
        self._folders |= folders

    def begin(self) -> None:
        """From now on what the disks lose counts."""
        self._before = self._free()

    def refuse_filling(self) -> None:
        """Unavailable if some of the disks have lost much since the beginning, and have little left."""
        if filling := self._filling():
            self.refused = True
            raise Unavailable(f"it was ended before the disk of {filling} were free, was full")

    def refuse_filled(self) -> None:
        """Outage if that is so when a run that was ended for it has been removed."""
        if self.refused and (filling := self._filling()):
            raise Outage(f"something fills the disk of {filling} were free, and removing the run has not freed it", "free some")

    def _filling(self) -> str:
        """In words, the disks that have lost much and have little left; nothing if there are none."""
        now = self._free()
        lost = {what: self._before[what] - left for what, left in now.items() if what in self._before and left < LEFT_BYTES}
        filling = [what for what in lost if lost[what] > TAKEN_BYTES]
        if not filling:
            return ""
        most, least = max(lost[what] for what in filling), min(now[what] for what in filling)
        names = " and of ".join(filling)
        return f"{names}, of which {most / 2**30:.1f} GiB were taken in this attempt and {least / 2**30:.1f} GiB"

    def _free(self) -> dict[str, int]:
        found = {}
        for what, folder in self._folders.items():
            with contextlib.suppress(OSError):
                found[what] = free_bytes(folder)
        return found


def device_bytes(diskstats: str, device: str) -> dict[str, int]:
    """Bytes read from and written to a device since boot, from /proc/diskstats (sectors of 512 bytes)."""
    for line in diskstats.splitlines():
        fields = line.split()
        if fields[2] == device:
            return {"read_bytes": 512 * int(fields[5]), "written_bytes": 512 * int(fields[9])}
    return {}
