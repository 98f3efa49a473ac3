"""How one run ends the whole workflow, and how jobs end when their workflow was killed.

A night must not be lost on an engine that is gone. The workflow gives its jobs its PID. A job sends it SIGTERM, so that
it starts nothing more. The job also leaves the reason in a file, which the workflow prints at its end. A job ends when
its workflow does, so that the next start of the workflow does not find the old jobs still running.

A job may also find out something that changes the plan. The workflow then ends in the same way, and restarts.
"""

import contextlib
import os
import select
import signal
from pathlib import Path

from plimsoll.errors import WORKFLOW
from plimsoll.host import processes, threads

WORDS = "progress/stopped.txt"
RESTART = "progress/restart"
# Space that is reserved for the reason (bytes), because a full disk may be the reason.
ROOM_BYTES = 4096


def announce(results: Path) -> None:
    """Tell the jobs of this process who started them. Forget why earlier workflows ended, and reserve space for the
    reason of this one."""
    os.environ[WORKFLOW] = str(os.getpid())
    forget(results)
    for plan in results.glob("*/plan.json"):
        path = plan.parent / WORDS
        with contextlib.suppress(OSError):  # without room the next job reports it
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(" " * ROOM_BYTES)


def forget(results: Path) -> None:
    """Remove the notes of why earlier workflows ended."""
    for path in (*results.glob(f"*/{WORDS}"), *results.glob(f"*/{RESTART}")):
        path.unlink(missing_ok=True)


def workflow(study_folder: Path, reason: str) -> None:
    """Note the reason, and make the workflow that started this process, if there is one, start nothing more."""
    path = study_folder / WORDS
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Into the reserved space.
        with open(path, "r+" if path.exists() else "w") as file:
            file.write(f"{reason}\n")
    if number := _starter():
        os.kill(number, signal.SIGTERM)


def restart(study_folder: Path) -> None:
    """Make the workflow that started this process, if there is one, start nothing more, and restart with another plan."""
    if number := _starter():
        path = study_folder / RESTART
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
        os.kill(number, signal.SIGTERM)


def restarts(results: Path) -> bool:
    """Return whether this workflow is to restart after its end."""
    asked = any(path.read_text() == str(os.getpid()) for path in results.glob(f"*/{RESTART}"))
    return asked and not words(results)


def words(results: Path) -> list[str]:
    """Return the reasons why this workflow was ended."""
    told = (path.read_text().strip() for path in sorted(results.glob(f"*/{WORDS}")))
    return [reason for reason in told if reason]


def with_workflow() -> None:
    """End this process, as by SIGTERM, if the workflow that started it ends first, because it was killed then.

    Raise OSError if this host starts no more threads.
    """
    if number := _starter():
        try:
            descriptor = os.pidfd_open(number)
        except OSError:
            return  # the kernel cannot tell, or the workflow has just ended
        threads.start(lambda: _end_after(descriptor), daemon=True)


def _end_after(descriptor: int) -> None:
    select.select([descriptor], [], [])
    os.kill(os.getpid(), signal.SIGTERM)


def _starter() -> int | None:
    """Return the PID of the workflow that started this process; None if no workflow did.

    The PID must be an ancestor's. The PID of a workflow that has ended may have become another process's.
    """
    number = int(os.environ.get(WORKFLOW, 0))
    return number if number in _ancestors() else None


def _ancestors() -> list[int]:
    ancestors = [os.getppid()]
    while ancestors[-1] > 1:
        ancestors.append(processes.facts(f"/proc/{ancestors[-1]}/stat").parent)
    return ancestors
