"""A Hadoop cluster in containers: a master (NameNode, ResourceManager, history server) and workers (DataNode,
NodeManager).

Either all nodes are on one network of this host, or each worker is on another machine. In the second case all nodes use
their machines' own networks.
"""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import variables
from plimsoll.interchange import Image
from plimsoll.measuring.process import ended_within, kill
from plimsoll.measuring.watch import Watch
from plimsoll.runtimes.base import Node
from plimsoll.runtimes.commands import all_of
from plimsoll.runtimes.docker_elsewhere import DockerElsewhere
from plimsoll.runtimes.networks import second_host
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.services.containers import Services
from plimsoll.services.hadoop import configuration, job_answers, rest
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

PROGRAM = "/opt/plimsoll/bin/hadoop.sh"
# Where a node has its configuration and its logs. These paths are plain because Hadoop and Java split paths at blanks,
# commas and colons. Java also opens no file below a folder whose name its locale cannot write, not even through a link.
CONFIGURATION, LOGS = "/cluster/conf", "/cluster/logs"
LINKED = f'export LC_ALL=C.UTF-8; ln -s "$0" {LOGS} && exec "$@"'
JOB = "CleanPrices"
# Time limits: for a cluster to be ready, for a client to submit a job, and for a history to appear (s). What takes
# longer hangs.
READY_SECONDS, SUBMIT_SECONDS, HISTORY_SECONDS = 120.0, 60.0, 30.0
LOOK_SECONDS = 0.1
# Interval between looks whether a container has ended (s).
ENDED_SECONDS = 1.0
RESOURCES, HISTORY = 8088, 19888
JMX = "/jmx?qry=Hadoop:service=NameNode,name="
# States of an application that has ended.
ENDED = ("FINISHED", "FAILED", "KILLED")


