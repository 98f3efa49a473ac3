"""The end of a workflow: whether it ends with the claims, and what is done if nothing was to be done."""

import atexit
import contextlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# The claims are printed after these targets. A command without a target stands for the first.
TELLING = ("all", "results/claims.html")


def is_telling(targets: tuple[str, ...], dry: bool) -> bool:
    """Return whether a request ends with the claims: it is not a dry run, and has no target or one of TELLING."""
    return not dry and (not targets or bool(set(targets) & set(TELLING)))


def tell(studies: list[str]) -> None:
    """Print the claims of studies, in the working directory."""
    command = [sys.executable, "-m", "plimsoll", "findings", f"studies={','.join(studies)}"]
    subprocess.run(command, stdout=sys.stderr, timeout=60)


def at_exit(work: Callable[[], object]) -> None:
    """Do this work in the present working directory when the process ends, below Snakemake's last line."""
    folder = Path.cwd()

    def in_folder() -> None:
        # The work may end the process, which would do it again.
        atexit.unregister(in_folder)
        with contextlib.chdir(folder):
            work()

    atexit.register(in_folder)
