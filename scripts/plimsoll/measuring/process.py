"""Child processes with limits on their time and on the length of their output."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from plimsoll.errors import Outage, Unavailable
from plimsoll.host import processes, run_files
from plimsoll.measuring.watch import Watch

# How long a killed process may take to end (s): the kernel may have to write to a slow disk first.
KILLED_SECONDS = 60.0
# No measured program prints MOST_BYTES. LEFT_BYTES are left of a longer output.
MOST_BYTES, LEFT_BYTES = 2**28, 2**20
# How often outputs, disks and processes are looked at (s). A look takes some 50 to 500 µs, far below what a run can show.
LOOK_SECONDS = 0.5


def run_bounded(command: list[str], more: dict, folder: Path, limit: float, watch: Watch | None = None) -> int | None:
    """Run a command in a process group of its own, with its output in the folder.

    Return its exit code, or None at the time limit. `more` are additional variables, and `limit` is in seconds. Raise
    Unavailable if the command prints without end, or fills a disk that the `watch` looks at. Raise Outage if it cannot
    be killed.
    """
    outputs = [folder / "stdout.txt", folder / "stderr.txt"]
    with run_files.new_file(outputs[0]) as out, run_files.new_file(outputs[1]) as err:
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
            # Popen.wait() with a time limit polls, and returns up to 50 ms late.
            return process.wait() if ended_within(process.pid, limit, outputs, watch) else None
        finally:
            if process.poll() is None:
                # mpirun ends its ranks and remote daemons on SIGTERM. Programs that ignore it are killed.
                os.killpg(process.pid, signal.SIGTERM)
                ended_within(process.pid, 5)
                kill(process, group=True)


def ended_within(pid: int, seconds: float, writes: Sequence[Path] = (), watch: Watch | None = None) -> bool:
    """Return whether a child ends within `seconds`, as soon as it has ended and was looked at.

    Raise Unavailable if it prints without end into one of the files that it `writes`. Raise it also if a disk that the
    `watch` looks at is about to be full. Both are looked at every LOOK_SECONDS.
    """
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
    """Kill a child that may have ended, and return its exit code. With `group`, kill the process group that it leads.

    Raise Outage if it does not end: it is in the kernel then, and nothing ends it.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if group else os.kill(process.pid, signal.SIGKILL)
        if not ended_within(process.pid, KILLED_SECONDS):
            raise stuck(process.pid)
    return process.wait()


def stuck(number: int) -> Outage:
    """Return the Outage of a process that was killed and does not end. `number` is its PID."""
    where = processes.place_in_kernel(number)
    return Outage(
        f"{processes.name(number)}, process {number}, was killed and does not end, as it is in the kernel ({where})",
        "look into the kernel's log (dmesg), and restart this machine",
    )


def read_output(process: subprocess.Popen, seconds: float) -> tuple[str, str] | None:
    """Return what a child prints until it ends, on standard output and on standard error.

    If it has not ended after `seconds`, kill it and return None. Raise Outage if it does not end then either.
    """
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Processes that the child started may hold the streams open, and reading would wait for them.
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
        kill(process)


def refuse_endless(files: Iterable[Path], watch: Watch | None = None) -> None:
    """Raise Unavailable if one of these files is longer than any program's output, or if the `watch` sees a disk about
    to be full.

    Such a file is cut, so that it does not fill the disk while its writer is stopped.
    """
    for path in files:
        if run_files.cut(path, MOST_BYTES, LEFT_BYTES):
            raise Unavailable(f"it wrote more than {MOST_BYTES >> 20} MiB to its {path.name}")
    if watch:
        watch.look()


def cut(folder: Path, most: int | None = None) -> None:
    """Cut the files below a folder that are longer than any program's output, or than `most` bytes."""
    for path in run_files.files_below(folder):
        run_files.cut(path, MOST_BYTES if most is None else most, LEFT_BYTES)
