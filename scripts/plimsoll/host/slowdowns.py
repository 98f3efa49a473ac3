"""What slows programs whose processors no other program uses: quotas of processor time, heat, and swapped memory."""

import os
from collections.abc import Iterable
from pathlib import Path

from plimsoll.host import cgroup

PROCESSORS = Path("/sys/devices/system/cpu")
# Times of the core and of its package. The kernel gives both for each processor.
HOT = ("core_throttle_total_time_ms", "package_throttle_total_time_ms")
HEAT = "heat"
UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}


def throttled_seconds(groups: Iterable[Path], mounted: dict[str, Path]) -> dict[str, float]:
    """Return how long processors were kept from programs since boot (s), by cause.

    A quota is named by the folder of its cgroup. The groups are this process's, the containers' `groups`, and all
    groups above them. HEAT stands for heat. It is 0 where the kernel does not tell the time (it does on Intel's
    processors, from Linux 5.9 on).
    """
    told = {str(group): _quota_seconds(group) for group in _with_those_above(groups, mounted)}
    # A group that has used up no quota yet has 0. One that can have no quota has None.
    return {**{group: seconds for group, seconds in told.items() if seconds is not None}, HEAT: _hot_seconds()}


def swapped_bytes() -> int:
    """Return the bytes that were moved between memory and swap space since boot, in both directions, for all programs."""
    pages = (line.split() for line in Path("/proc/vmstat").read_text().splitlines() if line.startswith(("pswpin ", "pswpout ")))
    return os.sysconf("SC_PAGE_SIZE") * sum(int(count) for _, count in pages)


def _with_those_above(groups: Iterable[Path], mounted: dict[str, Path]) -> set[Path]:
    root = cgroup.cpu_root(mounted)
    if root is None:
        return set()
    there = {cgroup.of_process(os.getpid(), mounted, "cpu"), *(cgroup.counterpart(group, mounted, root) for group in groups)}
    # The root too: in a container it is the container's group, and has the container's quota.
    return {root, *(above for group in there if group for above in (group, *group.parents) if root in above.parents)}


def _quota_seconds(group: Path) -> float | None:
    """Return how long a group's quota kept it waiting (s); None if it can have no quota, or is gone."""
    try:
        rows = [line.split() for line in (group / "cpu.stat").read_text().splitlines()]
    except OSError:
        return None
    return next((int(value) * UNITS[name] for name, value in rows if name in UNITS), None)


def _hot_seconds() -> float:
    """Return the time that processors lost to heat, summed over processors (s).

    For each processor the longer of its core's and its package's time counts.
    """
    folders = PROCESSORS.glob("cpu[0-9]*/thermal_throttle")
    return sum(max(_milliseconds(folder / name) for name in HOT) for folder in folders) / 1e3


def _milliseconds(path: Path) -> int:
    try:
        return int(path.read_text())
    except OSError:
        return 0
