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


def tell_at_exit(studies: list[str]) -> None:
    """Print the claims of studies after Snakemake's last line."""
    command = [sys.executable, "-m", "plimsoll", "findings", f"studies={','.join(studies)}"]
    # Snakemake has left its working directory by then.
    atexit.register(subprocess.run, command, cwd=Path.cwd(), stdout=sys.stderr, timeout=60)


def if_nothing_is_done(is_so: Callable[[], bool], end: Callable[[], None]) -> None:
    """Call `end` when this process ends, if nothing was to be done by then. Snakemake calls no hook of a workflow for that."""
    folder = Path.cwd()

    def at_exit() -> None:
        if is_so():
            with contextlib.chdir(folder):
                end()

    atexit.register(at_exit)
