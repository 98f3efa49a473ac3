"""Restart a workflow, as the same command, when its plan no longer holds.

Another workflow in its folder may have made what this one has planned to make, or a runtime was found not to work.
"""

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import PlimsollError, say
from plimsoll.measuring import lock
from plimsoll.terminal.live import display


def when_free(busy: lock.Busy, typed_in: str, unlock: Callable[[], None]) -> None:
    """Print which workflow holds this folder, wait for it, and restart the same command in the folder in which it was typed.

    `unlock` releases Snakemake's own locks, if it has any. Raise Busy if Snakemake was not called by a command, or
    cannot be called again.
    """
    if not _is_snakemake(Path(sys.argv[0])):
        raise busy
    say(f"{busy.whose}; waiting for it.")
    # Snakemake's handler only notes to end after its jobs, and no job runs yet. The default handler ends this
    # process at once.
    with contextlib.suppress(ValueError):  # only the main thread can set signal handlers
        for number in (signal.SIGTERM, signal.SIGINT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
    try:
        busy.wait()
        _become(typed_in, unlock)
    except OSError as problem:
        raise busy from problem


def with_another_plan(typed_in: str, unlock: Callable[[], None]) -> None:
    """Restart the same command in the folder in which it was typed, to make another plan.

    `unlock` releases Snakemake's own locks. Raise PlimsollError if Snakemake was not called by a command, or cannot be
    called again.
    """
    try:
        if _is_snakemake(Path(sys.argv[0])):
            _become(typed_in, unlock)
    except OSError:
        pass
    raise PlimsollError(
        "The plan has changed, because a runtime does not work here. What was measured is kept. Type the command again."
    )


def _become(typed_in: str, unlock: Callable[[], None]) -> None:
    unlock()
    if display.current:
        display.current.close(goes_on=True)
    os.chdir(typed_in)
    sys.stdout.flush()
    # exec skips the exit handlers, which remove Snakemake's temporary folder among others.
    atexit._run_exitfuncs()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _is_snakemake(program: Path) -> bool:
    """Return whether a program is Snakemake, by its path: the console script, or `python -m snakemake`."""
    return program.name == "snakemake" or program.parts[-2:] == ("snakemake", "__main__.py")
