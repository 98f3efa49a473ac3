"""Guests that are nodes: their start, their programs, their end, and the results of those that have ended."""

import contextlib
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import run_files
from plimsoll.measuring.process import kill
from plimsoll.runtimes.base import Afterwards, Node, Spec
from plimsoll.runtimes.guests import agent, machine
from plimsoll.runtimes.guests.machine import Files
from plimsoll.workloads.program_output import last_lines

# A guest that takes longer to boot hangs: the limit for the first one, and what each other guest that boots beside it
# adds (s).
BOOT_SECONDS, ANOTHER_SECONDS = 60.0, 15.0
LOOK_SECONDS = 0.02
# A guest's clock is read until it is known to CLOCK_SECONDS, or LOOKS times. A guest that takes longer than
# ANSWER_SECONDS to answer hangs (s).
CLOCK_SECONDS, LOOKS, ANSWER_SECONDS = 0.004, 40, 10.0
# /proc/uptime has hundredths of a second, and cuts off the rest.
HUNDREDTH = 0.01
# Part of a console that is read (bytes). No guest says more.
CONSOLE_BYTES = 2**22
# Line in which a guest tells its time, after the moment at which the line came.
TIME = re.compile(r"(?P<stamp>[0-9.]+) plimsoll (?P<what>boot|end) (?P<uptime>[0-9.]+)\s*$")


class Guest(Node):
    """A virtual machine that listens for programs, and runs one after the other. `process` is QEMU's."""

    kind = "guest"
    own_kernel = whole = True

    def __init__(self, spec: Spec, on: Node, process: subprocess.Popen):
        super().__init__(spec.name, on, spec=spec)
        self.process = process

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """Return the command that runs a program by the guest's port. No variable of the caller reaches the guest."""
        return [*machine.entering(self.spec), str(folder or ""), *program]

    def ahead(self) -> float:
        """Return the guest's uptime less this host's CLOCK_MONOTONIC (s). Raise Unavailable if the guest does not
        answer, or if its clock jumps."""
        try:
            return clock_ahead(lambda: agent.uptime(Files(self.spec).port, ANSWER_SECONDS))
        except (OSError, ValueError) as problem:
            raise Unavailable(f"the virtual machine {self.name} does not tell its time: {problem}") from problem

    def threads(self) -> list[int]:
        """Return the numbers on this host of the threads that are the guest.

        Before Linux 6.4 the thread that serves its network card (vhost-net) does not belong to QEMU's process. It is
        found by its name, which contains QEMU's process number.
        """
        own = [int(thread.name) for thread in Path(f"/proc/{self.process.pid}/task").iterdir()]
        return own + [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/comm") if _is(path, f"vhost-{self.process.pid}")
        ]

    def bind(self, processors: set[int]) -> None:
        """Bind the guest to these processors of this host."""
        for thread in self.threads():
            # The thread may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, processors)


def start(words: list[str], spec: Spec, on: Node) -> Guest:
    """Start QEMU with `words`, and return the guest. Raise Unavailable if QEMU is not installed."""
    with run_files.new_file(Files(spec).errors) as errors:
        try:
            return Guest(spec, on, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors))
        except FileNotFoundError as problem:
            raise Unavailable(f"{words[0]} is not installed") from problem


def wait(guests: Sequence[Guest]) -> None:
    """Wait until each guest is ready. Raise Unavailable, with its last words, if one has failed, has ended, or is not
    ready in time."""
    end = time.monotonic() + BOOT_SECONDS + ANOTHER_SECONDS * (len(guests) - 1)
    for guest in guests:
        while "ready" not in (said := spoken(Files(guest.spec).console)):
            if failed := [one for one in said if one.startswith("failed")]:
                raise Unavailable(f"the virtual machine {guest.name} {failed[0]}")
            if guest.process.poll() is not None:
                raise Unavailable(f"the virtual machine {guest.name} ended before it was ready{last_words(guest.spec)}")
            if time.monotonic() > end:
                raise Unavailable(f"the virtual machine {guest.name} did not boot in time{last_words(guest.spec)}")
            time.sleep(LOOK_SECONDS)


def stop(guests: Sequence[Guest]) -> None:
    """Switch guests off. Nothing that they have written is kept."""
    for guest in guests:
        guest.process.kill()
    for guest in guests:
        kill(guest.process)
        Files(guest.spec).remove()


def spoken(console: Path) -> list[str]:
    """Return what a guest itself has said on its console, without the kernel's words. A line that is still being
    written is left out."""
    lines = run_files.text(console, CONSOLE_BYTES).splitlines(keepends=True)
    return [line.partition("plimsoll ")[2].strip() for line in lines if "plimsoll " in line and line.endswith("\n")]


def last_words(spec: Spec) -> str:
    """Return, after a colon, the last line of a guest's console, or of QEMU's own output if the console is empty.
    Return an empty text if both are empty."""
    for path in (Files(spec).console, Files(spec).errors):
        if words := last_lines(path):
            return f": {words[-1]}"
    return ""


def collect(spec: Spec) -> Afterwards:
    """Copy back what a guest of one program has written into its folder. Return what is known about the guest.

    Raise Unavailable if it ended without an answer, or if its program failed.
    """
    files = Files(spec)
    try:
        with open(files.answer, "rb") as stream:
            code, answer = agent.read_answer(stream)
        with run_files.new_file(files.errors) as errors:
            agent.unpack(answer, spec.folder, errors, errors)
    except (OSError, ValueError, tarfile.TarError) as problem:
        raise Unavailable(f"the virtual machine {spec.name} ended without an answer{last_words(spec)}") from problem
    files.remove()
    if code:
        raise Unavailable(f"the program of the virtual machine {spec.name} ended with {code}{last_words(spec)}")
    told = times(files.console)
    # A line that arrives late makes a clock look less far ahead than it is.
    ahead = max(uptime + HUNDREDTH / 2 - (stamp - (time.time() - time.monotonic())) for stamp, uptime in told.values())
    return Afterwards(ahead, {"boot": told["boot"][0]})


def times(console: Path) -> dict[str, tuple[float, float]]:
    """Return when a guest's first program began (`boot`), and when the guest had answered (`end`).

    Each is a pair of seconds since 1970 and seconds of the guest's own uptime, from a console whose lines are
    stamped. Raise Unavailable if the console does not say both.
    """
    told = {}
    for line in run_files.text(console, CONSOLE_BYTES).splitlines():
        if match := TIME.match(line):
            told[match["what"]] = float(match["stamp"]), float(match["uptime"])
    if set(told) != {"boot", "end"}:
        raise Unavailable(f"{console} does not say when the virtual machine had booted and when it ended")
    return told


def _is(comm: Path, name: str) -> bool:
    """Return whether a thread has this name. `comm` is its file in /proc. A thread that has ended does not."""
    try:
        return comm.read_text().strip() == name
    except OSError:
        return False


def clock_ahead(uptime: Callable[[], float]) -> float:
    """Return how far a clock is ahead of this host's CLOCK_MONOTONIC (s).

    `uptime` reads that clock in hundredths of a second, without rounding up. The result is the middle of what all
    readings allow. Raise OSError if they contradict each other.
    """
    low, high = float("-inf"), float("inf")
    for _ in range(LOOKS):
        before = time.monotonic()
        told = uptime()
        low, high = max(low, told - time.monotonic()), min(high, told + HUNDREDTH - before)
        if high - low <= CLOCK_SECONDS:
            break
    if high < low:
        raise OSError("its clock jumps")
    return (low + high) / 2
