"""Start commands at one moment: each waits at a gate, in a process of its own that becomes the command."""

import os
import selectors
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from plimsoll.host import run_files
from plimsoll.measuring.process import LOOK_SECONDS, kill, refuse_endless
from plimsoll.measuring.watch import Watch
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# Bash program at the gate: waits for the end of standard input, writes down the time, and becomes the command.
WAITING = 'read -r _; printf "%s\\n" "${EPOCHREALTIME/,/.}" >"$0"; exec "$@" </dev/null'
# What this program writes, and how far two of the host's clocks may differ (s).
NOTED, CLOCKS = f"(?P<moment>{program_output.fixed_point(6)})\n", 0.05
# Time that Bash takes to reach the gate (s).
READY = 0.2
# While commands end, their output is looked at only this often (s): during a look of some ms no end can be noted.
SELDOM = 2.0


class Outcome(NamedTuple):
    """What commands that began at the gate did. Moments are in seconds of CLOCK_MONOTONIC.

    `opened` is when the gate was opened. `begun` and `ended` have a moment for each command, or None if it did not
    begin or end. `codes` are exit codes. `offset` converts clocks: a time in seconds since 1970 less `offset` is in
    CLOCK_MONOTONIC.
    """

    opened: float
    begun: list[float | None]
    ended: list[float | None]
    codes: list[int]
    offset: float


def pass_together(
    commands: list[list[str]], folder: Path, limit: float, ready=lambda: None, watch: Watch | None = None
) -> Outcome:
    """Let commands begin at one moment, wait until they end, and return what they did.

    A command that has not ended after `limit` seconds is killed. Output and moments go to files in `folder`, named by
    the commands' numbers. `ready` is called when all commands wait at the gate, just before it is opened.

    Raise Unavailable if a command prints without end, or fills a disk that the `watch` looks at. Raise Outage if one
    cannot be killed.
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
    begun = [begin_moment(folder / f"{number}.begun", offset, opened) for number in range(len(commands))]
    return Outcome(opened, begun, ended, [process.returncode for process in processes], offset)


def _waiting(command: list[str], stem: Path, closed: int) -> subprocess.Popen:
    """Start a process that waits at the gate to become the command, and return it.

    It leads a process group of its own, so that what the command starts can be killed with it. `stem` is the path of
    its output files without extension. `closed` is the reading end of a pipe: the gate opens when the writing end is
    closed.
    """
    words = ["bash", "-c", WAITING, f"{stem}.begun", *command]
    with run_files.new_file(Path(f"{stem}.out")) as out, run_files.new_file(Path(f"{stem}.err")) as err:
        return subprocess.Popen(words, stdin=closed, stdout=out, stderr=err, process_group=0)


def _ends(processes: list[subprocess.Popen], last: float, outputs: list[Path], watch: Watch | None) -> list[float | None]:
    """Return when each process ended (s of CLOCK_MONOTONIC); None if it had not by the moment `last`.

    Raise Unavailable if the `outputs` have no end, or if a disk is about to be full.
    """
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
                # The moments of the ends are what is measured, so looks between two ends are rare.
                if not ready or time.monotonic() > looked + SELDOM:
                    refuse_endless(outputs, watch)
                    looked = time.monotonic()
        finally:
            for key in list(waiting.get_map().values()):
                os.close(key.fd)
    refuse_endless(outputs, watch)
    return ended


def begin_moment(path: Path, offset: float, opened: float) -> float | None:
    """Return when a command began (s of CLOCK_MONOTONIC), as it noted itself in a file.

    Return None if the file has no such moment, or a moment before the gate was `opened` or in the future.
    """
    try:
        moment = program_output.numbers(NOTED, program_output.text_of(path))["moment"] - offset
    except InvalidOutput:
        return None
    return moment if opened - CLOCKS <= moment <= time.monotonic() + CLOCKS else None
