"""Attempt at a run: start a cluster, give it the data, run one job on each size of the data, and remove the cluster.

Every run has a cluster of its own, so that no job finds caches or files of another run. The order of the sizes is fixed, with
the small one first.
"""

import contextlib
import os
import time

from plimsoll import runtimes
from plimsoll.designs.tuning import judge
from plimsoll.designs.tuning.factors import TuningCell
from plimsoll.errors import Unavailable
from plimsoll.host import disk
from plimsoll.images import store
from plimsoll.measuring import noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.runtimes import docker_elsewhere
from plimsoll.runtimes.docker_elsewhere import DockerElsewhere
from plimsoll.runtimes.networks.second_host import Away, SshMachine
from plimsoll.services import daemon, snapshots
from plimsoll.services.attempts import Run, ServiceAttempts
from plimsoll.services.containers import Services
from plimsoll.services.hadoop import prices
from plimsoll.services.hadoop.cluster import Cluster
from plimsoll.workloads.base import InvalidOutput

# Disk space that HDFS, the tasks and the output need besides the data, as a multiple of the data.
TIMES_THE_DATA = 8

# Largest difference between the clocks of this host and of the master while a job runs (s).
CLOCKS = 1.0


class Attempts(ServiceAttempts):
    """Attempts at runs of a study of tuning."""

    def others(self, cell: TuningCell) -> list:
        """Return the other machines that run nodes of the cluster."""
        return [Away(host["name"]) for host in cell["parameters"].get("hosts", [])]

    def start(self, attempt: Attempt) -> "_Run":
        """Return the run of an attempt: a cluster of its own, and the jobs in it."""
        return _Run(attempt)


class _Run(Run):
    """An attempt in progress."""

    def __init__(self, attempt: Attempt):
        self.attempt = attempt
        self.cell: TuningCell = attempt.cell
        self.runtime = runtimes.find(self.cell["runtime"])
        self.services = Services(self.runtime, attempt.identity, attempt.folder)
        node_megabytes = self.cell["parameters"]["node_megabytes"]
        self.engines = [DockerElsewhere(host["name"]) for host in self.cell["parameters"].get("hosts", [])]
        known = attempt.image, attempt.folder, self.cell["workers"], node_megabytes
        self.cluster = Cluster(self.services, *known, self.engines)
        self.jobs: list[dict] = []
        self.lost: list[str] = []
        self.device: str | None = None
        self.idle: list[dict] = []
        self.held = contextlib.ExitStack()
        self.spans: noise.Spans = []

    def measure(self) -> dict:
        """Run the jobs, and return the record's part about them.

        InvalidOutput if their results do not count, Unavailable if they could not be run, Outage if the disk has too little
        room.
        """
        self._refuse_full()
        seed = self.cell["parameters"]["seed"]
        data = {name: self._data(seed, size) for name, size in self.cell["sizes"].items()}
        self.device = disk.device_of(self.runtime.storage())
        for engine in self.engines:
            self._prepare(engine)
        self.attempt.watch.room.watch({disk.CONTAINERS: self.runtime.storage()})
        with snapshots.snapshots(self.attempt, self.services) as snapshot:
            before = snapshot()
            self.cluster.start()
            self.attempt.watch.stops.of(self.services.groups(), self.attempt.account)
            self.attempt.notes["seconds"]["start"] = round(time.time() - self.attempt.notes["started"], 4)
            # In a fixed order: a job on the small data finds the same cluster, whether or not a job on large data follows.
            for name, made in data.items():
                if self.cluster.put(made.file, f"/data/{name}") != made.sha256:
                    raise Unavailable(f"{made.file} was changed after it was made: delete its folder, and it is made again")
                self.jobs.append(self._job(name, made))
            self.spans.append((before, snapshot()))
        return self.found()

    @property
    def counted(self) -> bool:
        """Whether the processor time of all containers is counted."""
        return self.services.counted

    def problem(self, measured: dict) -> str | None:
        """Return why a run does not count although its jobs ended well; None if it counts."""
        return judge.problem(self.jobs, self.lost)

    def _prepare(self, engine: DockerElsewhere) -> None:
        """Prepare another machine: reserve it for this run, remove leftovers, load the image, and wait until it is idle."""
        self.held.enter_context(docker_elsewhere.held(engine.host))
        engine.sweep()
        engine.hold(self.attempt.image, store.folder_of(self.attempt.image) / store.ARCHIVE)
        self.idle.append(daemon.idle_there(SshMachine(engine.host), self.attempt.plan["limits"]["idle"]))

    def take_down(self) -> None:
        """Remove the cluster, and then release the other machines."""
        with self.held:
            self.cluster.take_down()

    def _data(self, seed: int, size: int) -> prices.Prices:
        """Return the data of a job, which are made if they do not exist yet.

        New data are first written to the disk. InvalidOutput if the machine is not idle in time after that.
        """
        there = prices.there(self.attempt.image, seed, size)
        made = prices.make(self.attempt.image, seed, size)
        if there:
            return made
        os.sync()
        seen = noise.wait_until_idle(self.attempt.machine, **self.attempt.plan["limits"]["idle"])
        if not seen["idle"]:
            raise InvalidOutput(f"after data were made {noise.not_idle(seen)}")
        return made

    def _job(self, size: str, made: prices.Prices) -> dict:
        begun = time.monotonic()
        job = self.cluster.submit(self.cell["settings"], f"/data/{size}", f"/made/{size}", self.attempt.watch)
        try:
            self.cluster.wait(job, self.cell["job_limit_seconds"], self.attempt.watch)
        finally:
            self.lost = [name for name in self.cluster.ended() if name != self.cluster.master.name]
        lasted = time.monotonic() - begun
        history = self.cluster.history(job)
        told = judge.job(size, history, made, self.cell["settings"], self.attempt.plan["strategies"])
        if told["seconds"] > lasted + CLOCKS:
            raise InvalidOutput(f"the job took {told['seconds']:g} s by its history, and {lasted:.1f} s by this host's clock")
        if self.cluster.checksum(f"/made/{size}/part-r-00000") != made.expected:
            raise InvalidOutput(f"what the job made of the {size} data is not what sort makes of them")
        return told

    def found(self) -> dict:
        """Return the record's part about the jobs so far."""
        told = {"jobs": self.jobs, "lost": self.lost, "device": self.device}
        return {**told, "settled": self.idle} if self.engines else told

    def _refuse_full(self) -> None:
        """Raise Outage if the disk has too little room for what the cluster writes."""
        needed = TIMES_THE_DATA * sum(self.cell["sizes"].values()) + disk.SPARE_BYTES
        disk.refuse_less(self.runtime.storage(), needed)
