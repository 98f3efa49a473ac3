"""How busy the machine is apart from the run: before it, and during it."""

import os
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import first_of
from plimsoll.host import cgroup, machine_lock, processes, slowed
from plimsoll.measuring import status

TICKS = os.sysconf("SC_CLK_TCK")
# What of a Snapshot is one number.
NUMBERS = ("when", "machine", "launched", "containers", "stolen", "swapped")
# What a clock was set by, or how long the machine slept, that no measurement sees (s); and as a share of a run's time, how much
# faster or slower the kernel may let a clock run, to have it right again.
UNSEEN, SLEWED = 0.05, 0.0005
# What is moved to and from swap space and still disturbs nobody: in a run, and in each second of a longer one.
SWAPPED_BYTES = 2**20


class Machine:
    """Processor time of the whole machine, in seconds, as finely as the kernel tells it."""

    def __init__(self, mounted: dict[str, Path] | None = None):
        self.mounted = cgroup.mounts() if mounted is None else mounted
        self.root = cgroup.accounting_root(self.mounted)
        self.processors = os.cpu_count() or 1
        # Without cgroups the clock tick is the unit, and a window has to be long enough to see a twentieth of it.
        self.resolution = 1e-6 if self.root else 1 / TICKS

    def busy_seconds(self) -> float:
        """Processor time used since boot by everything."""
        if self.root:
            return cgroup.cpu_seconds(self.root)
        user, nice, system, _, _, irq, softirq, *_ = _stat()
        return (user + nice + system + irq + softirq) / TICKS

    def busy_share(self, seconds: float) -> float:
        """Share of all processors that is busy over a window, 0 to 1."""
        seconds = max(seconds, 20 * self.resolution)
        busy, begun = self.busy_seconds(), time.monotonic()
        time.sleep(seconds)
        return (self.busy_seconds() - busy) / ((time.monotonic() - begun) * self.processors)


def killed_for_memory() -> int:
    """Programs that the kernel has killed since boot for want of memory; 0 where it does not count them."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def _stat() -> list[int]:
    with open("/proc/stat") as file:
        return [int(field) for field in file.readline().split()[1:]]


def wait_until_idle(machine: Machine, busy_share: float, window_seconds: float, wait_seconds: float) -> dict:
    """Wait until a window is idle enough, at most `wait_seconds`.

    Returns `idle` (whether there was such a window), `busy_share` of the last window, `threshold`, `window_seconds` and
    `waited_seconds`; without such a window also who was `busiest`.
    """
    begun = time.monotonic()
    while True:
        share = machine.busy_share(window_seconds)
        waited = time.monotonic() - begun
        if share <= busy_share or waited >= wait_seconds:
            break
        time.sleep(0.02)
    idle = share <= busy_share
    return {
        "idle": idle,
        **({} if idle else {"busiest": busiest()}),
        "busy_share": round(share, 4),
        "threshold": busy_share,
        "window_seconds": window_seconds,
        "waited_seconds": round(waited, 3),
    }


def not_idle(seen: dict) -> str:
    """The reason of a run whose machine did not become idle, from what `wait_until_idle` has returned. The containers of a
    killed run of another user's may be at work, whoever their processes belong to."""
    killed = machine_lock.of_others()
    left = f"; a measurement of {', '.join(killed)} was killed, and what it left may be at work" if killed else ""
    return f"the machine was not idle within {seen['waited_seconds']:.0f} s (busiest: {seen['busiest']}{left})"


def busiest(seconds: float = 0.2, most: int = 3) -> str:
    """The processes that use most processor time in a window, at least a tenth of it, each with its number and user; what has
    ended in it counts for who waited for it."""
    before = {(one.number, one.started): one.seconds + one.waited for one in _processes()}
    time.sleep(seconds)
    used = {one: one.seconds + one.waited - before.get((one.number, one.started), 0.0) for one in _processes()}
    found = sorted((one for one in used if used[one] >= seconds / 10), key=used.__getitem__, reverse=True)[:most]
    named = (f"{one.name}, process {one.number} of {machine_lock.user_of(Path('/proc') / one.number)}" for one in found)
    return " and ".join(named) or "no process that lasts"


