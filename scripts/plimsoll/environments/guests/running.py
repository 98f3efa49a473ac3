"""Guests that are nodes: started, entered, waited for, and what is left of those that have ended."""

import contextlib
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from plimsoll.environments.base import Afterwards, Node, Spec
from plimsoll.environments.guests import agent, machine
from plimsoll.environments.guests.machine import Files
from plimsoll.errors import Unavailable
from plimsoll.host import shared
from plimsoll.measuring.process import kill
from plimsoll.workloads.printed import last_lines

# A guest that takes longer to boot hangs: the first one, and what each other adds that boots beside it (s).
BOOT_SECONDS, ANOTHER_SECONDS = 60.0, 15.0
LOOK_SECONDS = 0.02
# A guest's clock is looked at until it is known this well (s), or as often as this. A guest that answers later hangs (s).
CLOCK_SECONDS, LOOKS, ANSWER_SECONDS = 0.004, 40, 10.0
# /proc/uptime tells hundredths of a second, and leaves out what is beyond.
HUNDREDTH = 0.01
# No guest says more (bytes).
CONSOLE_BYTES = 2**22
# What a guest says of its time, after the moment at which it came.
TIME = re.compile(r"(?P<stamp>[0-9.]+) plimsoll (?P<what>boot|end) (?P<uptime>[0-9.]+)\s*$")


class Guest(Node):
    """A virtual machine that listens for programs to run, one after the other; `process` is QEMU's."""

    kind = "guest"
    own_kernel = whole = True

    def __init__(self, spec: Spec, on: Node, process: subprocess.Popen):
        super().__init__(spec.name, on, spec=spec)
        self.process = process

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """By the guest's port. No variable of the caller's reaches the guest."""
        return [*machine.entering(self.spec), str(folder or ""), *program]

    def ahead(self) -> float:
        """Its uptime less this host's clock; Unavailable if the guest does not answer."""
        try:
            return clock_ahead(lambda: agent.uptime(Files(self.spec).port, ANSWER_SECONDS))
        except (OSError, ValueError) as problem:
            raise Unavailable(f"the virtual machine {self.name} does not tell its time: {problem}") from problem

    def threads(self) -> list[int]:
        """The numbers on this host of the threads that are the guest. Before Linux 6.4 that which serves its network card
        (vhost-net) is none of QEMU's, but called after it."""
        own = [int(thread.name) for thread in Path(f"/proc/{self.process.pid}/task").iterdir()]
        return own + [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/comm") if _is(path, f"vhost-{self.process.pid}")
        ]

    def bind(self, processors: set[int]) -> None:
        """Let the guest run on these processors of this host only."""
        for thread in self.threads():
            # It may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, processors)


def start(words: list[str], spec: Spec, on: Node) -> Guest:
    """Start the guest of QEMU's words; Unavailable if there is no QEMU."""
    with shared.new_file(Files(spec).errors) as errors:
        try:
            return Guest(spec, on, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors))
        except FileNotFoundError as problem:
            raise Unavailable(f"{words[0]} is not installed") from problem


def wait(guests: Sequence[Guest]) -> None:
    """Until each guest is ready; Unavailable, with its last words, if one is not in time, or has failed."""
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
    """Switch guests off: nothing that they have written is kept."""
    for guest in guests:
        guest.process.kill()
    for guest in guests:
        kill(guest.process)
        Files(guest.spec).remove()


def spoken(console: Path) -> list[str]:
    """What a guest has said on its console itself, without the kernel's words; a line that is being written is left out."""
    lines = shared.text(console, CONSOLE_BYTES).splitlines(keepends=True)
    return [line.partition("plimsoll ")[2].strip() for line in lines if "plimsoll " in line and line.endswith("\n")]


def last_words(spec: Spec) -> str:
    """The last line of a guest's console, or of QEMU's own words if there is none, after a colon; nothing if both are empty."""
    for path in (Files(spec).console, Files(spec).errors):
        if words := last_lines(path):
            return f": {words[-1]}"
    return ""


def collect(spec: Spec) -> Afterwards:
    """Bring what a guest of one program has written into its folder. Unavailable if it ended without an answer, or if its
    program did not end well."""
    files = Files(spec)
    try:
        with open(files.answer, "rb") as stream:
            code, answer = agent.read_answer(stream)
        with shared.new_file(files.errors) as errors:
            agent.unpack(answer, spec.folder, errors, errors)
    except (OSError, ValueError, tarfile.TarError) as problem:
        raise Unavailable(f"the virtual machine {spec.name} ended without an answer{last_words(spec)}") from problem
    files.remove()
    if code:
        raise Unavailable(f"the program of the virtual machine {spec.name} ended with {code}{last_words(spec)}")
    told = times(files.console)
    # What is late on its way makes a clock look less ahead than it is.
    ahead = max(uptime + HUNDREDTH / 2 - (stamp - (time.time() - time.monotonic())) for stamp, uptime in told.values())
    return Afterwards(ahead, {"boot": told["boot"][0]})


def times(console: Path) -> dict[str, tuple[float, float]]:
    """When a guest's first program began (`boot`), and when it had answered (`end`), in seconds since 1970 and of its own
    uptime, from a console whose lines are stamped; Unavailable if it does not say both."""
    told = {}
    for line in shared.text(console, CONSOLE_BYTES).splitlines():
        if match := TIME.match(line):
            told[match["what"]] = float(match["stamp"]), float(match["uptime"])
    if set(told) != {"boot", "end"}:
        raise Unavailable(f"{console} does not say when the virtual machine had booted and when it ended")
    return told


def _is(comm: Path, name: str) -> bool:
    """Whether a thread is called so; not if it has ended."""
    try:
        return comm.read_text().strip() == name
    except OSError:
        return False


def clock_ahead(uptime: Callable[[], float]) -> float:
    """What a clock is ahead of this host's CLOCK_MONOTONIC (s), from a function that reads it in hundredths of a second, cut:
    the middle of what all readings leave open. OSError if they leave nothing."""
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
