"""Load of the machine apart from the run, before the run and during it."""

import os
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import first_of
from plimsoll.host import cgroup, machine_lock, processes, slowdowns
from plimsoll.measuring import status

TICKS = os.sysconf("SC_CLK_TCK")
# Fields of a Snapshot that are one number.
NUMBERS = ("when", "machine", "launched", "containers", "stolen", "swapped")
# UNSEEN: step of a clock, or sleep of the machine, that no measurement sees (s). SLEWED: how much faster or slower the
# kernel may let a clock run to correct it, as a share of a run's time.
UNSEEN, SLEWED = 0.05, 0.0005
# Bytes moved to and from swap space that do not yet disturb a run, or one second of a longer run.
SWAPPED_BYTES = 2**20
# Environment variable with the moment after which no run waits for an idle machine (s of the monotonic clock).
WAIT_UNTIL = "PLIMSOLL_WAIT_UNTIL"


class Machine:
    """Processor time of the whole machine, in seconds, as finely as the kernel tells it."""

    def __init__(self, mounted: dict[str, Path] | None = None):
        self.mounted = cgroup.mounts() if mounted is None else mounted
        self.root = cgroup.accounting_root(self.mounted)
        self.processors = os.cpu_count() or 1
        # Without cgroups the unit is the clock tick. A window then has at least 20 ticks, to show a share of a twentieth.
        self.resolution = 1e-6 if self.root else 1 / TICKS

    def busy_seconds(self) -> float:
        """Return the processor time that all programs have used since boot (s)."""
        if self.root:
            return cgroup.cpu_seconds(self.root)
        user, nice, system, _, _, irq, softirq, *_ = _stat()
        return (user + nice + system + irq + softirq) / TICKS

    def busy_share(self, seconds: float) -> float:
        """Return the share of all processors that is busy over a window, 0 to 1."""
        seconds = max(seconds, 20 * self.resolution)
        busy, begun = self.busy_seconds(), time.monotonic()
        time.sleep(seconds)
        return (self.busy_seconds() - busy) / ((time.monotonic() - begun) * self.processors)


def killed_for_memory() -> int:
    """Return how many programs the kernel has killed since boot for lack of memory; 0 where it does not count them."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def _stat() -> list[int]:
    with open("/proc/stat") as file:
        return [int(field) for field in file.readline().split()[1:]]


def wait_until_idle(machine: Machine, busy_share: float, window_seconds: float, wait_seconds: float) -> dict:
    """Wait until the machine is idle for a window, at most `wait_seconds`, and not beyond the moment in WAIT_UNTIL.

    Idle means that at most `busy_share` of its processors is busy. Return `idle` (whether there was such a window),
    `busy_share` of the last window, `threshold`, `window_seconds` and `waited_seconds`. Without such a window also
    return `busiest`, the processes that used most.
    """
    begun = time.monotonic()
    wait_seconds = min(wait_seconds, float(os.environ.get(WAIT_UNTIL, "inf")) - begun)
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
    """Return the reason of a run whose machine did not become idle. `seen` is what `wait_until_idle` returned.

    It names other users whose measurement was killed: their containers may still run, with processes of any user.
    """
    killed = machine_lock.of_others()
    left = f"; a measurement of {', '.join(killed)} was killed, and its leftovers may be running" if killed else ""
    return f"the machine was not idle within {seen['waited_seconds']:.0f} s (busiest: {seen['busiest']}{left})"


def busiest(seconds: float = 0.2, most: int = 3) -> str:
    """Return in words the processes that use most processor time in a window, each with its PID and user.

    They are at most `most` processes, and each uses at least a tenth of the window. The time of a process that has
    ended in the window counts for its parent, if that waited for it.
    """
    before = {(one.number, one.started): one.seconds + one.waited for one in _processes()}
    time.sleep(seconds)
    used = {one: one.seconds + one.waited - before.get((one.number, one.started), 0.0) for one in _processes()}
    found = sorted((one for one in used if used[one] >= seconds / 10), key=used.__getitem__, reverse=True)[:most]
    named = (f"{one.name}, process {one.number} of {machine_lock.user_of(Path('/proc') / one.number)}" for one in found)
    return " and ".join(named) or "no process that lasts"


class Snapshot(NamedTuple):
    """Counters of the machine at one moment.

    Processor seconds are those of the whole `machine`, of this process and its children (`launched`), of the
    `containers`, and of each of the `helpers`. A helper is a container daemon or a kernel thread; its key is its PID
    and its start. `stolen` is what a hypervisor stole, and `throttled` how long quotas or heat kept processors from the
    run, by cause (s). `swapped` is what was moved to and from swap space (bytes). Adding `epoch` or `slept` to `when`
    gives seconds since 1970, or since the machine was started.

    The workflow that started this process is no helper. It has nothing to do while a run is measured, and disturbs if
    it does something.
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