class Cluster:
    """A cluster of `workers` workers in containers of a run's `services`. Configuration and logs lie in `folder`.

    With `engines` each worker runs on another one of these engines.
    """

    def __init__(
        self,
        services: Services,
        image: Image,
        folder: Path,
        workers: int,
        node_megabytes: int,
        engines: Sequence[DockerElsewhere] = (),
    ):
        self.services, self.image, self.folder, self.engines = services, image, folder, engines
        self.node_megabytes = node_megabytes
        self.names = ["master", *(f"worker{number}" for number in range(1, workers + 1))]
        self.nodes: list[Node] = []
        # Address of each node by its host name. On a network of this host they are known only when the nodes run.
        self.addresses: dict[str, str] = {}

    @property
    def master(self) -> Node:
        """The master's node."""
        return self.nodes[0]

    @property
    def _configuration(self) -> Path:
        return self.folder / "conf"

    def start(self) -> None:
        """Start the containers, and wait until all daemons say that they are ready. Raise Unavailable if one does not start."""
        configuration.write(self._configuration, self.services.name("master"), self.node_megabytes)
        if self.engines:
            self._start_on_machines()
        else:
            self.nodes = self.services.start([self._spec(name) for name in self.names])
            said = all_of([node.inside(["hostname", "-i"]) for node in self.nodes])
            self.addresses = {node.name: text.split()[0] for node, text in zip(self.nodes, said, strict=True)}
        for what, ready in (("HDFS", self._stores), ("YARN", self._schedules), ("the history server", self._remembers)):
            self._wait(what, ready)

    def _start_on_machines(self) -> None:
        """Start the master here and each worker on a machine of its own. Host names are mapped to the machines' addresses."""
        there = [second_host.address_of(engine.host) for engine in self.engines]
        here = {second_host.address_here(address) for address in there}
        if len(here) > 1:
            raise Unavailable(f"the workers' machines reach this one at different addresses ({', '.join(sorted(here))})")
        self.addresses = dict(zip(map(self.services.name, self.names), [*here, *there], strict=True))
        more = {"known": self.addresses, "network": HostNetwork()}
        master, *workers = [self._spec(name, **more) for name in self.names]
        self.nodes = self.services.start([master])
        for engine, spec in zip(self.engines, workers, strict=True):
            self.nodes += engine.start([spec._replace(network=None, group=None)])

    def take_down(self) -> None:
        """Remove all nodes, on this host and on other machines. Raise Unavailable if one could not be removed."""
        problems = []
        try:
            for engine, node in zip(self.engines, self.nodes[1:], strict=False):
                try:
                    engine.stop([node])
                except Unavailable as problem:
                    problems.append(f"{node.name} may be left on {engine.host} ({problem})")
        finally:
            try:
                self.services.take_down()
            except Unavailable as problem:
                problems.append(str(problem))
        if problems:
            raise Unavailable("; ".join(problems))

    def _spec(self, name: str, **more):
        logs = self.folder / name
        variables.home_of(logs).mkdir(parents=True)
        role = "master" if name == "master" else "worker"
        more |= {"folder": logs, "mounts": ((str(self._configuration), CONFIGURATION),)}
        command = ("sh", "-c", LINKED, str(logs), PROGRAM, role, CONFIGURATION, LOGS)
        return self.services.spec(name, self.image, command=command, volumes=(configuration.DATA,), **more)

    def ask(self, port: int, path: str) -> dict:
        """Return the JSON document that a daemon of the master gives for a path. Raise rest.NoAnswer if it gives none."""
        return rest.get(self.addresses[self.master.name], port, path)

    def _stores(self) -> bool:
        (info,) = self.ask(rest.NAMENODE, f"{JMX}NameNodeInfo")["beans"]
        (state,) = self.ask(rest.NAMENODE, f"{JMX}FSNamesystemState")["beans"]
        return info["Safemode"] == "" and state["NumLiveDataNodes"] == len(self.nodes) - 1

    def _schedules(self) -> bool:
        metrics = self.ask(RESOURCES, "/ws/v1/cluster/metrics")["clusterMetrics"]
        return metrics["activeNodes"] == len(self.nodes) - 1 and metrics["unhealthyNodes"] == 0

    def _remembers(self) -> bool:
        return bool(self.ask(HISTORY, "/ws/v1/history/info"))

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        """Wait until `ready()` is true.

        Raise Unavailable if that takes too long or a container ends; its last words are in the message.
        """
        end, last, looked = time.monotonic() + READY_SECONDS, "a part of it is missing", time.monotonic()
        while time.monotonic() < end:
            try:
                if ready():
                    return
            except (rest.NoAnswer, LookupError, TypeError, ValueError) as problem:
                last = f"its answer has not what it should: {problem!r}" if isinstance(problem, LookupError) else str(problem)
            if time.monotonic() - looked > ENDED_SECONDS:
                looked = time.monotonic()
                if ended := self.ended():
                    raise Unavailable(f"{what} did not get ready: {self._said(ended[0])}")
            time.sleep(LOOK_SECONDS)
        raise Unavailable(f"{what} was not ready within {READY_SECONDS:g} s ({last})")

    def ended(self) -> list[str]:
        """Return the names of the cluster's containers that no longer run."""
        listed = ["ps", "--all", "--filter", f"name={self.services.name('')}", "--format", "{{.Names}} {{.State}}"]
        said = all_of([[*engine.command, *listed] for engine in (self.services.runtime, *self.engines)])
        states = dict(line.split() for text in said for line in text.splitlines())
        return [node.name for node in self.nodes if states.get(node.name) != "running"]

    def _said(self, name: str) -> str:
        """Return the last words of a container that has ended."""
        homes = [self.services.runtime, *(self.engines or [self.services.runtime] * len(self.nodes))]
        said = {node.name: home for node, home in zip(self.nodes, homes, strict=False)}[name].last_words(name)
        return said or f"{name} ended and printed nothing"

    def put(self, file: Path, name: str) -> str:
        """Write a file into HDFS, and return the SHA-256 of the content that was sent."""
        return rest.put(self.addresses, self.master.name, file, name)

    def checksum(self, name: str) -> str:
        """Return the SHA-256 of a file in HDFS."""
        return rest.checksum(self.addresses, self.master.name, name)

    def submit(self, settings: Mapping[str, str], source: str, target: str, watch: Watch) -> str:
        """Submit the job with these settings, and return its identifier.

        Raise Unavailable, with the client's last words, if that fails. Raise it too if a disk that `watch` looks at is
        about to be full.
        """
        given = [f"-D{key}={value}" for key, value in settings.items()]
        words = [PROGRAM, "run", CONFIGURATION, JOB, *given, source, target]
        log = self.folder / f"client-{Path(target).name}.log"
        with open(log, "wb") as err:
            process = subprocess.Popen(
                self.master.inside(words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                errors="replace",
            )
        try:
            ended_within(process.pid, SUBMIT_SECONDS, [log], watch)
        finally:
            kill(process)
        with process.stdout as told_by_client:
            submitted = job_answers.SUBMITTED.fullmatch(told_by_client.read())
        if process.returncode or not submitted:
            said = program_output.last_line(log, f"its client ended with {process.returncode}")
            raise Unavailable(f"the job was not submitted: {said}")
        return submitted[1]

    def wait(self, job: str, limit: float, watch: Watch) -> None:
        """Wait until a job has ended successfully.

        Raise InvalidOutput if the job fails, if the master ends, or if the job takes longer than `limit` seconds. A job
        that takes too long goes on until the cluster is removed. Raise Unavailable if a disk that `watch` looks at is
        about to be full.
        """
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                seen = job_answers.app(self.ask(RESOURCES, f"/ws/v1/cluster/apps/{job.replace('job_', 'application_')}"))
            except rest.NoAnswer as problem:
                if self.master.name in self.ended():
                    raise InvalidOutput(f"the master ended during the job: {self._said(self.master.name)}") from problem
                seen = None
            if seen and seen["state"] in ENDED:
                if seen["finalStatus"] == "SUCCEEDED":
                    return
                reason = " ".join(seen.get("diagnostics", "").split())
                raise InvalidOutput(f"the job ended as {seen['finalStatus']}: {reason[:300] or 'Hadoop says no more'}")
            watch.look()
            watch.sleep(LOOK_SECONDS)
        raise InvalidOutput(f"the job had not ended after {limit:g} s")

    def history(self, job: str) -> dict:
        """Return what the history server says about a job: `job`, `counters` (of maps and of reduces, by name) and
        `conf` (value by key).

        Raise InvalidOutput if the server does not know the job in time.
        """
        end = time.monotonic() + HISTORY_SECONDS
        where = f"/ws/v1/history/mapreduce/jobs/{job}"
        while True:
            try:
                found = [self.ask(HISTORY, f"{where}{part}") for part in ("", "/counters", "/conf")]
                break
            except rest.NoAnswer as problem:
                if time.monotonic() > end:
                    raise InvalidOutput(f"the history server does not know the job: {problem}") from problem
            time.sleep(LOOK_SECONDS)
        of_job, counted, settings = found
        return {
            "job": job_answers.job(of_job),
            "counters": job_answers.counters(counted),
            "conf": job_answers.configuration(settings),
        }
