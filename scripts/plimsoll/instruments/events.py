"""Counters of the kernel and the processor during a run: `perf stat` on the cgroups of the run's ranks."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import Unavailable, quote
from plimsoll.host import cgroup, topology
from plimsoll.host.capabilities import COUNTERS
from plimsoll.instruments.base import Instrument
from plimsoll.interchange import Cell, Topology
from plimsoll.mpi.job import Job
from plimsoll.runtimes.base import LABEL, Node, join
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# Values that are computed from counters, each with its counters.
DERIVED = {
    "local_memory_rate": ("local_memory_loads", "remote_memory_loads"),
    "memory_loads": ("local_memory_loads", "remote_memory_loads"),
    "stalls_per_work_cycle": ("cycles", "stall_cycles"),
}
GROUP = f"{LABEL}-counted"
# Rank 0 writes to the first pipe when counting has to begin and to end. perf answers in the second pipe when it has
# done so (containers/hpcc/rank_report.c). No rank continues before.
CONTROL, ANSWER = "ranks/control", "ranks/answer"
# Ranks report their own context switches. perf must count at least this share of them, less a few for short runs.
AT_LEAST, MISSED = 0.9, 50
# A line of perf's output (-x ,): the count, its unit, the event, the cgroup, the time of counting and its share, and a
# derived value, which is empty here.
COUNT = "[0-9]+|<not counted>|<not supported>"
LINE = re.compile(rf"(?P<count>{COUNT}),[^,]*,(?P<event>[^,]+),(?P<group>[^,]+),[0-9]+,[0-9]+[.][0-9]+(?:,[^,]*)*")


class Events(Instrument):
    """perf on all processors, restricted to the cgroups that hold the ranks."""

    name = "events"

    def __init__(self, job: Job, cell: Cell):
        super().__init__(job, cell)
        self.nodes = allocations()
        # Number of cgroups in which perf counts.
        self.groups: int | None = None

    @staticmethod
    def settings(host: Topology) -> dict:
        """Return `events` and `nodes`, and a `reason` if perf counts nothing on this host.

        `events` has perf's name of each counter that this host has. A host that is only described has all counters.
        `nodes` is the number of memory nodes.
        """
        events = host.get("events", {name: events[0] for name, events in COUNTERS.items()})
        counted = {name: event for name, event in events.items() if event}
        nodes = len(topology.memory_nodes(host))
        return {"events": counted, "nodes": nodes, "reason": None if counted else _nothing(events, host)}

    @staticmethod
    def missing(source: str, settings: dict) -> str | None:
        """Return why a value is unavailable, such as the counters that it is computed from and that this host does not have.

        Return None if the value is available.
        """
        if source == "local_allocation_rate" and settings["nodes"] < 2:
            return "this host has one memory node"
        names = DERIVED.get(source, (source,) if source in COUNTERS else ())
        absent = [name.replace("_", " ") for name in names if name not in settings["events"]]
        return f"this host does not count {' or '.join(absent)}" if absent else None

    def around(self, command: list[str], nodes: Sequence[Node], account: Path | None) -> list[str]:
        """Return the launcher's command under perf, which counts from MPI_Init to MPI_Finalize.

        Raise Unavailable if perf cannot count by cgroup here, or if the ranks' cgroups are not known.
        """
        mounted = cgroup.mounts()
        root = cgroup.counting_root(mounted)
        perf = shutil.which("perf")
        if root is None or perf is None:
            raise Unavailable("perf cannot count by cgroup here")
        groups, prefix = self._groups(root, mounted, nodes, account)
        names = [str(group.relative_to(root)) for group in groups]
        self.groups = len(set(names))
        events = ",".join(self.cell["events"].values())
        for pipe in (CONTROL, ANSWER):
            os.mkfifo(self.job.folder / pipe)
        # Relative to the folder where perf starts, because perf splits paths at commas.
        window = ["--delay=-1", f"--control=fifo:{CONTROL},{ANSWER}"]
        options = ["-a", "-x", ",", "-o", str(self.job.folder / "perf.csv"), "-e", events, "--for-each-cgroup", ",".join(names)]
        return [perf, "stat", *window, *options, "--", *prefix, *command]

    def _groups(
        self, root: Path, mounted: dict[str, Path], nodes: Sequence[Node], account: Path | None
    ) -> tuple[list[Path], list[str]]:
        """Return the cgroups whose processes are counted, and a prefix for the launcher's command.

        Where ranks are the launcher's children, the prefix puts the launcher into one of these groups.
        """
        if nodes[0].separate or nodes[0].detached:
            groups = [cgroup.counterpart(group, mounted, root) for node in nodes for group in node.groups]
            there = [group for group in groups if group is not None]
            if len(there) < len(nodes):
                raise Unavailable("the cgroups of the containers are not known, so that nothing can be counted in them")
            return there, []
        # Below the group of this process, so that the ranks' processor time still counts as the run's own.
        own = (account if account and root in account.parents else root) / GROUP
        others = [root / f"{LABEL}/{self.job.identity}"]
        # `apptainer exec` with a cgroup file makes a group below this one for each rank.
        needed = [own, root / "apptainer"] if nodes[0].strays else [own]
        try:
            for group in needed:
                group.mkdir(exist_ok=True)
        except OSError as error:
            raise Unavailable(f"a cgroup to count in could not be made: {error}") from error
        others += needed[1:]
        return [own, *(group for group in others if group.is_dir())], join([own])

    def values(self, ranks: list[dict], region: str) -> dict[str, float]:
        """Return each counter's sum over the cgroups, values computed from these, and the ranks' own counts.

        Raise InvalidOutput if perf counted clearly fewer context switches (AT_LEAST, MISSED) than the ranks alone had.
        """
        counted = parse(program_output.text_of(self.job.folder / "perf.csv"), self.cell["events"], self.groups)
        own = sum(sum(rank["context_switches"].values()) for rank in ranks)
        values: dict[str, float] = {**counted, **derived_values(counted), "rank_context_switches": own}
        migrations = [rank["migrations"] for rank in ranks]
        if None not in migrations:
            values["rank_migrations"] = sum(migrations)
        if counted.get("context_switches", own) < AT_LEAST * own - MISSED:
            raise InvalidOutput(f"perf counted {counted['context_switches']:g} context switches, and the ranks alone had {own}")
        if (share := local_share(self.nodes, allocations())) is not None:
            values["local_allocation_rate"] = share
        return values


def parse(text: str, events: dict[str, str], groups: int | None = None) -> dict[str, float]:
    """Return counts by our names from perf's comma-separated output, summed over cgroups.

    Raise InvalidOutput if a counter is missing, or if it was not counted once in each of the groups. `groups` is their
    number. If it is not given, it is the largest number of groups in which any counter was counted.

    A group in which nothing ran is `<not counted>`. Where perf could count only part of the time, it has scaled the
    count.
    """
    if not text.endswith("\n"):
        raise InvalidOutput("perf's counts end in the middle of a line")
    counted: dict[str, dict[str, str]] = {}
    for line in filter(None, text.split("\n")):
        if line.startswith("#"):
            continue
        if not (row := LINE.fullmatch(line)):
            raise InvalidOutput(f"perf's counts have the line {quote(line)}")
        of_event = counted.setdefault(row["event"], {})
        if row["group"] in of_event:
            raise InvalidOutput(f"perf counted {quote(row['event'])} twice in {quote(row['group'])}")
        of_event[row["group"]] = row["count"]
    counts = {}
    for name, event in events.items():
        of_groups = counted.get(event, {})
        numbers = [program_output.number(value) for value in of_groups.values() if not value.startswith("<")]
        if not numbers:
            raise InvalidOutput(f"perf counted no {event}")
        if len(of_groups) != (groups or max(len(counted.get(other, {})) for other in events.values())):
            raise InvalidOutput(f"perf counted {event} in {len(of_groups)} groups, and not in all")
        counts[name] = sum(numbers)
    return counts


def derived_values(counted: dict[str, float]) -> dict[str, float]:
    """Return values that are computed from counters, where all of these are there.

    They are loads from memory, the share of them that the rank's own node served (table 6), and stall cycles per work
    cycle.
    """
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
    """Return for each memory node the pages allocated so far by processes that ran on it, and by others."""
    nodes = []
    for file in sorted(sysfs.glob("devices/system/node/node[0-9]*/numastat")):
        fields = dict(line.split() for line in file.read_text().splitlines())
        nodes.append((int(fields["local_node"]), int(fields["other_node"])))
    return nodes


def local_share(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> float | None:
    """Return the share of the pages allocated between two readings that were on the allocating process's own node.

    Return None on one node, and if no pages were allocated.
    """
    if len(after) < 2 or len(before) != len(after):
        return None
    local = sum(b[0] - a[0] for a, b in zip(before, after, strict=True))
    other = sum(b[1] - a[1] for a, b in zip(before, after, strict=True))
    return local / (local + other) if local + other else None


def _nothing(events: dict, host: Topology) -> str:
    """Return why perf counts nothing on a host."""
    if not events:
        return "perf is not installed"
    if not host.get("root", True):
        setting = f"kernel.perf_event_paranoid is {host.get('perf_event_paranoid', 'not known')}"
        return f"perf may not count over all processors for this user ({setting}; root may, or everybody at 0)"
    return "perf counts nothing here"


INSTRUMENTS = (Events,)
