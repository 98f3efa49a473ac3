"""How one run ends the whole workflow, and a killed workflow its jobs.

A night must not be burnt on an engine that is gone. The workflow tells its jobs its process number. A job asks it, by SIGTERM,
to start nothing more, and leaves the reason in a file, which the workflow prints at its end. And a job ends when its workflow
does: who starts that again must not find the old one's jobs at work.

What a job has found out may also change the plan: the workflow then ends in the same way, and restarts.
"""

import contextlib
import os
import select
import signal
from pathlib import Path

from plimsoll.errors import WORKFLOW
from plimsoll.host import threads

WORDS = "progress/stopped.txt"
RESTART = "progress/restart"
# So much room is taken beforehand: a full disk may be the reason.
ROOM_BYTES = 4096


def announce(results: Path) -> None:
    """Tell the jobs of this process who started them; forget why earlier ones ended, and make room for why this one does."""
    os.environ[WORKFLOW] = str(os.getpid())
    forget(results)
    for plan in results.glob("*/plan.json"):
        path = plan.parent / WORDS
        with contextlib.suppress(OSError):  # without room the next job says so
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(" " * ROOM_BYTES)


def forget(results: Path) -> None:
    """Forget why earlier workflows ended."""
    for path in (*results.glob(f"*/{WORDS}"), *results.glob(f"*/{RESTART}")):
        path.unlink(missing_ok=True)


def workflow(study_folder: Path, reason: str) -> None:
    """Leave the reason, and ask the workflow that started this process, if one did, to start nothing more."""
    path = study_folder / WORDS
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Into the room that is there already.
        with open(path, "r+" if path.exists() else "w") as file:
            file.write(f"{reason}\n")
    if number := _starter():
        os.kill(number, signal.SIGTERM)


def restart(study_folder: Path) -> None:
    """Ask the workflow that started this process, if one did, to start nothing more, and to restart with another plan."""
    if number := _starter():
        path = study_folder / RESTART
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
        os.kill(number, signal.SIGTERM)


def restarts(results: Path) -> bool:
    """Whether this workflow is to restart, and not to end."""
    asked = any(path.read_text() == str(os.getpid()) for path in results.glob(f"*/{RESTART}"))
    return asked and not words(results)


def words(results: Path) -> list[str]:
    """Why this workflow was ended."""
    told = (path.read_text().strip() for path in sorted(results.glob(f"*/{WORDS}")))
    return [reason for reason in told if reason]


def with_workflow() -> None:
    """Have this process ended, as by SIGTERM, if the workflow that started it ends before it: that was killed. OSError if this
    host starts no more threads."""
    if number := _starter():
        try:
            descriptor = os.pidfd_open(number)
        except OSError:
            return  # a kernel that cannot tell, or one that has just ended
        threads.started(lambda: _end_after(descriptor), daemon=True)


def _end_after(descriptor: int) -> None:
    select.select([descriptor], [], [])
    os.kill(os.getpid(), signal.SIGTERM)


def _starter() -> int | None:
    """The workflow that started this process; None if none did. Its number may have become another process's; an ancestor's
    has not."""
    number = int(os.environ.get(WORKFLOW, 0))
    return number if number in _ancestors() else None


def _ancestors() -> list[int]:
    ancestors = [os.getppid()]
    while ancestors[-1] > 1:
        with open(f"/proc/{ancestors[-1]}/stat") as file:
            ancestors.append(int(file.read().rpartition(")")[2].split()[1]))
    return ancestors
