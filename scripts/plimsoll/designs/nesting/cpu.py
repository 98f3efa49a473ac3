"""Experiment 1: Sysbench in several instances, which begin at one moment."""

import math
import subprocess
import time
from statistics import mean

from plimsoll.designs.nesting.task import Task as Base
from plimsoll.host import run_files
from plimsoll.measuring import noise, strays
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import Node
from plimsoll.workloads import loop, program_output, sysbench
from plimsoll.workloads.base import InvalidOutput

# Seconds from starting the programs to the moment at which they begin: START, and one of the others for each program.
# Every program must be in its container by then, and engines admit them one after the other. An emulated processor
# takes several times as long.
START, EACH, EACH_EMULATED = 0.4, 0.25, 1.5
# Processor times are read this long before that moment (s): a busy processor is late, and reading takes a while.
BEFORE = 0.2
# Programs ran at once if they began within this share of what they took, or within this many seconds if that is more.
APART, LEAST_APART = 0.1, 0.05
# A clock may gain or lose at most this share of a program's time, or this many seconds if that is more, to be trusted.
DRIFT, LEAST_DRIFT = 0.01, 0.02
# Engines still work when their containers are up. Programs begin after a window of this length that is idle (s).
IDLE_WINDOW = 0.2


class Task(Base):
    """One instance of the program in each container, or the same number of instances on bare metal."""

    def measure(self) -> dict:
        nodes = self.services.start(self.specs()) if self.services else self.runtime.start(self.specs())
        idle = noise.wait_until_idle(
            self.attempt.machine, **{**self.attempt.plan["limits"]["idle"], "window_seconds": IDLE_WINDOW}
        )
        ahead = [node.ahead() for node in nodes]
        begin = time.monotonic() + START + (EACH_EMULATED if self.runtime.emulated else EACH) * len(nodes)
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
        return {**judged, "settled": idle}

    def _program(self, node: Node, number: int, begin: float) -> subprocess.Popen:
        """Start the loop of one instance, which runs the program once.

        The loop waits for the moment `begin` (s of the node's CLOCK_MONOTONIC).
        """
        folder = self.folder_of(str(number))
        program = node.of_image(self.sysbench.command(self.cell["parameters"]))
        counted = node.of_image(sysbench.switches_counted(str(folder / "switches")))
        looped = node.of_image(loop.command(folder, begin, self.cell["limit_seconds"], 1))
        with run_files.new_file(folder / "loop.err") as errors:
            return subprocess.Popen(node.inside([*looped, *counted, *program]), stdin=subprocess.DEVNULL, stderr=errors)

    def _instance(self, number: int, ahead: float) -> dict:
        """Return what one instance did, by this host's clock. The node's clock is `ahead` seconds ahead.

        Raise InvalidOutput, with the instance's number, if the program did not do what it should.
        """
        folder = self.attempt.folder / str(number)
        try:
            return {**iteration_times(folder, self.cell["limit_seconds"], ahead), **self._printed(folder)}
        except InvalidOutput as problem:
            raise InvalidOutput(f"instance {number + 1}: {problem}") from problem

    def _printed(self, folder) -> dict:
        values = self.sysbench.results(program_output.text_of(loop.output_of(folder, 1)), self.cell["parameters"])
        return {**values, "switches": sysbench.switches(program_output.text_of(folder / "switches"))}


def refuse_clocks(nodes: list[Node], ahead: list[float], seconds: float) -> None:
    """Raise InvalidOutput if a node's clock has drifted from this host's.

    `ahead` says how far each node's clock was ahead `seconds` ago. The limits are DRIFT and LEAST_DRIFT.
    """
    for node, before in zip(nodes, ahead, strict=True):
        if abs(gone := node.ahead() - before) > max(LEAST_DRIFT, DRIFT * seconds):
            raise InvalidOutput(f"the clock of {node.name} gained {gone:.3f} s in {seconds:.1f} s")


def iteration_times(folder, limit: float, ahead: float = 0.0) -> dict:
    """Return `begin` and `end` of the single iteration of a loop, in seconds of this host's clock.

    The node's clock is `ahead` seconds ahead of it. Raise InvalidOutput if the iteration did not end well: it is
    missing, took longer than `limit` seconds, failed, or left a process behind.
    """
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
    """Return a run's `values`, how far `apart` its instances began (s), and `each` instance's times after `begin`.

    The values are means over the instances: seconds that the program took, and context switches. Raise InvalidOutput if
    the instances did not run at once, or if a program printed more time than its process lasted.
    """
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