class Snapshot(NamedTuple):
    """Processor seconds at one moment: the machine's, this process's and its children's, the containers', those of each helper
    (container daemon or kernel thread, by what tells it apart), what a hypervisor stole, and for how long quotas or heat kept
    processors from the run. `swapped` is what was moved to and from swap space, in bytes. `epoch` and `slept` are what has to
    be added to `when` to get seconds since 1970, and since the machine was started.

    The workflow that started this process is no helper. It has nothing to do while a run is measured, and if it does something,
    it disturbs.
    """

    when: float
    machine: float
    launched: float
    containers: float
    helpers: dict[tuple[str, bytes], float]
    stolen: float
    throttled: dict[str, float] = {}
    swapped: float = 0.0
    epoch: float = 0.0
    slept: float = 0.0


# The Snapshots before and after each time in which something is measured.
Spans = list[tuple[Snapshot, Snapshot]]


def snapshot(machine: Machine, account: Path | None, groups: list[Path], daemons: tuple[str, ...]) -> Snapshot:
    """The moment's Snapshot.

    `account` is the group of this process and its children (without one, they are looked for), `groups` are the containers'
    cgroups, `daemons` name processes that work for them.
    """
    there = list(_processes())
    return Snapshot(
        time.monotonic(),
        machine.busy_seconds(),
        cgroup.cpu_seconds(account) if account else _launched(there),
        sum(map(cgroup.cpu_seconds, groups)),
        _helpers(there, daemons, groups, counted=account is not None),
        _stat()[7] / TICKS,
        slowed.throttled_seconds(groups, machine.mounted),
        slowed.swapped_bytes(),
        *_clocks(),
    )


def _clocks() -> tuple[float, float]:
    """What has to be added to CLOCK_MONOTONIC to get CLOCK_REALTIME and CLOCK_BOOTTIME: of some readings those that took the
    shortest time, as this process may lose its processor between two clocks."""
    readings = []
    for _ in range(3):
        before = time.monotonic()
        epoch, boot = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)
        after = time.monotonic()
        readings.append((after - before, epoch - (before + after) / 2, boot - (before + after) / 2))
    return min(readings)[1:]


class Process(NamedTuple):
    """What the kernel says of a process: its `number` and its parent's, the time at which it `started`, and processor seconds:
    its own and, in `waited`, those of its children that have ended."""

    number: str
    parent: str
    name: str
    started: bytes
    seconds: float
    waited: float


