"""Attempt at a run: a benchmark runs over and over in a node that stays up, for a warm-up and a time window.

Each iteration is a new process in the node, whether that is bare metal, a container or a virtual machine. An iteration that
begins within the window counts, and the run waits for its end. If the last iteration of the warm-up outlasts the window, one
more iteration is made, which counts. Iterations of the warm-up are recorded and do not count.
"""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

from plimsoll import runtimes, workloads
from plimsoll.designs.overhead.factors import VOLUME, OverheadCell
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, cpulist, disk, run_files, topology
from plimsoll.interchange import ABSENT
from plimsoll.measuring import lock, noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import LABEL, Node, Runtime, Scratch, Spec
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import host_networks, second_host
from plimsoll.runtimes.networks.second_host import SshMachine
from plimsoll.services import daemon, iterations, limits, snapshots
from plimsoll.services.attempts import Run, ServiceAttempts
from plimsoll.services.containers import Services, all_counted
from plimsoll.workloads import loop, program_output
from plimsoll.workloads.base import InvalidOutput, Microservice

# Folder in every node where benchmarks of the disk write.
TEMPORARY = "/var/tmp"
# Room for a file system as a multiple of its files.
FILE_SYSTEM = 1.25
# Limit for starting an iteration and returning its output (s).
AROUND = 20.0
# Prints what a program may use, and how much memory is available to it.
ASKED = limits.ASKED + "; grep MemAvailable /proc/meminfo 2>/dev/null; true"


class Attempts(ServiceAttempts):
    """Attempts at runs of a study of overhead."""

    # A run on the disk has limited memory, so a process that the kernel kills may have exceeded the run's own limit.
    LIMITS_MEMORY = True

    def others(self, cell: OverheadCell) -> list:
        """Return the second host, if that is another machine."""
        return second_host.away(cell["parameters"].get("second_host"))

    def start(self, attempt: Attempt) -> "_Run":
        """Return the run of an attempt: one node, in which a benchmark runs over and over."""
        return _Run(attempt)


