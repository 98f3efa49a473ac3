"""A program beside the one that is timed: on this host, in the same container, or in another one.

It runs over and over until the timed runs have ended, in a folder of its own with a copy of the user's folder.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from plimsoll.workloads.base import InvalidOutput

# Name of its folder in a run's. The other word makes the timer run a program over and over.
FOLDER = "neighbour"
AGAIN = "--again"
# How long a neighbour runs before the program is timed (s).
BEFORE = 0.3


def prepare(folder: Path, given: Path | None, variables: str) -> None:
    """Make the folder of a neighbour in a run's folder. It gets a copy of the user's folder `given`."""
    own = folder / FOLDER
    if given:
        shutil.copytree(given, own / "work", symlinks=True)
    else:
        (own / "work").mkdir(parents=True)
    (own / "variables").write_text(variables)


@contextlib.contextmanager
def run_repeatedly(enter: Callable[[Sequence[str]], list[str]], folder: Path, command: Sequence[str]) -> Iterator[None]:
    """Run a neighbour over and over during the context. `enter` makes a command that starts the timer in its node.

    Raise InvalidOutput if it ended before the context did. In a container it goes on until the container is removed.
    """
    process = subprocess.Popen(
        enter([AGAIN, str(folder), *command]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        time.sleep(BEFORE)
        yield
        if process.poll() is not None:
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise InvalidOutput(f"the program beside it ended: {said[-1] if said else f'exit status {process.returncode}'}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
