"""Processes that end in time."""

import os
import select
import signal
import subprocess
from pathlib import Path


def run_bounded(command: list[str], environment: dict, folder: Path, limit: float) -> int | None:
    """Run a command in a process group of its own with its output in the folder; its exit code, None at the time limit."""
    with open(folder / "stdout.txt", "wb") as out, open(folder / "stderr.txt", "wb") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
        )
        try:
            # Popen.wait() with a time limit polls, up to 50 ms late.
            return process.wait() if ended_within(process.pid, limit) else None
        finally:
            if process.poll() is None:
                # mpirun takes its ranks and remote daemons down on SIGTERM; what does not listen is killed.
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


def ended_within(pid: int, seconds: float) -> bool:
    """Whether a child ends within `seconds`; returns at the moment it ends."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