class _Run(Run):
    """An attempt in progress."""

    def __init__(self, attempt: Attempt):
        self.attempt, self.image, self.folder = attempt, attempt.image, attempt.folder
        self.cell: OverheadCell = attempt.cell
        self.runtime: Runtime = runtimes.find(self.cell["runtime"])
        self.service = workloads.find(self.cell["benchmark"], Microservice)
        contained = self.runtime.services
        self.services = Services(self.runtime, attempt.identity, self.folder) if contained else None
        self.engine = runtimes.find("docker")
        # Cgroup of programs on bare metal with limited memory.
        self.own_group = f"{LABEL}/{attempt.identity}"
        self.on_disk = self.cell["storage"] != ABSENT
        self.network = (
            host_networks.way(self.cell["parameters"].get("second_host"), shaped=False) if self.service.roles else None
        )
        # Address and port of the server, for the client.
        self.hosts: dict[str, str] = {}
        self.made: list[dict] = []
        self.spans: noise.Spans = []

    def measure(self) -> dict:
        """Make all iterations and return their part of the record.

        InvalidOutput if what was measured does not count, Unavailable if it could not be measured.
        """
        with contextlib.ExitStack() as stack:
            told = self._serve(stack) if self.network else {}
            # Started before the container: the engine's processes that start programs in it start with it.
            contained = snapshots.snapshots(self.attempt, self.services) if self._in_container else None
            snapshot = stack.enter_context(contained) if contained else self._snapshot
            node = self._node()
            seen = self._seen(node)
            before = snapshot()
            self._window(node)
            self.spans.append((before, snapshot()))
        folders = [self.folder / str(number) for number in range(1, len(self.made) + 1)]
        given = self.cell["parameters"], self.cell["iteration_limit_seconds"]
        judged = iterations.read(self.service, *given, folders)
        if len(judged) < len(self.made):
            limit = self.cell["iteration_limit_seconds"] + AROUND
            said = program_output.last_line(folders[-1] / "loop.err", f"did not end within {limit:g} s")
            raise InvalidOutput(f"iteration {len(self.made)} {said}")
        device = {"device": disk.device_of(self.engine.storage())} if self.on_disk else {}
        return {"iterations": counting(judged, self.made), "seen": seen, **device, **told}

    @property
    def counted(self) -> bool:
        """Whether the processor time of the node is counted."""
        return all_counted(self.services)

    def problem(self, measured: dict) -> str | None:
        """Return why a run does not count: an iteration failed, or none counts. None if the run counts."""
        return too_few(measured["iterations"])

    def take_down(self) -> None:
        """Stop the node, and remove what was made for it."""
        if self.services:
            self.services.take_down()
        else:
            # An iteration that hangs, or whose loop was killed, would run on.
            lock.kill_run(self.attempt.identity)
        cgroup.remove(self.own_group)
        if self.on_disk and not self._in_container:
            self.engine.remove_folder(self.attempt.identity)
        if self.network:
            self.network.sweep()

    def _serve(self, stack: contextlib.ExitStack) -> dict:
        """Start the server at the other end of the network, to listen until `stack` closes.

        Return how idle the other machine is, in the record's key `settled`; empty if there is no other machine.
        """
        self.network.set_up()
        far = self.network.far
        told = daemon.prepare(far, self.attempt)
        # The machine may be reached at an address that is not its own, so the server listens on all addresses there.
        address = "" if isinstance(far, SshMachine) else far.address
        role = self.service.at(address, port := daemon.free_port(far))
        spec = Spec(self.attempt.identity, "server", self.image, self.folder)
        stack.enter_context(daemon.listening(far, spec, role, self.folder / "server.log"))
        self.hosts = {"address": far.address, "port": str(port)}
        return told

    @property
    def _in_container(self) -> bool:
        """Whether the node is a container, which has a disk of its own."""
        return self.services is not None and not self.runtime.own_kernels

    def _node(self) -> Node:
        """Start and return the node in which the benchmark runs."""
        if self.on_disk:
            self._refuse_full()
        if self.on_disk or self._in_container:
            self.attempt.watch.room.watch({disk.CONTAINERS: self.engine.storage()})
        if not self.services:
            return self._bare()
        if self.on_disk and self._in_container:
            self.services.limit(self._limits())
        more = {"volumes": (TEMPORARY,)} if self.cell["storage"] == VOLUME else {}
        if self.runtime.own_kernels:
            more = {"memory_bytes": self.cell["memory_bytes"], "processors": self.cell["processors"], **self._scratch()}
        (node,) = self.services.start([self.services.spec("c0", self.image, **more)])
        return node

    def _limits(self) -> dict:
        """Return the limits of a node: all processors and memory nodes of the host, and the cell's memory."""
        return {**topology.everything_here(), "memory_bytes": self.cell["memory_bytes"]}

    def _bare(self) -> Node:
        """Return this host as a node, with the files of the image.

        For benchmarks of the disk, its memory is limited to what a container has, and its files lie where containers' files
        lie. Unavailable if its memory cannot be limited.
        """
        groups, temporary = [], self.attempt.temporary / "temporary"
        if self.on_disk:
            temporary = self.engine.make_folder(self.attempt.identity)
            try:
                groups = cgroup.limited(self.own_group, self._limits(), cgroup.mounts())
            except OSError as problem:
                raise Unavailable(f"the memory of bare metal could not be limited: {problem}") from problem
        new = self.attempt.temporary / "root"
        for folder in (new, temporary):
            folder.mkdir(exist_ok=True)
        return ChangedRoot(Spec(self.attempt.identity, "bare", self.image, self.folder), new, temporary, groups)

    def _scratch(self) -> dict:
        """Return a virtual machine's disk for benchmarks of the disk: a file where containers' files lie. Empty for others."""
        if not self.on_disk:
            return {}
        file = self.engine.make_folder(self.attempt.identity) / "disk"
        size = int(FILE_SYSTEM * self.service.disk_bytes(self.cell["parameters"])) + 64 * 2**20
        with open(file, "wb") as made:
            os.posix_fallocate(made.fileno(), 0, size)
        output(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(file)])
        return {"scratch": Scratch(file, TEMPORARY)}

    def _refuse_full(self) -> None:
        """Raise Outage if what the benchmark writes does not fit where containers' files lie."""
        needed = FILE_SYSTEM * self.service.disk_bytes(self.cell["parameters"]) + disk.SPARE_BYTES
        disk.refuse_less(self.engine.storage(), needed)

    def _seen(self, node: Node) -> dict:
        """Return what a program may use, read inside the node. Unavailable if that is not what the cell says."""
        told = output(node.inside(["sh", "-c", ASKED]), AROUND)
        seen = limits.parse(told)
        available = re.search("^MemAvailable: +([0-9]+) kB$", told, re.MULTILINE)
        seen["available_bytes"] = 1024 * int(available[1]) if available else 0
        if (number := len(cpulist.parse(seen["cpus"]))) != self.cell["processors"]:
            raise Unavailable(f"a program may use {number} processors, and should have {self.cell['processors']}")
        if self.on_disk and not self.runtime.own_kernels:
            seen["memory_bytes"] = self._limit_of(node)
            limits.refuse_others(seen, self._limits())
        return seen

    def _limit_of(self, node: Node) -> int:
        """Return the memory limit (bytes) of the cgroup of the node's programs, read on this host.

        Unavailable if programs of the node are not in that cgroup.
        """
        mounted, name = cgroup.mounts(), (self.services.group if self.services else self.own_group).strip("/")
        within = [str(path) for path in node.groups] if self.services else [output(node.inside(["cat", "/proc/self/cgroup"]))]
        if not any(name in where for where in within):
            raise Unavailable("a program is not in the group that limits its memory")
        return cgroup.memory_limit(name, mounted)

    def _window(self, node: Node) -> None:
        """Run iterations until the window ends or an iteration fails."""
        begun = time.monotonic()
        counted_from = begun + self.cell["warm_up_seconds"]
        end = counted_from + self.cell["window_seconds"]
        # At least one iteration must count, even if the last one of the warm-up outlasted the window.
        while (now := time.monotonic()) < end or not any(made["counts"] for made in self.made):
            self.made.append({"moment": time.time(), "counts": now >= counted_from and len(self.made) > 0})
            if not self._iteration(node, len(self.made)):
                break
            time.sleep(max(0.0, min(now + self.cell["interval_seconds"], end) - time.monotonic()))

    def _iteration(self, node: Node, number: int) -> bool:
        """Run an iteration in a folder of its own. Return whether another one may follow."""
        folder = run_files.new_folder(self.folder / str(number))
        limit = self.cell["iteration_limit_seconds"]
        program = self.service.command(self.cell["parameters"], 0, self.hosts)
        words = node.inside([*loop.command(folder, 0.0, limit, 1), *program])
        outputs = [folder / "loop.out", folder / "loop.err", *loop.printed_by(folder, 1)]
        with run_files.new_file(outputs[0]) as out, run_files.new_file(outputs[1]) as err:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            ended = ended_within(process.pid, limit + AROUND, outputs, self.attempt.watch)
        finally:
            code = kill(process)
        if not ended:
            return False
        if code and self.services:
            self.services.intact()
        judged = iterations.read(self.service, self.cell["parameters"], limit, [folder])
        return bool(judged) and judged[0]["reason"] is None

    def _snapshot(self) -> noise.Snapshot:
        groups = self.services.groups() if self.services else self._bare_groups()
        return self.attempt.snapshot(groups, self.runtime.daemons)

    def _bare_groups(self) -> list[Path]:
        """Return the cgroup that counts the time of programs on bare metal with limited memory, if their time is only there."""
        root = cgroup.accounting_folder(cgroup.mounts()) if self.attempt.account else None
        group = root / self.own_group if root else None
        return [group] if group and group.is_dir() else []


def counting(iterations: list[dict], made: list[dict]) -> list[dict]:
    """Return the iterations, each with its `moment` (s since 1970), whether it `counts`, and `why_not` if it does not.

    `made` has, for each iteration that was started, the moment of its start and whether the window had begun.
    """
    told = []
    for iteration, start in zip(iterations, made, strict=False):
        why_not = iteration["reason"] or (None if start["counts"] else "it was of the warm-up")
        told.append({**iteration, "moment": round(start["moment"], 3), "counts": why_not is None, "why_not": why_not})
    return told


def too_few(iterations: list[dict]) -> str | None:
    """Return why a run does not count: an iteration failed, or none counts. None if the run counts."""
    if failed := [one for one in iterations if one["reason"]]:
        return f"iteration {failed[0]['iteration']} does not count: {failed[0]['reason']}"
    return None if any(one["counts"] for one in iterations) else "no iteration of the window ended"
