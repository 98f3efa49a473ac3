"""A workflow that finds another one at work in its folder waits for it and starts anew: what it has planned to make may be made
by then."""

import atexit
import contextlib
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from plimsoll.measuring import lock


def when_free(busy: lock.Busy, unlock: Callable[[], None]) -> None:
    """Say for whom, wait, and become the same command anew, in the folder in which it was typed. `unlock` gives back
    Snakemake's own locks, if it has any. Busy where Snakemake was not called by a command."""
    typed_in = _typed_in()
    if typed_in is None or "snakemake" not in Path(sys.argv[0]).parts:
        raise busy
    print(f"plimsoll: {busy.whose}; waiting for it.", file=sys.stderr, flush=True)
    # Snakemake's handler only notes that it is to end after its jobs, and there are none yet.
    with contextlib.suppress(ValueError):  # in another thread than the main one signals are somebody else's
        for number in (signal.SIGTERM, signal.SIGINT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
    busy.wait()
    unlock()
    # What goes with a process goes with this one, such as Snakemake's temporary folder.
    atexit._run_exitfuncs()
    os.chdir(typed_in)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _typed_in() -> str | None:
    """The folder from which Snakemake has gone to its own (`--directory`): whoever called it knows the way back."""
    for called in inspect.stack(context=0):
        api = getattr(called.frame.f_locals.get("self"), "workflow_api", None)
        if handler := getattr(api, "_workdir_handler", None):
            return str(handler.olddir or os.getcwd())
    return None
