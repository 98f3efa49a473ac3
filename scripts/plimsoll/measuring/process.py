"""Processes that end in time, and that print no more than anybody reads."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from plimsoll.errors import Outage, Unavailable
from plimsoll.host import processes, shared
from plimsoll.measuring.watch import Watch

# What was killed ends as soon as the kernel lets it go, which may have to write to a slow disk first (s).
KILLED_SECONDS = 60.0
# No program that is measured prints as much (bytes), and what is left of a longer output.
MOST_BYTES, LEFT_BYTES = 2**28, 2**20
# How often outputs, disks and processes are looked at (s): some 50 to 500 µs each time, which is far below what a run can tell.
LOOK_SECONDS = 0.5


def run_bounded(command: list[str], more: dict, folder: Path, limit: float, watch: Watch | None = None) -> int | None:
    """Run a command, with `more` variables, in a process group of its own, with its output in the folder. Return its exit code;
    None at the time limit.

    Unavailable if it prints without end or fills a disk that the `watch` looks at, Outage if it cannot be killed."""
    outputs = [folder / "stdout.txt", folder / "stderr.txt"]
    with shared.new_file(outputs[0]) as out, shared.new_file(outputs[1]) as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
        )
        try:
            # Popen.wait() with a time limit polls, up to 50 ms late.
            return process.wait() if ended_within(process.pid, limit, outputs, watch) else None
        finally:
            if process.poll() is None:
                # mpirun takes its ranks and remote daemons down on SIGTERM; what does not listen is killed.
                os.killpg(process.pid, signal.SIGTERM)
                ended_within(process.pid, 5)
                kill(process, group=True)


def ended_within(pid: int, seconds: float, writes: Sequence[Path] = (), watch: Watch | None = None) -> bool:
    """Whether a child ends within `seconds`; returns as soon as it has ended and was looked at. Unavailable if it prints
    without end into one of the files that it `writes`, or if a disk is about to be full that the `watch` looks at; both look
    now and then."""
    descriptor, end = os.pidfd_open(pid), time.monotonic() + seconds
    try:
        while True:
            left = max(0.0, end - time.monotonic())
            pause = min(left, LOOK_SECONDS) if writes or watch else left
            due = time.monotonic() + pause
            ended = select.select([descriptor], [], [], pause)[0]
            if watch:
                watch.stops.woken(due)
            refuse_endless(writes, watch)
            if ended or time.monotonic() >= end:
                return bool(ended)
    finally:
        os.close(descriptor)


def kill(process: subprocess.Popen, *, group: bool = False) -> int:
    """Kill a child that may have ended, with `group` all of the process group that it leads; its exit code. Outage if it does
    not end: it is in the kernel then, and nothing ends it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if group else os.kill(process.pid, signal.SIGKILL)
        if not ended_within(process.pid, KILLED_SECONDS):
            raise stuck(process.pid)
    return process.wait()


def stuck(number: int) -> Outage:
    """The Outage of a process that was killed and does not end."""
    where = processes.place_in_kernel(number)
    return Outage(
        f"{processes.name(number)}, process {number}, was killed and does not end, as it is in the kernel ({where})",
        "look into the kernel's log (dmesg), and restart this machine",
    )


def said(process: subprocess.Popen, seconds: float) -> tuple[str, str] | None:
    """What a child prints until it ends, on standard output and on standard error; None if it has not ended after `seconds`: it
    is killed. Outage if it does not end then either."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # What it has started may have them open, and would be waited for.
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
        kill(process)


def refuse_endless(files: Iterable[Path], watch: Watch | None = None) -> None:
    """Unavailable if one of these files is longer than any program's output, or if a disk is about to be full that the `watch`
    looks at. Such a file is cut, so that it does not fill the disk while its writer is taken down."""
    for path in files:
        if shared.cut(path, MOST_BYTES, LEFT_BYTES):
            raise Unavailable(f"it wrote more than {MOST_BYTES >> 20} MiB to its {path.name}")
    if watch:
        watch.look()


def cut(folder: Path, most: int | None = None) -> None:
    """Cut the files below a folder that are longer than any program's output, or than `most` bytes."""
    for path in shared.files_below(folder):
        shared.cut(path, MOST_BYTES if most is None else most, LEFT_BYTES)
