"""What the kernel and the processor count while a run goes on: `perf stat` on the cgroups of the run's ranks."""

import os
import shutil
import subprocess
from pathlib import Path

from plimsoll import cgroup
from plimsoll.benchmarks.base import InvalidOutput
from plimsoll.errors import Unavailable
from plimsoll.instruments.base import Instrument
from plimsoll.runtimes.base import LABEL, Deployment, Job, join

# What is counted, by our name: perf's names for it, of which the first that the machine knows is taken. Generic names come
# last: what `node-loads` counts (all accesses, or local ones) is not the same on all processors.
COUNTERS = {
    "context_switches": ("context-switches",),
    "cpu_migrations": ("cpu-migrations",),
    "l3_misses": ("LLC-load-misses", "longest_lat_cache.miss"),
    "local_memory_loads": ("mem_load_uops_l3_miss_retired.local_dram", "mem_load_l3_miss_retired.local_dram", "node-loads"),
    "remote_memory_loads": (
        "mem_load_uops_l3_miss_retired.remote_dram",
        "mem_load_l3_miss_retired.remote_dram",
        "node-load-misses",
    ),
    "cycles": ("cycles",),
    "stall_cycles": ("cycle_activity.stalls_total", "stalled-cycles-backend"),
}
# Values that are made of counters, and of which.
DERIVED = {
    "local_memory_rate": ("local_memory_loads", "remote_memory_loads"),
    "memory_loads": ("local_memory_loads", "remote_memory_loads"),
    "stalls_per_work_cycle": ("cycles", "stall_cycles"),
}
GROUP = f"{LABEL}-counted"
# Rank 0 writes here when counting has to begin and to end (containers/hpcc/rank_report.c).
CONTROL = "ranks/control"
# What ranks say themselves about their own switches is part of what perf counts for their cgroup, but for the moment that it
# takes perf to begin: so much, and so many.
AT_LEAST, MISSED = 0.9, 50


def available() -> dict[str, str | None]:
    """Each counter with perf's name for it on this machine; None where it has none. Empty without perf."""
    perf = shutil.which("perf")
    return {name: next((e for e in events if _counts(perf, e)), None) for name, events in COUNTERS.items()} if perf else {}


def _counts(perf: str, event: str) -> bool:
    # Over all processors, as in a run: not every user may.
    done = subprocess.run([perf, "stat", "-a", "-x,", "-e", event, "true"], capture_output=True, text=True)
    return done.returncode == 0 and done.stderr.split(",")[0].strip().isdigit()


