"""Make one attempt at a run of an interference study: a microservice or a pair that runs over and over.

The protocol of a pair has three steps:

- Both members begin at the same moment, and run over and over until the window ends.
- Each member then goes on until it has ended the iteration that it was in. So each iteration has its partner to its
  end, and slow iterations are not cut off more often than fast ones. An iteration that begins after the window does not
  count.
- Everything is killed.
"""

import subprocess
import time
from pathlib import Path

from plimsoll import runtimes, workloads
from plimsoll.designs.interference import judge, partner_overlap, placement
from plimsoll.designs.interference.factors import InterferenceCell
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import disk, run_files
from plimsoll.images import supplied_programs
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.measuring.process import ended_within, kill, read_output, refuse_endless
from plimsoll.runtimes.base import Node, Place, Runtime
from plimsoll.services import iterations, limits
from plimsoll.services.attempts import Run, ServiceAttempts
from plimsoll.services.containers import Services
from plimsoll.workloads import loop
from plimsoll.workloads.base import SUPPLIED

# Seconds from starting a loop to its first iteration: the loop must be inside its container by then.
START = 0.4
# Processor times are read this long before the first iteration (s). What the loops' start uses after that is counted as
# a neighbour's.
BEFORE = 0.02
# How often the members are looked at during the window, and after it (s).
LOOK_BEFORE = 0.5
LOOK = 0.05
# A container that takes longer to report its limits hangs (s).
ANSWER_SECONDS = 20.0


class Attempts(ServiceAttempts):
    """Attempts at runs of an interference study."""

    # Containers have memory limits: a program that the kernel kills may have exceeded its container's limit.
    LIMITS_MEMORY = True

    def start(self, attempt: Attempt) -> "_Run":
        """Return the run of an attempt. Raise Outage if the containers' disk is too full."""
        runtime = runtimes.find(attempt.cell["runtime"])
        storage = _room_on_disk(attempt.cell, runtime)
        attempt.watch.room.watch({disk.CONTAINERS: storage})
        return _Run(attempt, runtime, storage)


def _room_on_disk(cell: InterferenceCell, runtime: Runtime) -> Path:
    """Return the folder where the containers' files lie. Raise Outage if the members' files would not fit there."""
    storage = runtime.storage()
    needed = sum(workloads.find(name).disk_bytes(cell["parameters"][name]) for name in cell["members"])
    if (free := disk.free_bytes(storage)) < needed + disk.SPARE_BYTES:
        raise Outage(
            f"{storage} has {free / 2**30:.1f} GiB free, and the microservices fill {needed / 2**30:.1f}",
            "free some, or make the profile's memory_megabytes smaller",
        )
    return storage