# Snapshots before and after each period in which something is measured.
Spans = list[tuple[Snapshot, Snapshot]]


def snapshot(machine: Machine, account: Path | None, groups: list[Path], daemons: tuple[str, ...]) -> Snapshot:
    """Return a Snapshot of this moment.

    `account` is the cgroup of this process and its children. Without one, they are searched in /proc. `groups` are the
    containers' cgroups. `daemons` are beginnings of the names of processes that work for the containers.
    """
    there = list(_processes())
    return Snapshot(
        time.monotonic(),
        machine.busy_seconds(),
        cgroup.cpu_seconds(account) if account else _launched(there),
        sum(map(cgroup.cpu_seconds, groups)),
        _helpers(there, daemons, groups, counted=account is not None),
        _stat()[7] / TICKS,
        slowdowns.throttled_seconds(groups, machine.mounted),
        slowdowns.swapped_bytes(),
        *_clocks(),
    )


def _clocks() -> tuple[float, float]:
    """Return what must be added to CLOCK_MONOTONIC to get CLOCK_REALTIME and CLOCK_BOOTTIME (s).

    The shortest of three readings counts, because this process may lose its processor between two clocks.
    """
    readings = []
    for _ in range(3):
        before = time.monotonic()
        epoch, boot = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)
        after = time.monotonic()
        readings.append((after - before, epoch - (before + after) / 2, boot - (before + after) / 2))
    return min(readings)[1:]


