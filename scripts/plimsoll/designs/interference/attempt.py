"""One attempt at a run of an interference study: microservices over and over, alone or in a pair.

The protocol of a pair: both members begin at the same moment and run over and over. No iteration that begins after the window
counts, and the members go on until each has ended the one that it was at when the window ended: an iteration has company to
its end, and slow ones are not cut off more often than fast ones. Then everything is killed.
"""

import subprocess
import time
from pathlib import Path

from plimsoll import environments, workloads
from plimsoll.designs.interference import company, judge, placement
from plimsoll.designs.interference.factors import InterferenceCell
from plimsoll.environments.base import Environment, Node, Place
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import disk, shared
from plimsoll.images import supplied
from plimsoll.measuring import lock, noise, status
from plimsoll.measuring.attempt import Attempt
from plimsoll.measuring.process import ended_within, kill, refuse_endless, said
from plimsoll.services import iterations, limits
from plimsoll.services.kept import Services
from plimsoll.workloads import loop
from plimsoll.workloads.base import SUPPLIED, InvalidOutput

# Containers have limits: a program that the kernel kills may have gone beyond that of its container.
LIMITS_MEMORY = True
LAUNCHES = False
# From the order to start a loop to its first iteration: it has to be in the container by then.
START = 0.4
# How long before that the processors' times are read; what the loops' start still uses after it is taken for a neighbour's.
BEFORE = 0.02
# How often the members are looked at during the window, and after it.
LOOK_BEFORE = 0.5
LOOK = 0.05
# A container that takes longer to say what it sees hangs.
ANSWER_SECONDS = 20.0


def others(cell) -> list:
    """Nothing."""
    return []


def attempt(attempt: Attempt) -> dict:
    """Check the disk, start, run, stop, and judge."""
    environment = environments.find(attempt.cell["runtime"])
    try:
        storage = _room_on_disk(attempt.cell, environment)
        attempt.watch.room.watch({disk.CONTAINERS: storage})
        return _Run(attempt, environment, storage).measure()
    except InvalidOutput as problem:
        return {"status": status.INVALID, "reason": str(problem)}
    except Unavailable as problem:
        return {"status": status.FAILED, "reason": str(problem)}


def _room_on_disk(cell: InterferenceCell, environment: Environment) -> Path:
    """Where the containers' files lie; Outage if the members' would not fit there."""
    storage = environment.storage()
    needed = sum(workloads.find(name).disk_bytes(cell["parameters"][name]) for name in cell["members"])
    if (free := disk.free_bytes(storage)) < needed + disk.SPARE_BYTES:
        raise Outage(
            f"{storage} has {free / 2**30:.1f} GiB free, and the microservices fill {needed / 2**30:.1f}",
            "free some, or make the profile's memory_megabytes smaller",
        )
    return storage


