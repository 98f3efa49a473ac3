"""Block device of a folder, bytes read from it and written to it, and free space on it."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from plimsoll.errors import Outage, Unavailable

# A run is stopped when it has taken more than TAKEN_BYTES of a disk and less than LEFT_BYTES are free. Other users of
# the disk need some space, and a program goes on writing until the next look.
TAKEN_BYTES, LEFT_BYTES = 2**28, 2**30
# Free space that is needed before a run, in addition to what the run writes (bytes).
SPARE_BYTES = 2 * LEFT_BYTES
# Name for messages: what lies on the disk of an engine.
CONTAINERS = "the containers"


def device_of(storage: Path) -> str | None:
    """Return the name of the block device that a folder is on; None if it is on no block device."""
    number = os.stat(storage).st_dev
    path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return path.resolve().name if path.exists() else None


def refuse_less(folder: Path, needed: float) -> None:
    """Raise Outage if the disk of a folder has less than `needed` bytes free."""
    free = free_bytes(folder)
    if free < needed:
        raise Outage(f"{folder} has {free / 2**30:.1f} GiB free, and {needed / 2**30:.1f} are needed", "free some space")


def free_bytes(folder: Path) -> int:
    """Return how many bytes this user may still write to the disk of a folder."""
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize


class Room:
    """Disks on which a run writes, and which it must not fill.

    `folders` maps a name for messages (what lies there) to a folder on the disk. A folder that cannot be seen from
    here, or no longer, is left out. `refused` is true once a run was stopped because of these disks.
    """

    def __init__(self, folders: Mapping[str, Path]):
        self.refused = False
        self._folders = dict(folders)
        self.begin()

    def watch(self, folders: Mapping[str, Path]) -> None:
        """Watch the disks of these folders too. Losses of all disks count from now on."""
        self._folders |= folders
        self.begin()

    def moved(self, folders: Mapping[str, Path]) -> None:
        """Look at the watched disks through these folders, because the folders used before are gone."""
        self._folders |= folders

    def begin(self) -> None:
        """Count from now on what the disks lose."""
        self._before = self._free()

    def refuse_filling(self) -> None:
        """Raise Unavailable if a disk has lost more than TAKEN_BYTES since `begin` and has less than LEFT_BYTES free."""
        if filling := self._filling():
            self.refused = True
            raise Unavailable(f"it was stopped before {filling} was full")

    def refuse_filled(self) -> None:
        """Raise Outage if the disk is still full after the run that filled it was removed."""
        if self.refused and (filling := self._filling()):
            raise Outage(f"something fills {filling}, and removing the run has not freed it", "free some space")

    def _filling(self) -> str:
        """Return, in words, the disks that have lost much and have little left; an empty text if no disk has."""
        now = self._free()
        lost = {what: self._before[what] - left for what, left in now.items() if what in self._before and left < LEFT_BYTES}
        filling = [what for what in lost if lost[what] > TAKEN_BYTES]
        if not filling:
            return ""
        most, least = max(lost[what] for what in filling), min(now[what] for what in filling)
        names = " and of ".join(filling)
        return f"the disk of {names} (this attempt took {most / 2**30:.1f} GiB, and {least / 2**30:.1f} GiB are free)"

    def _free(self) -> dict[str, int]:
        found = {}
        for what, folder in self._folders.items():
            with contextlib.suppress(OSError):
                found[what] = free_bytes(folder)
        return found


def device_bytes(diskstats: str, device: str) -> dict[str, int]:
    """Return the bytes read from and written to a device since boot; an empty dictionary if the device is not listed.

    `diskstats` is the text of /proc/diskstats, which counts sectors of 512 bytes.
    """
    for line in diskstats.splitlines():
        fields = line.split()
        if fields[2] == device:
            return {"read_bytes": 512 * int(fields[5]), "written_bytes": 512 * int(fields[9])}
    return {}
