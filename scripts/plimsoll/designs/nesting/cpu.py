"""Experiment 1: sysbench in a number of instances, which begin at one moment."""

import math
import subprocess
import time
from statistics import mean

from plimsoll.designs.nesting.task import Task as Base
from plimsoll.environments.base import Node
from plimsoll.host import shared
from plimsoll.measuring import noise, strays
from plimsoll.measuring.process import ended_within, kill
from plimsoll.workloads import loop, printed, sysbench
from plimsoll.workloads.base import InvalidOutput

# From the order to start the programs to the common moment: each has to be in its container by then, and engines let them in
# one after the other. An emulated processor takes several times as long to get there.
START, EACH, EACH_EMULATED = 0.4, 0.25, 1.5
# How long before that the processors' times are read: a busy processor comes late to it, and reading takes a while.
BEFORE = 0.2
# Programs that began further apart than this share of what they took, or this (s) if that is more, did not run at once.
APART, LEAST_APART = 0.1, 0.05
# A clock that gains or loses more than this share of a program's time, or this (s) if that is more, does not tell it.
DRIFT, LEAST_DRIFT = 0.01, 0.02
# Engines have work left when their containers are up: as long as that lasts for a window of this (s), nothing begins.
SETTLED = 0.2


class Task(Base):
    """One instance of the program in each container, or that many on bare metal."""

    def measure(self) -> dict:
        nodes = self.services.start(self.specs()) if self.services else self.environment.start(self.specs())
        settled = noise.wait_until_idle(
            self.attempt.machine, **{**self.attempt.plan["limits"]["idle"], "window_seconds": SETTLED}
        )
        ahead = [node.ahead() for node in nodes]
        begin = time.monotonic() + START + (EACH_EMULATED if self.environment.emulated else EACH) * len(nodes)
        programs = [self._program(node, number, begin + ahead[number]) for number, node in enumerate(nodes)]
        time.sleep(max(0.0, begin - BEFORE - time.monotonic()))
        before = self.snapshot()
        late = time.monotonic() - begin
        end = begin + self.cell["limit_seconds"] + 5
        outputs = [path for number in range(len(nodes)) for path in loop.printed_by(self.attempt.folder / str(number), 1)]
        try:
            for program in programs:
                ended_within(program.pid, max(0.1, end - time.monotonic()), outputs, self.attempt.watch)
        finally:
            for program in programs:
                kill(program)
        self.spans.append((before, self.snapshot()))
        if late > 0:
            raise InvalidOutput(f"this host came {late:.3f} s late to the moment at which {len(nodes)} programs begin")
        if self.services and any(program.returncode for program in programs):
            self.services.intact()
        refuse_clocks(nodes, ahead, time.monotonic() - begin)
        judged = judge([self._instance(number, ahead[number]) for number in range(len(nodes))], begin)
        return {**judged, "settled": settled}

    def _program(self, node: Node, number: int, begin: float) -> subprocess.Popen:
        """Start one program's loop, which waits for the moment to begin."""
        folder = self.folder_of(str(number))
        program = node.of_image(self.sysbench.command(self.cell["parameters"]))
        counted = node.of_image(sysbench.switches_counted(str(folder / "switches")))
        looped = node.of_image(loop.command(folder, begin, self.cell["limit_seconds"], 1))
        with shared.new_file(folder / "loop.err") as errors:
            return subprocess.Popen(node.inside([*looped, *counted, *program]), stdin=subprocess.DEVNULL, stderr=errors)

    def _instance(self, number: int, ahead: float) -> dict:
        """What one instance did, whose clock is `ahead` of this host's; InvalidOutput if it did not do it."""
        folder = self.attempt.folder / str(number)
        try:
            return {**ended(folder, self.cell["limit_seconds"], ahead), **self._printed(folder)}
        except InvalidOutput as problem:
            raise InvalidOutput(f"instance {number + 1}: {problem}") from problem

    def _printed(self, folder) -> dict:
        values = self.sysbench.results(printed.text_of(loop.output_of(folder, 1)), self.cell["parameters"])
        return {**values, "switches": sysbench.switches(printed.text_of(folder / "switches"))}


def refuse_clocks(nodes: list[Node], ahead: list[float], seconds: float) -> None:
    """InvalidOutput if the clock of a node, which was `ahead` of this host's, has gone faster or slower for these seconds."""
    for node, before in zip(nodes, ahead, strict=True):
        if abs(gone := node.ahead() - before) > max(LEAST_DRIFT, DRIFT * seconds):
            raise InvalidOutput(f"the clock of {node.name} gained {gone:.3f} s in {seconds:.1f} s")


def ended(folder, limit: float, ahead: float = 0.0) -> dict:
    """When the one iteration of a loop began and ended, by this host's clock, which the node's is `ahead` of; InvalidOutput if
    it did not end well."""
    iterations = loop.read(loop.log_of(folder))
    if len(iterations) != 1:
        raise InvalidOutput("it did not end" if not iterations else f"its log has {len(iterations)} iterations, and not one")
    (iteration,) = iterations
    if iteration["late"]:
        raise InvalidOutput(f"it took longer than {limit:g} s")
    if iteration["exit_code"]:
        raise InvalidOutput(f"it ended with {iteration['exit_code']} (signal {iteration['signal']})")
    if iteration["left"]:
        raise InvalidOutput(strays.reason(iteration["left"]))
    return {"begin": iteration["begin"] - ahead, "end": iteration["end"] - ahead}


def judge(instances: list[dict], begin: float) -> dict:
    """Values of a run from its instances': means of the seconds that the program took and of its context switches.
    InvalidOutput if they did not run at once, or if a program took longer than its process lasted."""
    apart = max(one["begin"] for one in instances) - min(one["begin"] for one in instances)
    seconds = mean(one["seconds"] for one in instances)
    if apart > max(LEAST_APART, APART * seconds):
        raise InvalidOutput(f"the instances began {apart:.2f} s apart, and took {seconds:.2f} s")
    wrong = [one for one in instances if not 0 < one["seconds"] <= one["end"] - one["begin"]]
    if wrong or not math.isfinite(seconds):
        raise InvalidOutput(f"it printed {wrong[0]['seconds']} s")
    each = [{**one, "begin": round(one["begin"] - begin, 6), "end": round(one["end"] - begin, 6)} for one in instances]
    values = {"execution_time": seconds, "context_switches": mean(one["switches"] for one in instances)}
    return {"values": values, "apart": round(apart, 6), "each": each}