class _Run:
    """An attempt in progress."""

    def __init__(self, attempt: Attempt, environment: Environment, storage: Path):
        self.attempt, self.cell, self.folder = attempt, attempt.cell, attempt.folder
        self.members = [workloads.find(name) for name in self.cell["members"]]
        self.daemons = environment.daemons
        self.services = Services(environment, attempt.identity, attempt.folder)
        self.device = disk.device_of(storage)
        # Host names of the nodes of the members' roles.
        self.hosts: dict[str, str] = {}
        self.seen: list[dict] = []
        # What ran elsewhere than it should have, in words.
        self.misplaced: str | None = None
        self.end: float | None = None
        self.stopped: list[float | None] = [None, None]
        self.spans: noise.Spans = []
        self.seconds = attempt.notes["seconds"]

    def measure(self) -> dict:
        """The record's part of the attempt."""
        begun = time.monotonic()
        if self.cell["grouped"]:
            self.services.limit(self.cell["host_limits"])
        try:
            self._serve()
            device = self._device_bytes()
            if self.cell["window_seconds"] is None:
                self._alone()
            else:
                self._pair()
            device_after = self._device_bytes()
        finally:
            self.seconds["run"] = round(time.monotonic() - begun, 4)
            self.seconds["remove"] = lock.take_down(self.services.take_down, environments.known().values())
        apart = self.services.counted
        during = self.attempt.beside(self.spans, apart=apart)
        self.attempt.notes["noise"]["during"] = during
        used = {key: device_after[key] - device[key] for key in device}
        return self._judge(during, used)

    def _snapshot(self) -> noise.Snapshot:
        return self.attempt.snapshot(self.services.groups(), self.daemons)

    def _serve(self) -> None:
        """Start the nodes that the members need beside their own."""
        for role in dict.fromkeys(role for member in self.members for role in member.roles):
            self.hosts[role.name] = self.services.fill(role, self._image(role.stage), **self._limits(None)).name

    def _image(self, stage: str) -> dict:
        return self.attempt.image["stages"][stage]

    def _containers(self, suffix: str = "") -> list[Node]:
        """Start the cell's containers. Unavailable if one has other limits than it should."""
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
        """A Spec's part of a container's `own` limits. Without any it has those of all containers, unless their group does."""
        limits = own or (None if self.cell["grouped"] else self.cell["host_limits"])
        if not limits:
            return {}
        return {"place": Place(limits["cpus"], limits["nodes"]), "memory_bytes": limits["memory_bytes"]}

    def _mounts(self, members: list) -> tuple[tuple[str, str], ...]:
        """Folders of the programs that the user has supplied for members of a container."""
        given = {member.name: self.cell["parameters"][member.name].get("sha256") for member in members if member.supplied}
        return tuple((str(supplied.folder(checksum)), f"{SUPPLIED}/{name}") for name, checksum in given.items() if checksum)

    def _verify(self, node: Node, wanted: dict) -> None:
        process = subprocess.Popen(
            node.inside(["sh", "-c", limits.ASKED]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        told = said(process, ANSWER_SECONDS)
        if told is None:
            raise Unavailable(f"a container did not answer within {ANSWER_SECONDS:g} s")
        seen = limits.seen(told[0])
        self.seen.append({"container": node.name.rpartition("-")[2], **seen})
        limits.refuse_others(seen, wanted)

    def _loop(self, node: Node, place: int, output: Path, begin: float, count: int) -> subprocess.Popen:
        """Start a member's loop in its container."""
        name = self.cell["members"][place]
        shared.new_folder(output)
        program = self.members[place].command(self.cell["parameters"][name], place, self.hosts)
        if binding := self.cell["bindings"][place]:
            program = self.members[place].bound(program, *binding)
        words = [*loop.command(output, begin, self.cell["iteration_limit_seconds"], count), *program]
        with shared.new_file(output / "loop.err") as errors:
            return subprocess.Popen(node.inside(words), stdin=subprocess.DEVNULL, stderr=errors)

    def _alone(self) -> None:
        """Run the iterations of the baseline, each in a fresh container."""
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
        """Run both members over and over until the window ends, and then until each has ended the iteration that it was at."""
        nodes = self._containers()
        where = [node for node, container in zip(nodes, self.cell["containers"], strict=True) for _ in container["members"]]
        begin = time.monotonic() + START
        loops = [self._loop(node, place, self.folder / str(place), begin, 0) for place, node in enumerate(where)]
        before = self._snapshot_at(begin)
        self._look_at_placement()
        self.end = begin + self.cell["window_seconds"]
        last = self.end + self.cell["iteration_limit_seconds"]
        try:
            # A loop that ends by itself has died, and the other has no more company.
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
        """Note if clients or servers are not bound to the processors that the cell names."""
        if needed := placement.wanted(self.members, self.cell["bindings"]):
            self.misplaced = self.misplaced or placement.problem(self.services.groups(), needed)

    def _snapshot_at(self, begin: float) -> noise.Snapshot:
        time.sleep(max(0.0, begin - BEFORE - time.monotonic()))
        return self._snapshot()

    def _beyond(self, place: int) -> bool:
        """Whether a member has ended an iteration after the window."""
        if time.monotonic() < self.end:
            return False
        iterations = loop.read(loop.log_of(self.folder / str(place)))
        return bool(iterations) and iterations[-1]["end"] >= self.end

    def _device_bytes(self) -> dict[str, int]:
        return disk.device_bytes(Path("/proc/diskstats").read_text(), self.device) if self.device else {}

    def _judge(self, during: dict, used: dict) -> dict:
        """Status of the run, and each member's iterations with their values and whether they count."""
        members = [self._iterations(place) for place in range(len(self.members))]
        company.mark(members, self.end, self.stopped)
        measured = {
            "limits_seen": self.seen,
            "block_io_weight_works": self._weight_works(),
            "device": {"name": self.device, **used},
            "iterations": [
                {"benchmark": name, "place": place, "iterations": iterations}
                for place, (name, iterations) in enumerate(zip(self.cell["members"], members, strict=True))
            ],
            "bits": self.attempt.image["bits"],
            "kernels": self._kernels(),
        }
        problem = self.misplaced or judge.too_few(self.cell, members)
        problem = problem or judge.not_on_disk(self.members, self.cell, members, measured["device"])
        if problem:
            return {**measured, "status": status.INVALID, "reason": problem}
        if during["disturbed"]:
            return {**measured, **noise.disturbed(during)}
        return {**measured, "status": status.VALID, "reason": None}

    def _iterations(self, place: int) -> list[dict]:
        member = self.members[place]
        given = self.cell["parameters"][member.name], self.cell["iteration_limit_seconds"]
        return iterations.judged(member, *given, self._folders(place))

    def _kernels(self) -> dict[str, str]:
        return {
            library: kernels
            for place, member in enumerate(self.members)
            for library, kernels in iterations.kernels(member, self._folders(place)).items()
        }

    def _folders(self, place: int) -> list[Path]:
        """Where the output of a member's loops lies, in order: a pair has one loop per member, case 1 one loop per
        iteration."""
        if self.cell["window_seconds"]:
            return [self.folder / str(place)]
        return [self.folder / f"0-{number}" for number in range(1, self.cell["iterations"] + 1)]

    def _weight_works(self) -> bool | None:
        """Whether the weight of block I/O that was asked for is there, seen from inside; None if none was asked for."""
        wanted = self.cell["block_io_weight"]
        return None if wanted is None else all(seen["block_io_weight"] == wanted for seen in self.seen)
