"""How one run ends the whole workflow: the rest of a night must not be burnt on an engine that is gone.

The workflow tells its jobs its process number. A job asks it, by SIGTERM, to start nothing more, and leaves the reason in a
file, which the workflow prints at its end.
"""

import contextlib
import os
import signal
from pathlib import Path

VARIABLE = "PLIMSOLL_WORKFLOW"
WORDS = "progress/stopped.txt"


def announce(results: Path) -> None:
    """Tell the jobs of this process who started them; forget why earlier workflows ended."""
    os.environ[VARIABLE] = str(os.getpid())
    for path in results.glob(f"*/{WORDS}"):
        path.unlink(missing_ok=True)


def workflow(study_folder: Path, reason: str) -> None:
    """Leave the reason, and ask the workflow that started this process, if one did, to start nothing more."""
    with contextlib.suppress(OSError):  # a full disk may be the reason
        path = study_folder / WORDS
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reason + "\n")
    number = int(os.environ.get(VARIABLE, 0))
    # A number may have become another process's; an ancestor's has not.
    if number in _ancestors():
        os.kill(number, signal.SIGTERM)


def words(results: Path) -> list[str]:
    """Why this workflow was ended."""
    return [path.read_text().strip() for path in sorted(results.glob(f"*/{WORDS}"))]


def _ancestors() -> list[int]:
    ancestors = [os.getppid()]
    while ancestors[-1] > 1:
        with open(f"/proc/{ancestors[-1]}/stat") as file:
            ancestors.append(int(file.read().rpartition(")")[2].split()[1]))
    return ancestors