class Process(NamedTuple):
    """Facts about a process from the kernel: its PID (`number`), its parent's, its name, and when it `started`.

    Processor seconds are its own (`seconds`) and those of its children that have ended (`waited`).
    """

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
    """Return the processor seconds of this process and of all that it has started, whether that has ended or not."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    seconds, parents = sum(part.ru_utime + part.ru_stime for part in used), {str(os.getpid())}
    while children := [one for one in there if one.parent in parents]:
        seconds += sum(one.seconds + one.waited for one in children)
        parents = {one.number for one in children}
    return seconds


def _helpers(
    there: list[Process], daemons: tuple[str, ...], groups: list[Path], counted: bool
) -> dict[tuple[str, bytes], float]:
    """Return the processor seconds of each helper, by its PID and its start.

    An engine that runs in a container is no helper, because its group counts it. If the groups of the launched programs are
    `counted`, a kernel thread that serves a virtual machine is no helper either, because it is in them.
    """
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
    """Return what other programs used between the two snapshots of each span, summed over the spans.

    There are several spans if a run is measured in pieces. `neighbour_seconds` is the machine's processor time less the
    run's own. `neighbour_share` is its share of all processors' time.

    The run counts as `disturbed` if the share is above `share` and the time above `seconds`. The same limits hold for
    what a hypervisor stole (`stolen_seconds`), and for how long quotas or heat kept processors from the run
    (`throttled_seconds`). Less than some 0.1 s is not neighbours. It is clock ticks, and short-lived helpers through
    which container engines start a process.

    Where the run's own time cannot be separated from others' (`apart` is false), both are None, and neighbours do not
    disturb. Records and verdicts say so.

    Memory that was on a disk disturbs too (`swapped_bytes`). So do a clock that was set (`set_seconds`) and a machine
    that slept (`slept_seconds`), because times that programs print are then wrong. So do programs that were `stopped`,
    which says in words what happened.
    """
    took = {part: sum(getattr(after, part) - getattr(before, part) for before, after in spans) for part in NUMBERS}
    capacity = took["when"] * processors
    own = took["launched"] + took["containers"] + sum(_by_helpers(before, after) for before, after in spans)
    used, stolen = max(0.0, took["machine"] - own) if apart else None, took["stolen"]
    kept, swapped = _kept_from(spans), int(took["swapped"])
    throttled, slept, moved = sum(kept.values()), *_of_clocks(spans)
    # For a run with one rank on a large machine, a share of all processors' time says nothing.
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
    """Return how long each cause kept processors from the run in its spans (s).

    Only causes that are there at both ends of a span count.
    """
    kept: dict[str, float] = {}
    for before, after in spans:
        for what in before.throttled.keys() & after.throttled.keys():
            if (seconds := after.throttled[what] - before.throttled[what]) > 0:
                kept[what] = kept.get(what, 0.0) + seconds
    return kept


def _of_clocks(spans: Spans) -> tuple[float, float]:
    """Return how long the machine slept in spans, and the largest step by which its clock was set in one span (s).

    What is too small for a measurement to see is 0.
    """
    slept = [after.slept - before.slept for before, after in spans]
    # A machine that wakes has its clock set forward by the time that it slept.
    moved = [after.epoch - before.epoch - asleep for (before, after), asleep in zip(spans, slept, strict=True)]
    allowed = UNSEEN + SLEWED * max(after.when - before.when for before, after in spans)
    most = max(moved, key=abs)
    return round(sum(slept), 2) if sum(slept) > UNSEEN else 0.0, round(most, 2) if abs(most) > allowed else 0.0


def _by_helpers(before: Snapshot, after: Snapshot) -> float:
    """Return the processor seconds that helpers used in a span (from `before` to `after`).

    A helper that has ended in the span is left out: what it used in all its life is gone with it.
    """
    return sum(seconds - before.helpers.get(helper, 0.0) for helper, seconds in after.helpers.items())


def disturbance(during: dict) -> dict:
    """Return status and reason of a disturbed run. `during` is the result of `neighbours`."""
    threshold, reasons = during["threshold"], []
    if during["slept_seconds"]:
        reasons.append(f"the machine slept {during['slept_seconds']:.2f} s during the run")
    elif during["set_seconds"]:
        reasons.append(f"the clock was set by {during['set_seconds']:+.2f} s during the run")
    if during["stopped"]:
        reasons.append(f"{first_of(during['stopped'], between=' and ')} during the run")
    if during["throttled_seconds"] > threshold["seconds"]:
        by = " and ".join("heat" if what == slowdowns.HEAT else f"a quota of {what}" for what in during["throttled_by"])
        reasons.append(f"{by} kept processors from the run for {during['throttled_seconds']:.2f} s")
    if during["swapped_bytes"] > SWAPPED_BYTES:
        reasons.append(f"{during['swapped_bytes'] / 1e6:.1f} MB were moved to and from swap space during the run")
    return {"status": status.DISTURBED, "reason": "; ".join(reasons) or _of_others(during)}


def _of_others(during: dict) -> str:
    used, stolen = during["neighbour_seconds"], during["stolen_seconds"]
    if used is None:
        return f"a hypervisor stole {stolen:.2f} s of processor time during the run"
    return f"others used {used:.2f} s of processor time during the run, and a hypervisor {stolen:.2f} s"
