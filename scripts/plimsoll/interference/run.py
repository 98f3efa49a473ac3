"""One attempt at a run of an interference study: microservices over and over, alone or in a pair.

The protocol of a pair: both members begin at the same moment and run over and over. No iteration that begins after the window
counts, and the members go on until each has ended the one that it was at when the window ended: an iteration has company to
its end, and slow ones are not cut off more often than fast ones. Then everything is killed.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from plimsoll import cgroup, lock, microservices, noise, programs, runtimes
from plimsoll.designs.base import Attempt
from plimsoll.errors import Unavailable
from plimsoll.interference import company, judge, limits
from plimsoll.microservices.base import FOLDER
from plimsoll.processes import ended_within
from plimsoll.runtimes.base import LABEL, Runtime, Service

# From the order to start a loop to its first iteration: it has to be in the container by then.
START = 0.4
# How often the members are looked at during the window, and after it.
LOOK_BEFORE = 1.0
LOOK = 0.05
# Free disk that must be left beside what the microservices fill.
SPARE_BYTES = 2**30
LISTENING = 20.0


def attempt(attempt: Attempt) -> dict:
    """Check the disk, start, run, stop, and judge."""
    runtime = runtimes.find(attempt.cell["runtime"])
    try:
        storage = _room_on_disk(attempt.cell, runtime)
        return _Run(attempt, runtime, storage).measure()
    except Unavailable as problem:
        return {"status": "failed", "reason": str(problem)}


def _room_on_disk(cell: dict, runtime: Runtime) -> Path:
    """Where the containers' files lie; Unavailable if the members' would not fit there."""
    storage = runtime.storage()
    needed = sum(microservices.find(name).disk_bytes(cell["parameters"][name]) for name in cell["members"])
    free = os.statvfs(storage).f_bavail * os.statvfs(storage).f_frsize
    if free < needed + SPARE_BYTES:
        raise Unavailable(
            f"{storage} has {free / 2**30:.1f} GiB free, and the microservices fill {needed / 2**30:.1f}: free some, or make "
            "the profile's memory_megabytes smaller"
        )
    return storage


class _Run:
    """An attempt in progress."""

    def __init__(self, attempt: Attempt, runtime: Runtime, storage: Path):
        self.attempt, self.runtime, self.cell, self.folder = attempt, runtime, attempt.cell, attempt.folder
        self.services = [microservices.find(name) for name in self.cell["members"]]
        self.parent = runtime.parent(attempt.identity)
        self.device = _device(storage)
        self.groups: list[Path] = []
        self.seen: list[dict] = []
        self.names: list[str] = []
        self.end: float | None = None
        self.stopped: list[float | None] = [None, None]
        # Snapshots before and after each time in which something is measured.
        self.spans: list[tuple[noise.Snapshot, noise.Snapshot]] = []
        self.seconds = attempt.notes["seconds"]

    def measure(self) -> dict:
        """The record's part of the attempt."""
        begun = time.monotonic()
        try:
            cgroup.make_limited(self.parent, self.cell["host_limits"], cgroup.mounts())
        except OSError as problem:
            raise Unavailable(f"the group of all containers could not be limited: {problem}") from problem
        try:
            self._serve()
            device = self._device_bytes()
            if self.cell["window_seconds"] is None:
                self._alone()
            else:
                self._pair()
            device_after = self._device_bytes()
        finally:
            self._take_down()
        self.seconds["run"] = round(time.monotonic() - begun, 4)
        during = noise.neighbours(*noise.joined(self.spans), self.attempt.machine.processors, **self.attempt.limits)
        self.attempt.notes["noise"]["during"] = during
        used = {key: device_after[key] - device[key] for key in device}
        return self._judge(during, used)

    def _snapshot(self) -> noise.Snapshot:
        # Groups of containers that are gone no longer tell their time: in case 1 the parent's is taken, which keeps it.
        root = cgroup.accounting_folder(cgroup.mounts())
        group = root / self.parent.strip("/") if root else None
        groups = [group] if group and group.is_dir() else self.groups
        return noise.snapshot(self.attempt.machine, self.attempt.account, groups, self.runtime.daemons)

    def _serve(self) -> None:
        """Start the server that a member needs, and wait until it listens."""
        servers = dict.fromkeys(service.server for service in self.services if service.server)
        for command in servers:
            stage = next(service.stage for service in self.services if service.server == command)
            name = self._name("server")
            self._start([Service(name, self._image(stage), command)])
            port = f":{int(command[-1]):04X} "
            listens = ["sh", "-c", f"until grep -q '{port}' /proc/net/tcp; do sleep 0.02; done"]
            process = subprocess.Popen(self.runtime.inside(name, listens), stdin=subprocess.DEVNULL)
            if not ended_within(process.pid, LISTENING):
                process.kill()
                process.wait()
                raise Unavailable(f"the server '{' '.join(command)}' did not listen within {LISTENING:g} s")
            process.wait()

    def _name(self, what: str) -> str:
        return f"{LABEL}-{self.attempt.identity}-{what}"

    def _image(self, stage: str) -> str:
        return self.attempt.image["stages"][stage]["tag"]

    def _start(self, services: list[Service]) -> None:
        self.names += [service.name for service in services]
        self.groups += self.runtime.start(services, self.parent, self.folder)

    def _containers(self, suffix: str = "") -> list[str]:
        """Start the cell's containers; their names. Unavailable if one has other limits than it should."""
        started = []
        for number, container in enumerate(self.cell["containers"]):
            members = [self.services[place] for place in container["members"]]
            image = self._image(members[0].stage) if len(members) == 1 else self.attempt.image["tag"]
            sleep = ("sleep", "infinity")
            weight = self.cell["block_io_weight"]
            name = self._name(f"c{number}{suffix}")
            started.append(Service(name, image, sleep, container["limits"], weight, self._mounts(members)))
        self._start(started)
        for service in started:
            self._verify(service)
        return [service.name for service in started]

    def _mounts(self, members: list) -> tuple[tuple[str, str], ...]:
        """Folders of the programs that the user has supplied for members of a container."""
        given = {service.name: self.cell["parameters"][service.name].get("sha256") for service in members if service.supplied}
        return tuple((str(programs.folder(found)), f"{programs.INSIDE}/{name}") for name, found in given.items() if found)

    def _verify(self, service: Service) -> None:
        command = self.runtime.inside(service.name, ["sh", "-c", f"{{ {limits.SEEN}; }} 2>/dev/null"])
        seen = limits.seen(subprocess.run(command, capture_output=True, text=True).stdout)
        self.seen.append({"container": service.name.rpartition("-")[2], **seen})
        limits.refuse_others(seen, service.limits or self.cell["host_limits"])

    def _loop(self, container: str, place: int, output: Path, begin: float, count: int) -> subprocess.Popen:
        """Start a member's loop in its container."""
        name = self.cell["members"][place]
        output.mkdir()
        program = self.services[place].command(self.cell["parameters"][name], place, self._name("server"))
        limit = f"{self.cell['iteration_limit_seconds']:g}"
        loop = [f"{FOLDER}/iterate", str(output / "log.jsonl"), str(output), f"{begin:.6f}", limit, str(count), *program]
        with open(output / "loop.err", "wb") as errors:
            return subprocess.Popen(self.runtime.inside(container, loop), stdin=subprocess.DEVNULL, stderr=errors)

    def _alone(self) -> None:
        """So many iterations, each in a fresh container."""
        limit = self.cell["iteration_limit_seconds"] + START + 5
        for number in range(1, self.cell["iterations"] + 1):
            (container,) = self._containers(f"-{number}")
            begin = time.monotonic() + START
            loop = self._loop(container, 0, self.folder / f"0-{number}", begin, 1)
            before = self._snapshot_at(begin)
            if not ended_within(loop.pid, limit):
                loop.kill()
            loop.wait()
            self.spans.append((before, self._snapshot()))
            self.runtime.stop([container])
            self.names.remove(container)

    def _pair(self) -> None:
        """Both members over and over for the window, and to the end of what they were at then."""
        names = self._containers()
        where = [name for name, container in zip(names, self.cell["containers"], strict=True) for _ in container["members"]]
        begin = time.monotonic() + START
        loops = [self._loop(name, place, self.folder / str(place), begin, 0) for place, name in enumerate(where)]
        before = self._snapshot_at(begin)
        self.end = begin + self.cell["window_seconds"]
        last = self.end + self.cell["iteration_limit_seconds"]
        # A loop that ends by itself has died, and the other has no more company.
        while time.monotonic() < last and all(loop.poll() is None for loop in loops):
            time.sleep(min(LOOK_BEFORE, max(LOOK, self.end - time.monotonic())))
            if all(self._beyond(place) for place in range(len(loops))):
                break
        stopped = time.monotonic()
        self.stopped = [stopped if loop.poll() is None else None for loop in loops]
        self.spans.append((before, self._snapshot()))
        for loop in loops:
            loop.kill()
            loop.wait()

    def _snapshot_at(self, begin: float) -> noise.Snapshot:
        time.sleep(max(0.0, begin - 0.02 - time.monotonic()))
        return self._snapshot()

    def _beyond(self, place: int) -> bool:
        """Whether a member has ended an iteration after the window."""
        if time.monotonic() < self.end:
            return False
        iterations = company.read(self.folder / str(place) / "log.jsonl")
        return bool(iterations) and iterations[-1]["end"] >= self.end

    def _take_down(self) -> None:
        begun = time.monotonic()
        try:
            if self.names:
                self.runtime.stop(self.names)
            cgroup.remove(self.parent.strip("/"))
        except Unavailable as problem:
            print(f"plimsoll: {problem}; the next run removes what is left.", file=sys.stderr, flush=True)
            lock.sweep()
        self.seconds["remove"] = round(time.monotonic() - begun, 4)

    def _device_bytes(self) -> dict[str, int]:
        return device_bytes(Path("/proc/diskstats").read_text(), self.device) if self.device else {}

    def _judge(self, during: dict, used: dict) -> dict:
        """Status of the run, and each member's iterations with their values and whether they count."""
        members = [judge.iterations(service, self.cell, self._folders(place)) for place, service in enumerate(self.services)]
        company.mark(members, self.end, self.stopped)
        found = {
            "limits_seen": self.seen,
            "block_io_weight_works": self._weight_works(),
            "device": {"name": self.device, **used},
            "iterations": [
                {"benchmark": name, "place": place, "iterations": iterations}
                for place, (name, iterations) in enumerate(zip(self.cell["members"], members, strict=True))
            ],
            "bits": self.attempt.image["bits"],
        }
        too_few = judge.too_few(self.cell, members)
        if problem := too_few or judge.not_on_disk(self.services, self.cell, members, found["device"]):
            return {**found, "status": "invalid", "reason": problem}
        if during["disturbed"]:
            return {**found, **noise.disturbed(during)}
        return {**found, "status": "valid", "reason": None}

    def _folders(self, place: int) -> list[Path]:
        """Where the output of a member's loops lies, in order: a pair has one loop a member, case 1 one an iteration."""
        if self.cell["window_seconds"]:
            return [self.folder / str(place)]
        return [self.folder / f"0-{number}" for number in range(1, self.cell["iterations"] + 1)]

    def _weight_works(self) -> bool | None:
        """Whether the weight of block I/O that was asked for is there, seen from inside; None if none was asked for."""
        wanted = self.cell["block_io_weight"]
        return None if wanted is None else all(seen["block_io_weight"] == wanted for seen in self.seen)


def _device(storage: Path) -> str | None:
    """Name of the block device that a folder is on; None if that is no block device."""
    number = os.stat(storage).st_dev
    path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return path.resolve().name if path.exists() else None


def device_bytes(diskstats: str, device: str) -> dict[str, int]:
    """Bytes read from and written to a device since boot, from /proc/diskstats (sectors of 512 bytes)."""
    for line in diskstats.splitlines():
        fields = line.split()
        if fields[2] == device:
            return {"read_bytes": 512 * int(fields[5]), "written_bytes": 512 * int(fields[9])}
    return {}
