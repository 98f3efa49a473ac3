"""A workflow that finds another one at work in its folder waits for it and starts anew: what it has planned to make may be made
by then."""

import atexit
import contextlib
import os
import signal
import sys
from typing import NoReturn

from plimsoll.measuring import lock


def when_free(busy: lock.Busy, folder: str) -> NoReturn:
    """Say for whom, wait, and become the same command anew, in the folder in which it was typed."""
    print(f"plimsoll: {busy.whose}; waiting for it.", file=sys.stderr, flush=True)
    # Snakemake's handler only notes that it is to end after its jobs, and there are none yet.
    with contextlib.suppress(ValueError):  # in another thread than the main one signals are somebody else's
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    busy.wait()
    # What goes with a process goes with this one, such as Snakemake's temporary folder.
    atexit._run_exitfuncs()
    os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
