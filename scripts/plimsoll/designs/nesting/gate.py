"""Commands that begin at one moment: each waits at a gate, in a process of its own that becomes the command."""

import os
import selectors
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from plimsoll.host import shared
from plimsoll.measuring.process import LOOK_SECONDS, kill, refuse_endless
from plimsoll.measuring.watch import Watch
from plimsoll.workloads import printed
from plimsoll.workloads.base import InvalidOutput

# Waits for the end of its standard input, notes the moment, and becomes the command.
WAITING = 'read -r _; printf "%s\\n" "${EPOCHREALTIME/,/.}" >"$0"; exec "$@" </dev/null'
# What it notes, and how far two of the host's clocks may differ (s).
NOTED, CLOCKS = f"(?P<moment>{printed.fixed(6)})\n", 0.05
# What Bash takes to get to the gate (s).
READY = 0.2
# While commands end one after another, what they do is looked at so often (s): a look takes some ms, in which no end is noted.
SELDOM = 2.0


class Passed(NamedTuple):
    """What commands did that began at the gate; moments in seconds of CLOCK_MONOTONIC, None for a command that did not begin or
    end. `offset` is what has to be taken from seconds since 1970 to get there."""

    opened: float
    begun: list[float | None]
    ended: list[float | None]
    codes: list[int]
    offset: float


def pass_together(
    commands: list[list[str]], folder: Path, limit: float, ready=lambda: None, watch: Watch | None = None
) -> Passed:
    """Let commands begin at one moment, and wait for their ends; what has not ended after `limit` seconds is killed.
    Unavailable if one prints without end or fills a disk that the `watch` looks at, Outage if one cannot be killed.

    Output and moments are in `folder`, by the commands' numbers. `ready` is called when all wait at the gate, just before it is
    opened.
    """
    closed, gate = os.pipe()
    try:
        processes = [_waiting(command, folder / str(number), closed) for number, command in enumerate(commands)]
    finally:
        os.close(closed)
    outputs = [folder / f"{number}.{kind}" for number in range(len(commands)) for kind in ("out", "err")]
    try:
        time.sleep(READY)
        ready()
        offset = time.time() - time.monotonic()
        opened = time.monotonic()
        os.close(gate)
        ended = _ends(processes, opened + limit, outputs, watch)
    finally:
        for process in processes:
            kill(process, group=True)
    begun = [noted(folder / f"{number}.begun", offset, opened) for number in range(len(commands))]
    return Passed(opened, begun, ended, [process.returncode for process in processes], offset)


def _waiting(command: list[str], stem: Path, closed: int) -> subprocess.Popen:
    """A command at the gate, in a process group of its own, in which what it starts is killed with it."""
    words = ["bash", "-c", WAITING, f"{stem}.begun", *command]
    with shared.new_file(Path(f"{stem}.out")) as out, shared.new_file(Path(f"{stem}.err")) as err:
        return subprocess.Popen(words, stdin=closed, stdout=out, stderr=err, process_group=0)


def _ends(processes: list[subprocess.Popen], last: float, outputs: list[Path], watch: Watch | None) -> list[float | None]:
    """When each process ended; None for those that had not at the `last` moment. Unavailable if what they write has no end."""
    ended: list[float | None] = [None] * len(processes)
    looked = time.monotonic()
    with selectors.DefaultSelector() as waiting:
        for number, process in enumerate(processes):
            waiting.register(os.pidfd_open(process.pid), selectors.EVENT_READ, number)
        try:
            while waiting.get_map() and (now := time.monotonic()) < last:
                due = min(last, now + LOOK_SECONDS)
                ready = waiting.select(due - now)
                for key, _ in ready:
                    ended[key.data] = time.monotonic()
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                if watch:
                    watch.stops.woken(due)
                # Seldom between two ends, whose moments are what is measured.
                if not ready or time.monotonic() > looked + SELDOM:
                    refuse_endless(outputs, watch)
                    looked = time.monotonic()
        finally:
            for key in list(waiting.get_map().values()):
                os.close(key.fd)
    refuse_endless(outputs, watch)
    return ended


def noted(path: Path, offset: float, opened: float) -> float | None:
    """When a command began that has noted it; None if it has not, or if what it noted is no moment after the gate was
    `opened`."""
    try:
        moment = printed.numbers(NOTED, printed.text_of(path))["moment"] - offset
    except InvalidOutput:
        return None
    return moment if opened - CLOCKS <= moment <= time.monotonic() + CLOCKS else None
