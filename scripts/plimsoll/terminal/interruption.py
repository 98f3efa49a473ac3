"""Handle Ctrl-C: print what is kept and how to continue, in one line, in place of Snakemake's errors."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

# The Makefile puts the command that the user typed into this variable, if it was not Snakemake's.
COMMAND = "PLIMSOLL_COMMAND"
# The exit status that a shell reports for a program that Ctrl-C ended.
STATUS = 130
STAYS = "plimsoll: interrupted. What was measured is kept; the next start completes pages and verdicts. To go on:"

# Set from the first Ctrl-C on. What Snakemake prints after it is about jobs that were meant to end.
happened = threading.Event()


def to_stream(text: bytes) -> None:
    """Write a text to the standard error stream. A terminal has already printed ^C on this line."""
    # Another thread may be in the middle of a line on the stream, so the text is written past it.
    os.write(2, b"\n" + text if os.isatty(2) else text)


# Writes to where the user reads. The display of a workflow replaces it (plimsoll.terminal.live).
write: Callable[[bytes], None] = to_stream


def watch() -> None:
    """Make Ctrl-C end this Snakemake with one line. Where it is ignored, as in the background, it stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread can set signal handlers
            signal.signal(signal.SIGINT, _interrupted)
            sys.excepthook = _without_traceback(sys.excepthook)


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a workflow and return its exit status. The workflow handles Ctrl-C; this process then ends with STATUS."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        with subprocess.Popen(command, env=environment) as started:
            try:
                status = started.wait()
            except KeyboardInterrupt:  # raised for SIGTERM, which only this process got
                # The workflow's jobs end when it does (plimsoll.measuring.stop).
                started.kill()
                raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        sys.exit(STATUS)
    return status


@contextlib.contextmanager
def explain() -> Iterator[None]:
    """Make Ctrl-C between two workflows that this process starts end it with the one line."""
    try:
        yield
    except KeyboardInterrupt:
        _say(shlex.join(["python", "-m", "plimsoll", *sys.argv[1:]]))
        sys.exit(STATUS)


def _interrupted(*_: object) -> None:
    """Print the line and interrupt Snakemake, which ends its jobs. A second Ctrl-C ends it at once."""
    happened.set()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _say(shlex.join(["snakemake", *sys.argv[1:]]))
    raise KeyboardInterrupt


def _say(command: str) -> None:
    """Print the line. Its command is the one that the user typed: the Makefile's, or otherwise `command`."""
    write(f"{STAYS} {os.environ.get(COMMAND) or command}\n".encode())


def _without_traceback(hook: Callable) -> Callable:
    def quiet(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        if not (happened.is_set() and issubclass(kind, KeyboardInterrupt)):
            hook(kind, problem, trace)

    return quiet