def _processes() -> Iterator[Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                name, fields = processes.stat_of(f"/proc/{entry}/stat")
            except OSError:
                continue
            own, waited = ((int(fields[i]) + int(fields[i + 1])) / TICKS for i in (11, 13))
            yield Process(entry, fields[1].decode(), name, fields[19], own, waited)


def _launched(there: list[Process]) -> float:
    """Processor seconds of this process and of all that it has started, whether that has ended or not."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    seconds, parents = sum(part.ru_utime + part.ru_stime for part in used), {str(os.getpid())}
    while children := [one for one in there if one.parent in parents]:
        seconds += sum(one.seconds + one.waited for one in children)
        parents = {one.number for one in children}
    return seconds


def _helpers(
    there: list[Process], daemons: tuple[str, ...], groups: list[Path], counted: bool
) -> dict[tuple[str, bytes], float]:
    """Processor seconds of each helper, by its number and the time at which it started. An engine that runs in a container is
    none: its group counts it. Nor is a kernel thread that serves a virtual machine where the groups of what was launched are
    `counted`: it is in them."""
    return {
        (one.number, one.started): one.seconds
        for one in there
        if not (counted and one.name.startswith("vhost-"))
        and (
            "2" in (one.number, one.parent) or (daemons and one.name.startswith(daemons) and not _in_groups(one.number, groups))
        )
    }


def _in_groups(process: str, groups: list[Path]) -> bool:
    try:
        of_process = Path(f"/proc/{process}/cgroup").read_text()
    except OSError:
        return False
    return any(f"/{group.name}" in of_process for group in groups)


def neighbours(
    spans: Spans,
    processors: int,
    share: float,
    seconds: float,
    *,
    apart: bool,
    stopped: Sequence[str] = (),
) -> dict:
    """What others used between the two snapshots of each span, in all: a run may be measured in pieces.

    `neighbour_seconds` is the machine's processor time less the run's own, `neighbour_share` that of all processors' time; the
    run counts as `disturbed` if the share is above `share` and the time above `seconds`, or if a hypervisor stole as much, or
    if quotas or heat kept processors from it for as long (`throttled_seconds`). What is seen below some 0.1 s is not neighbours
    but clock ticks, and the short-lived helpers through which container engines start a process. Where the run's own time
    cannot be told `apart` from others', both are None, and neighbours do not disturb: records say so, and so do verdicts.
    Memory that was on a disk (`swapped_bytes`) disturbs, a clock that was set (`set_seconds`), and a machine that slept
    (`slept_seconds`): what programs print of time is wrong then. So do programs that somebody
    `stopped`, which says so in words.
    """
    took = {part: sum(getattr(after, part) - getattr(before, part) for before, after in spans) for part in NUMBERS}
    capacity = took["when"] * processors
    own = took["launched"] + took["containers"] + sum(_by_helpers(before, after) for before, after in spans)
    used, stolen = max(0.0, took["machine"] - own) if apart else None, took["stolen"]
    kept, swapped = _kept_from(spans), int(took["swapped"])
    throttled, slept, moved = sum(kept.values()), *_of_clocks(spans)
    # Of a run with one rank on a large machine the time of all processors says nothing.
    wanted = throttled + (own if apart else capacity)
    return {
        "seconds": round(took["when"], 4),
        "own_seconds": round(own, 4),
        "neighbour_seconds": None if used is None else round(used, 4),
        "neighbour_share": None if used is None else round(used / capacity, 4),
        "stolen_seconds": round(stolen, 2),
        "throttled_seconds": round(throttled, 3),
        "throttled_by": sorted(kept),
        "swapped_bytes": swapped,
        "slept_seconds": slept,
        "set_seconds": moved,
        "stopped": list(stopped),
        "threshold": {"share": share, "seconds": seconds},
        "apart": apart,
        "disturbed": bool(slept or moved or stopped)
        or swapped > SWAPPED_BYTES * max(1.0, took["when"])
        or any(
            time > seconds and time / of > share
            for time, of in ((used or 0.0, capacity), (stolen, capacity), (throttled, wanted))
        ),
    }


def _kept_from(spans: Spans) -> dict[str, float]:
    """For how long what kept processors from the run in its spans: of what is there at both ends of a span."""
    kept: dict[str, float] = {}
    for before, after in spans:
        for what in before.throttled.keys() & after.throttled.keys():
            if (seconds := after.throttled[what] - before.throttled[what]) > 0:
                kept[what] = kept.get(what, 0.0) + seconds
    return kept


def _of_clocks(spans: Spans) -> tuple[float, float]:
    """How long the machine slept in spans, and by how much its clock was set in the one in which that was most; 0 for what no
    measurement sees."""
    slept = [after.slept - before.slept for before, after in spans]
    # A machine that wakes finds its clock set to what has passed.
    moved = [after.epoch - before.epoch - asleep for (before, after), asleep in zip(spans, slept, strict=True)]
    allowed = UNSEEN + SLEWED * max(after.when - before.when for before, after in spans)
    most = max(moved, key=abs)
    return round(sum(slept), 2) if sum(slept) > UNSEEN else 0.0, round(most, 2) if abs(most) > allowed else 0.0


def _by_helpers(before: Snapshot, after: Snapshot) -> float:
    """Processor seconds of the helpers that are there at the end: one that ends takes with it what it used in all its life."""
    return sum(seconds - before.helpers.get(helper, 0.0) for helper, seconds in after.helpers.items())


def disturbed(during: dict) -> dict:
    """Status and reason of a disturbed run, from what was seen beside it (`neighbours`)."""
    threshold, reasons = during["threshold"], []
    if during["slept_seconds"]:
        reasons.append(f"the machine slept {during['slept_seconds']:.2f} s during the run")
    elif during["set_seconds"]:
        reasons.append(f"the clock was set by {during['set_seconds']:+.2f} s during the run")
    if during["stopped"]:
        reasons.append(f"{first_of(during['stopped'], between=' and ')} during the run")
    if during["throttled_seconds"] > threshold["seconds"]:
        by = " and ".join("heat" if what == slowed.HEAT else f"a quota of {what}" for what in during["throttled_by"])
        reasons.append(f"{by} kept processors from the run for {during['throttled_seconds']:.2f} s")
    if during["swapped_bytes"] > SWAPPED_BYTES:
        reasons.append(f"{during['swapped_bytes'] / 1e6:.1f} MB were moved to and from swap space during the run")
    return {"status": status.DISTURBED, "reason": "; ".join(reasons) or _of_others(during)}


def _of_others(during: dict) -> str:
    used, stolen = during["neighbour_seconds"], during["stolen_seconds"]
    if used is None:
        return f"a hypervisor stole {stolen:.2f} s of processor time during the run"
    return f"others used {used:.2f} s of processor time during the run, and a hypervisor {stolen:.2f} s"