class _Run(Run):
    """An attempt in progress: its containers, its loops, and what was seen so far."""

    def __init__(self, attempt: Attempt, runtime: Runtime, storage: Path):
        self.attempt, self.cell, self.folder = attempt, attempt.cell, attempt.folder
        self.members = [workloads.find(name) for name in self.cell["members"]]
        self.daemons = runtime.daemons
        self.services = Services(runtime, attempt.identity, attempt.folder)
        self.device = disk.device_of(storage)
        # Host name of each role's node, by the role's name.
        self.hosts: dict[str, str] = {}
        self.seen: list[dict] = []
        # In words: the programs that ran on other processors than planned.
        self.misplaced: str | None = None
        self.end: float | None = None
        self.stopped: list[float | None] = [None, None]
        self.spans: noise.Spans = []

    def measure(self) -> dict:
        """Run the microservices. Return what containers could use, and what the device read and wrote.

        Raise Outage if a container that was started is gone.
        """
        if self.cell["grouped"]:
            self.services.limit(self.cell["host_limits"])
        self._serve()
        before = self._device_bytes()
        if self.cell["window_seconds"] is None:
            self._alone()
        else:
            self._pair()
        used = {key: number - before[key] for key, number in self._device_bytes().items()}
        device = {"name": self.device, **used}
        return {"limits_seen": self.seen, "block_io_weight_works": self._weight_works(), "device": device}

    @property
    def counted(self) -> bool:
        """Whether the processor time of all containers is counted."""
        return self.services.counted

    def take_down(self) -> None:
        """Remove the containers. Their loops write until then."""
        self.services.take_down()

    def read(self) -> dict:
        """Return each member's iterations, with their values and whether they count, and the checksums and kernels used."""
        made = [self._iterations(place) for place in range(len(self.members))]
        partner_overlap.mark(made, self.end, self.stopped)
        members = [
            {"benchmark": name, "place": place, "iterations": made[place]} for place, name in enumerate(self.cell["members"])
        ]
        return {"iterations": members, **super().read(), "kernels": self._kernels()}

    def problem(self, measured: dict) -> str | None:
        """Return why a run does not count: where programs ran, what counts, or what reached the disk. None if it counts."""
        made = [member["iterations"] for member in measured["iterations"]]
        problem = self.misplaced or judge.too_few(self.cell, made)
        return problem or judge.not_on_disk(self.members, self.cell, made, measured["device"])

    def _snapshot(self) -> noise.Snapshot:
        return self.attempt.snapshot(self.services.groups(), self.daemons)

    def _serve(self) -> None:
        """Start the servers' nodes, which the members need besides their own containers."""
        for role in dict.fromkeys(role for member in self.members for role in member.roles):
            self.hosts[role.name] = self.services.fill(role, self._image(role.stage), **self._limits(None)).name

    def _image(self, stage: str) -> dict:
        return self.attempt.image["stages"][stage]

    def _containers(self, suffix: str = "") -> list[Node]:
        """Start the cell's containers and return their nodes. `suffix` is appended to their names.

        Raise Unavailable if a container does not start, or has other limits than planned.
        """
        wanted = []
        for number, container in enumerate(self.cell["containers"]):
            members = [self.members[place] for place in container["members"]]
            image = self._image(members[0].stage) if len(members) == 1 else self.attempt.image
            spec = self.services.spec(
                f"c{number}{suffix}",
                image,
                **self._limits(container["limits"]),
                block_io_weight=self.cell["block_io_weight"],
                mounts=self._mounts(members),
            )
            wanted.append(spec)
        nodes = self.services.start(wanted)
        for node, container in zip(nodes, self.cell["containers"], strict=True):
            self._verify(node, container["limits"] or self.cell["host_limits"])
        return nodes

    def _limits(self, own: dict | None) -> dict:
        """Return the keyword arguments of a Spec for a container's limits.

        A container without limits of its `own` gets those of all containers, unless their cgroup sets these.
        """
        limits = own or (None if self.cell["grouped"] else self.cell["host_limits"])
        if not limits:
            return {}
        return {"place": Place(limits["cpus"], limits["nodes"]), "memory_bytes": limits["memory_bytes"]}

    def _mounts(self, members: list) -> tuple[tuple[str, str], ...]:
        """Return (folder, place in the container) for each program that the user has supplied for one of the members."""
        given = {member.name: self.cell["parameters"][member.name].get("sha256") for member in members if member.supplied}
        return tuple(
            (str(supplied_programs.folder(checksum)), f"{SUPPLIED}/{name}") for name, checksum in given.items() if checksum
        )

    def _verify(self, node: Node, wanted: dict) -> None:
        process = subprocess.Popen(
            node.inside(["sh", "-c", limits.ASKED]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        told = read_output(process, ANSWER_SECONDS)
        if told is None:
            raise Unavailable(f"a container did not answer within {ANSWER_SECONDS:g} s")
        seen = limits.parse(told[0])
        self.seen.append({"container": node.name.rpartition("-")[2], **seen})
        limits.refuse_others(seen, wanted)

    def _loop(self, node: Node, place: int, output: Path, begin: float, count: int) -> subprocess.Popen:
        """Start a member's loop in its container: `count` iterations (0: without end), beginning at the moment `begin`.

        `begin` is in seconds of CLOCK_MONOTONIC. Log and output go to the folder `output`.
        """
        name = self.cell["members"][place]
        run_files.new_folder(output)
        program = self.members[place].command(self.cell["parameters"][name], place, self.hosts)
        if binding := self.cell["bindings"][place]:
            program = self.members[place].bound(program, *binding)
        words = [*loop.command(output, begin, self.cell["iteration_limit_seconds"], count), *program]
        with run_files.new_file(output / "loop.err") as errors:
            return subprocess.Popen(node.inside(words), stdin=subprocess.DEVNULL, stderr=errors)

    def _alone(self) -> None:
        """Run the iterations of a microservice alone, each in a fresh container."""
        limit = self.cell["iteration_limit_seconds"] + START + 5
        for number in range(1, self.cell["iterations"] + 1):
            (node,) = self._containers(f"-{number}")
            begin = time.monotonic() + START
            alone = self._loop(node, 0, self.folder / f"0-{number}", begin, 1)
            before = self._snapshot_at(begin)
            self._look_at_placement()
            try:
                ended_within(alone.pid, limit, loop.printed_by(self.folder / f"0-{number}", 1), self.attempt.watch)
            finally:
                kill(alone)
            self.spans.append((before, self._snapshot()))
            if alone.returncode:
                self.services.intact()
            self.services.stop([node])

    def _pair(self) -> None:
        """Run both members until the window ends, and then until each has ended the iteration that it was in."""
        nodes = self._containers()
        where = [node for node, container in zip(nodes, self.cell["containers"], strict=True) for _ in container["members"]]
        begin = time.monotonic() + START
        loops = [self._loop(node, place, self.folder / str(place), begin, 0) for place, node in enumerate(where)]
        before = self._snapshot_at(begin)
        self._look_at_placement()
        self.end = begin + self.cell["window_seconds"]
        last = self.end + self.cell["iteration_limit_seconds"]
        try:
            # A loop without end that has ended has died: the other member then runs alone.
            while time.monotonic() < last and all(each.poll() is None for each in loops):
                self.attempt.watch.sleep(min(LOOK_BEFORE, max(LOOK, self.end - time.monotonic())))
                printed = [path for place in range(len(loops)) for path in loop.printed_now(self.folder / str(place))]
                refuse_endless(printed, self.attempt.watch)
                if all(self._beyond(place) for place in range(len(loops))):
                    break
            stopped = time.monotonic()
            self.stopped = [stopped if each.poll() is None else None for each in loops]
            self.spans.append((before, self._snapshot()))
        finally:
            for each in loops:
                kill(each)
        if None in self.stopped[: len(loops)]:
            self.services.intact()

    def _look_at_placement(self) -> None:
        """Note in `misplaced` if clients or servers are not bound to the processors that the cell names."""
        if needed := placement.wanted(self.members, self.cell["bindings"]):
            self.misplaced = self.misplaced or placement.problem(self.services.groups(), needed)

    def _snapshot_at(self, begin: float) -> noise.Snapshot:
        time.sleep(max(0.0, begin - BEFORE - time.monotonic()))
        return self._snapshot()

    def _beyond(self, place: int) -> bool:
        """Return whether a member has ended an iteration after the end of the window."""
        if time.monotonic() < self.end:
            return False
        iterations = loop.read(loop.log_of(self.folder / str(place)))
        return bool(iterations) and iterations[-1]["end"] >= self.end

    def _device_bytes(self) -> dict[str, int]:
        return disk.device_bytes(Path("/proc/diskstats").read_text(), self.device) if self.device else {}

    def _iterations(self, place: int) -> list[dict]:
        member = self.members[place]
        given = self.cell["parameters"][member.name], self.cell["iteration_limit_seconds"]
        return iterations.read(member, *given, self._folders(place))

    def _kernels(self) -> dict[str, str]:
        return {
            library: kernels
            for place, member in enumerate(self.members)
            for library, kernels in iterations.kernels(member, self._folders(place)).items()
        }

    def _folders(self, place: int) -> list[Path]:
        """Return the folders with the output of a member's loops, in order.

        A pair has one loop per member. Cases 1 and 1a have one loop per iteration.
        """
        if self.cell["window_seconds"]:
            return [self.folder / str(place)]
        return [self.folder / f"0-{number}" for number in range(1, self.cell["iterations"] + 1)]

    def _weight_works(self) -> bool | None:
        """Return whether every container sees the block I/O weight that the cell plans; None if it plans none."""
        wanted = self.cell["block_io_weight"]
        return None if wanted is None else all(seen["block_io_weight"] == wanted for seen in self.seen)
