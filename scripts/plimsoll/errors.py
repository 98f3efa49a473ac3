"""What goes wrong in ways that a user can mend, and how it reaches the user."""

import signal
import sys
from collections.abc import Callable


class PlimsollError(Exception):
    """A problem that the user can mend; the text is one sentence that names the file, key or command and what to do."""


class Unavailable(PlimsollError):
    """Something this host cannot do; the text is the reason."""


def guarded(work: Callable[[], object]) -> int:
    """Do a stage's work; its exit status. A PlimsollError becomes one line on standard error and status 1.

    SIGTERM is taken as an interruption, an exception, so that what the work has started is taken down.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        work()
    except PlimsollError as problem:
        print(f"plimsoll: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("plimsoll: interrupted.", file=sys.stderr)
        return 130
    return 0


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt
