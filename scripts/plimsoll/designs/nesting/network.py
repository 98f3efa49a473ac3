"""Experiments 4 and 5: Netperf between a client and a server.

Each end is on bare metal, in a container, in a nested container, or in a virtual machine. One run measures TCP_STREAM
and TCP_RR in each placement of client and server, in random order, always between the same two ends.
"""

import random
import subprocess
from itertools import product
from pathlib import Path

from plimsoll import runtimes
from plimsoll.designs.nesting import ends, processor_binding
from plimsoll.designs.nesting.factors import BARE, OPEN_VSWITCH, PLAIN, TWO, NestingCell, of_placement
from plimsoll.designs.nesting.task import Task as Base
from plimsoll.errors import Unavailable
from plimsoll.host import processes, run_files, topology
from plimsoll.measuring import lock, noise, strays
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.networks import host_networks
from plimsoll.runtimes.networks.switch_network import SwitchNetwork
from plimsoll.services import daemon
from plimsoll.services.containers import Services, all_counted
from plimsoll.workloads import netperf, program_output
from plimsoll.workloads.base import InvalidOutput

# A test that takes this much longer than its planned time hangs (s).
PATIENCE = 15.0
MICROSECONDS, MEGABITS_IN_GIGABIT, BYTES_IN_GIGABIT = 1e6, 1e3, 1.25e8
# At least this share of the exchanged bytes must have passed the switch. The rest may wait in buffers when a test ends.
SWITCHED = 0.5
SWITCHES = {OPEN_VSWITCH: host_networks.SWITCH, PLAIN: host_networks.PLAIN_BRIDGE}


class Task(Base):
    """A server, a client, and Netperf's tests between them."""

    instances = children = 1

    def __init__(self, *given):
        super().__init__(*given)
        server = runtimes.find(self.cell["server"])
        self.peers = Services(server, self.attempt.identity, self.attempt.folder) if server.services else None
        self.network = host_networks.way(self.cell["parameters"].get("second_host")) if self.cell["hosts"] == TWO else None

    def measure(self) -> dict:
        here = topology.open_vswitch()
        if (asked := self.cell["parameters"].get("switch", here)) != here:
            raise Unavailable(
                f"the plan has Open vSwitch in {asked}, and now it would be in {here}: delete the plan, "
                "and type the command again"
            )
        if self.network:
            self.network.set_up()
        idle = daemon.prepare(getattr(self.network, "far", None), self.attempt)
        with ends.between(self) as pair:
            tests = list(product(TESTS, self.cell["bindings"]))
            random.Random(self.attempt.identity).shuffle(tests)
            before, switch = ends.segments(pair), self._switch()
            passed = switch.passed() if switch else 0
            values = {name_of(test, placement): self._test(test, placement, pair) for test, placement in tests}
            counted = {name: number - before[name] for name, number in ends.segments(pair).items()}
            switched = {"switched_bytes": switch.passed() - passed} if switch else {}
            namespaces = ends.namespaces(self, pair)
        ends.refuse_other(namespaces, self.cell)
        if switch:
            refuse_left_out(switched["switched_bytes"], values, self.cell)
        return {"values": values, "namespaces": namespaces, "segments": counted, **switched, **idle}

    def _switch(self) -> SwitchNetwork | None:
        """Return the switch that all packets pass on their way to this host; None if there is no such switch.

        There is one if one end is on a switch, in a container or a virtual machine, and the other end is on bare metal.
        """
        on_it = [end for end in (self.cell["runtime"], self.cell["server"]) if end != BARE]
        return SWITCHES.get(self.cell["network"].partition("+")[0]) if len(on_it) == 1 else None

    def take_down(self) -> None:
        """Stop the nodes of both ends, and remove what belongs to them on this host.

        The group that both ends share is removed when all nodes have stopped. Networks made for the run go last.
        """
        for services in self._all():
            services.stop_all()
        for services in self._all():
            services.take_down()
        # Programs of an end on bare metal are in no container that would end them.
        lock.kill_run(self.attempt.identity)
        for network in host_networks.ALL:
            network.sweep()

    @property
    def counted(self) -> bool:
        """Whether the processor time of all containers of both ends is counted."""
        return all_counted(*self._all())

    def snapshot(self) -> noise.Snapshot:
        daemons = dict.fromkeys(name for services in self._all() for name in services.runtime.daemons)
        return self.attempt.snapshot(self._groups(), tuple(daemons))

    def _groups(self) -> list[Path]:
        """Return the cgroups of both ends' containers."""
        return list(dict.fromkeys(group for services in self._all() for group in services.groups()))

    def _all(self) -> list[Services]:
        """Return the containers of the client and those of the server, without an end that has none."""
        return [services for services in (self.services, self.peers) if services]

    def _test(self, test: str, placement: str, pair: ends.Pair) -> float:
        """Run one test in a placement, and return its value.

        Raise InvalidOutput if the test gave no value, or if client or server ran on other processors than the placement
        says.
        """
        parameters, binding = self.cell["parameters"], self.cell["bindings"][placement]
        words = processor_binding.bound_command(TESTS[test](pair.address, pair.port, parameters), pair, binding)
        program = pair.client.inside(pair.client.of_image(words))
        stem = self.folder_of(name_of(test, placement)) / "netperf"
        before, watch = self.snapshot(), processor_binding.watching(pair) if binding else None
        since = processes.now()
        outputs = [Path(f"{stem}.out"), Path(f"{stem}.err")]
        with run_files.new_file(outputs[0]) as out, run_files.new_file(outputs[1]) as err:
            process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        misplaced = processor_binding.problem(pair, binding, watch) if binding else None
        limit = parameters["seconds"] + PATIENCE
        try:
            hangs = not ended_within(process.pid, limit, outputs, self.attempt.watch)
        finally:
            kill(process)
        self.spans.append((before, self.snapshot()))
        where = f"{test} with {of_placement(placement, self.cell['hosts'])}"
        if hangs:
            raise InvalidOutput(f"{where} had not ended after {limit:g} s")
        if process.returncode:
            said = program_output.last_line(outputs[1], "it said nothing")
            raise InvalidOutput(f"{where} ended with {process.returncode}: {said}")
        if misplaced:
            raise InvalidOutput(f"{where}: {misplaced}")
        if left := strays.describe(self.attempt.identity, self._groups(), since):
            raise InvalidOutput(f"{where}: {strays.reason(left)}")
        try:
            return VALUES[test](program_output.text_of(outputs[0]), parameters)
        except InvalidOutput as problem:
            raise InvalidOutput(f"{where}: {problem}") from problem


def refuse_left_out(switched: int, values: dict[str, float], cell: NestingCell) -> None:
    """Raise InvalidOutput if far fewer bytes passed a switch than client and server exchanged.

    Packets then took another way.
    """
    exchanged = sum(bytes_of(name, value, cell["parameters"]) for name, value in values.items())
    if switched < SWITCHED * exchanged:
        raise InvalidOutput(f"only {switched / 2**20:.1f} MiB of {exchanged / 2**20:.1f} passed the switch")


def bytes_of(name: str, value: float, parameters: dict) -> float:
    """Return the number of bytes that a test exchanged, from its value.

    This includes what the sender had only handed to its kernel when the time was over.
    """
    if name.startswith("throughput"):
        return value * BYTES_IN_GIGABIT * parameters["seconds"]
    answers = MICROSECONDS * (parameters["burst"] + 1) / value * parameters["seconds"]
    return 2 * answers * 1024 * parameters["message_kilobytes"]


def name_of(test: str, placement: str) -> str:
    """Return the name of a test's value: `throughput` or `latency`, with the placement as a suffix if there is one."""
    return f"{test}_{placement}" if placement else test


def _stream(address: str, port: int, parameters: dict) -> list[str]:
    return netperf.client("TCP_STREAM", address, port, parameters["seconds"], "-P", "0", "-f", "m")


def _rr(address: str, port: int, parameters: dict) -> list[str]:
    """Return the command of a request-response test in burst mode, with each message sent at once (TCP_NODELAY).

    Its heading says how large the burst was.
    """
    buffer, message = (f"{parameters[key]}K" for key in ("buffer_kilobytes", "message_kilobytes"))
    sized = ["-r", f"{message},{message}", "-s", buffer, "-S", buffer]
    options = ["-P", "1", "--", "-b", str(parameters["burst"]), *sized, "-D"]
    return netperf.client("TCP_RR", address, port, parameters["seconds"], *options)


def throughput(text: str, parameters: dict) -> float:
    """Return the throughput of a stream in Gbit/s, from Netperf's output."""
    return netperf.parse(text, netperf.STREAM, parameters["seconds"])["result"] / MEGABITS_IN_GIGABIT


def latency(text: str, parameters: dict) -> float:
    """Return the time from a request to its response in microseconds, from Netperf's output.

    One request more than the burst is under way. By Little's law, each takes that many times the time between two
    responses. Raise InvalidOutput if the output shows another burst or another size of messages than the parameters.
    """
    found = netperf.parse(text, netperf.HEADING + netperf.MESSAGES, parameters["seconds"])
    if found["burst"] != parameters["burst"]:
        raise InvalidOutput(f"Netperf used bursts of {found['burst']:.0f}, not of {parameters['burst']}")
    if {found["request"], found["response"]} != {size := 1024 * parameters["message_kilobytes"]}:
        raise InvalidOutput(f"Netperf did not use messages of {size} bytes")
    return MICROSECONDS * (parameters["burst"] + 1) / found["result"]


TESTS = {"throughput": _stream, "latency": _rr}
VALUES = {"throughput": throughput, "latency": latency}
