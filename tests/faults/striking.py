"""Making of a fault: wait for its victim, and strike it."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults import means, processes
from tests.faults.apart import OWN_ENGINE, Machine
from tests.faults.drawing import CHANGED, CUT, STOPPED, Fault
from tests.faults.processes import VICTIMS, Process

# Each look at all processes takes some 10 ms, and disturbs the measurement.
LOOK_SECONDS = 0.1
# Everything is struck several times, so that processes are hit too that were just being started.
BLOWS = 5
OF_CONTAINER = re.compile(r"/docker/([0-9a-f]{64})")


def strike(
    fault: Fault,
    machine: Machine,
    project: Path,
    workflow: subprocess.Popen,
    undisturbed: float,
    before: Callable[[], None],
) -> str:
    """Wait until the victim is there, call `before`, strike the victim, and return its description.

    Return "" if the project's workflow ended before that.
    """
    end = time.monotonic() + fault.after * undisturbed
    while time.monotonic() < end and workflow.poll() is None:
        time.sleep(LOOK_SECONDS)
    while workflow.poll() is None:
        if not find(fault, machine, workflow):
            time.sleep(LOOK_SECONDS)
            continue
        time.sleep(fault.delay)
        if not (victims := find(fault, machine, workflow)) or workflow.poll() is not None:
            continue
        before()
        if fault.how == CUT:
            machine.switch_off()
            return "the machine"
        if fault.victim in means.MEANS:
            changes = fault.how == CHANGED
            return means.take(fault.victim, changes, machine, project, fault.which, fault.seconds)
        if fault.victim == "workflow":
            return _kill_all(victims, machine, workflow)
        told = _strike_one(fault, machine, victims[int(fault.which * len(victims))])
        # The workflow was started by nsenter, which stops itself when its child is stopped.
        _send(workflow.pid, signal.SIGCONT)
        return told
    return ""


def find(fault: Fault, machine: Machine, workflow: subprocess.Popen) -> list[Process]:
    """Return the victims that are there. For a resource, return the measuring processes."""
    there = processes.below([int(machine.first), workflow.pid])
    if fault.victim == "machine":
        return there
    if fault.victim in means.MEANS:
        return [one for one in there if VICTIMS["measuring process"](one, machine.space)]
    if fault.victim == "workflow":
        return [one for one in there if one.space == machine.space or _contained(one)] if _begun(there) else []
    return [one for one in there if VICTIMS[fault.victim](one, machine.space)]


def _begun(there: list[Process]) -> bool:
    return any(VICTIMS["snakemake"](one, "") for one in there)


def _contained(one: Process) -> bool:
    return bool(_container(one.number))


def _container(process: int) -> str | None:
    """Return the engine's number of the container that a process is in; None outside of containers."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/cgroup") as file:
        if match := OF_CONTAINER.search(file.read()):
            return match[1]
    return None


def _kill_all(victims: list[Process], machine: Machine, workflow: subprocess.Popen) -> str:
    """Kill all processes of the workflow and of its containers, except the engine and the shims."""
    first, number = int(machine.first), 0
    for _ in range(BLOWS):
        for one in victims:
            spared = one.number == first or (one.space == machine.space and one.name in (*OWN_ENGINE, "containerd-shim"))
            if (not spared and one.words != ("sleep", "infinity")) or _contained(one):
                _send(one.number, signal.SIGKILL)
                number += 1
        victims = processes.below([first, workflow.pid])
    return f"{number} processes"


def _strike_one(fault: Fault, machine: Machine, one: Process) -> str:
    told = f"{one.name} ({' '.join(one.words)[:160]})"
    if fault.how == STOPPED:
        _send(one.number, signal.SIGSTOP)
        time.sleep(fault.seconds)
        _send(one.number, signal.SIGCONT)
        return f"{told} for {fault.seconds:g} s"
    if fault.victim == "container" and (container := _container(one.number)):
        done = subprocess.run(machine.enter("docker", "kill", container), capture_output=True, text=True)
        if not done.returncode:
            return f"container {container[:12]}"
    # The container is one of a nested engine, or its engine no longer knows it.
    _send(one.number, signal.SIGKILL)
    return told


def _send(process: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, what)
