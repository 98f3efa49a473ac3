"""Ctrl-C: what stays and how to go on, in two lines, in place of Snakemake's errors."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

# The command that the user typed where that was not Snakemake's: the Makefile names it here.
COMMAND = "PLIMSOLL_COMMAND"
# What a shell makes of a program that Ctrl-C ended.
STATUS = 130
STAYS = "plimsoll: interrupted. What is measured stays; nothing of it is measured again."

# Set from the first Ctrl-C on: what Snakemake says then is about jobs that were meant to end.
happened = threading.Event()


def watch() -> None:
    """Have Ctrl-C end this Snakemake with two lines. It stays ignored where it was, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread has signals
            signal.signal(signal.SIGINT, _interrupted)
            sys.excepthook = _without_traceback(sys.excepthook)


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a workflow and return its exit status. Ctrl-C is the workflow's to answer: this process then ends with STATUS."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        with subprocess.Popen(command, env=environment) as started:
            try:
                status = started.wait()
            except KeyboardInterrupt:  # SIGTERM, to this process alone
                # Its jobs end when it does (plimsoll.measuring.stop).
                started.kill()
                raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        sys.exit(STATUS)
    return status


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Have Ctrl-C between two workflows that this process starts end it with the two lines."""
    try:
        yield
    except KeyboardInterrupt:
        _say(shlex.join(["python", "-m", "plimsoll", *sys.argv[1:]]))
        sys.exit(STATUS)


def _interrupted(*_: object) -> None:
    """Print the two lines and interrupt Snakemake, which ends its jobs. A second Ctrl-C ends it at once."""
    happened.set()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _say(shlex.join(["snakemake", *sys.argv[1:]]))
    raise KeyboardInterrupt


def _say(command: str) -> None:
    """Print the two lines. What goes on is what the user typed: the Makefile's command, or this one."""
    # The terminal has printed ^C where the next line begins.
    begin = "\n" if sys.stderr.isatty() else ""
    # The stream may be in the middle of a line of another thread's: this goes past it.
    os.write(2, f"{begin}{STAYS}\nplimsoll: to go on: {os.environ.get(COMMAND) or command}\n".encode())


def _without_traceback(hook: Callable) -> Callable:
    def quiet(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        if not (happened.is_set() and issubclass(kind, KeyboardInterrupt)):
            hook(kind, problem, trace)

    return quiet