class Events(Instrument):
    """perf over all processors, restricted to the cgroups that hold the ranks."""

    name = "events"

    def __init__(self, job: Job):
        super().__init__(job)
        self.nodes = allocations()

    @staticmethod
    def settings(host: dict) -> dict:
        """`events`: perf's name of each counter that this host has; a host that is only described has all of them. `nodes`: how
        many memory nodes it has."""
        events = host.get("events", {name: events[0] for name, events in COUNTERS.items()})
        found = {name: event for name, event in events.items() if event}
        reason = None if found else "perf is not installed, or counts nothing here"
        return {"events": found, "nodes": len(host["nodes"]), "reason": reason}

    @staticmethod
    def missing(source: str, settings: dict) -> str | None:
        """Why a value cannot be had: the counters that it is made of and that this host does not have."""
        if source == "local_allocation_rate" and settings["nodes"] < 2:
            return "this host has one memory node"
        names = DERIVED.get(source, (source,) if source in COUNTERS else ())
        absent = [name.replace("_", " ") for name in names if name not in settings["events"]]
        return f"this host does not count {' or '.join(absent)}" if absent else None

    def around(self, command: list[str], deployment: Deployment, account: Path | None) -> list[str]:
        """perf around the launcher, counting from MPI_Init to MPI_Finalize. Unavailable if the ranks' cgroups are not known."""
        found = cgroup.mounts()
        root = cgroup.counting_root(found)
        perf = shutil.which("perf")
        if root is None or perf is None:
            raise Unavailable("perf cannot count by cgroup here")
        groups, prefix = self._groups(root, found, deployment, account)
        names = [str(group.relative_to(root)) for group in groups]
        events = ",".join(self.job.cell["events"].values())
        control = self.job.folder / CONTROL
        os.mkfifo(control)
        window = ["--delay=-1", f"--control=fifo:{control}"]
        options = ["-a", "-x", ",", "-o", str(self.job.folder / "perf.csv"), "-e", events, "--for-each-cgroup", ",".join(names)]
        return [perf, "stat", *window, *options, "--", *prefix, *command]

    def _groups(
        self, root: Path, found: dict[str, Path], deployment: Deployment, account: Path | None
    ) -> tuple[list[Path], list[str]]:
        """The cgroups whose processes are counted, and what puts the launcher into one of them where ranks are its children."""
        if not deployment.ranks_are_children:
            groups = [cgroup.moved(group, found, root) for group in deployment.groups]
            there = [group for group in groups if group is not None]
            if len(there) < self.job.cell["containers"]:
                raise Unavailable("the cgroups of the containers are not known, so that nothing can be counted in them")
            return there, []
        # Below the group of this process, so that its processor time stays the run's own.
        own = (account if account and root in account.parents else root) / GROUP
        others = [root / f"{LABEL}/{self.job.identity}"]
        # `apptainer exec` with a cgroup file makes a group below this one for each rank.
        needed = [own, root / "apptainer"] if deployment.strays else [own]
        try:
            for group in needed:
                group.mkdir(exist_ok=True)
        except OSError as error:
            raise Unavailable(f"a cgroup to count in could not be made: {error}") from error
        others += needed[1:]
        return [own, *(group for group in others if group.is_dir())], join([own])

    def values(self, ranks: list[dict], region: str) -> dict[str, float]:
        """Each counter's sum over the cgroups, what is made of them, and as a check what the ranks say of themselves."""
        try:
            counted = parse((self.job.folder / "perf.csv").read_text(), self.job.cell["events"])
        except OSError as error:
            raise InvalidOutput("perf left no counts") from error
        own = sum(sum(rank["context_switches"].values()) for rank in ranks)
        values: dict[str, float] = {**counted, **derived(counted), "rank_context_switches": own}
        migrations = [rank["migrations"] for rank in ranks]
        if None not in migrations:
            values["rank_migrations"] = sum(migrations)
        if counted.get("context_switches", own) < AT_LEAST * own - MISSED:
            raise InvalidOutput(f"perf counted {counted['context_switches']:g} context switches, and the ranks alone had {own}")
        if (share := local_share(self.nodes, allocations())) is not None:
            values["local_allocation_rate"] = share
        return values


def parse(text: str, events: dict[str, str]) -> dict[str, float]:
    """Counts by our names from perf's comma-separated output, summed over cgroups; InvalidOutput for one that is not there.

    A group in which nothing ran is `<not counted>`. perf has scaled what it could count only part of the time.
    """
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 3 and not line.startswith("#"):
            found.setdefault(fields[2], []).append(fields[0])
    counts = {}
    for name, event in events.items():
        numbers = [float(value) for value in found.get(event, []) if not value.startswith("<")]
        if not numbers:
            raise InvalidOutput(f"perf counted no {event}")
        counts[name] = sum(numbers)
    return counts


def derived(counted: dict[str, float]) -> dict[str, float]:
    """Values that are made of counters, where all of these are there: the share of loads from memory that the rank's own node
    served (table 6), and stall cycles a work cycle."""
    values = {}
    local, remote = (counted.get(f"{place}_memory_loads") for place in ("local", "remote"))
    if local is not None and remote is not None and local + remote > 0:
        values["memory_loads"] = local + remote
        values["local_memory_rate"] = local / (local + remote)
    cycles, stalled = counted.get("cycles"), counted.get("stall_cycles")
    if cycles is not None and stalled is not None and cycles > stalled:
        values["stalls_per_work_cycle"] = stalled / (cycles - stalled)
    return values


def allocations(sysfs: Path = Path("/sys")) -> list[tuple[int, int]]:
    """Pages allocated so far on each memory node by processes that ran on it, and by others."""
    found = []
    for file in sorted(sysfs.glob("devices/system/node/node[0-9]*/numastat")):
        fields = dict(line.split() for line in file.read_text().splitlines())
        found.append((int(fields["local_node"]), int(fields["other_node"])))
    return found


def local_share(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> float | None:
    """Share of the pages allocated between two readings that were on the allocating process's own node; None on one node."""
    if len(after) < 2 or len(before) != len(after):
        return None
    local = sum(b[0] - a[0] for a, b in zip(before, after, strict=True))
    other = sum(b[1] - a[1] for a, b in zip(before, after, strict=True))
    return local / (local + other) if local + other else None


INSTRUMENTS = (Events,)
