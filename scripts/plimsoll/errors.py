"""Problems that a user can fix, and how they reach the user."""

import os
import signal
import sys
from collections.abc import Callable, Sequence

# Holds the process number of the workflow whose job this process is (plimsoll.measuring.stop).
WORKFLOW = "PLIMSOLL_WORKFLOW"


class PlimsollError(Exception):
    """A problem that the user can fix; the text is one sentence that names the file, key or command and what to do."""


class Damaged(PlimsollError):
    """A file of the workflow's own does not hold what it should."""


class Unavailable(PlimsollError):
    """Something this host cannot do; the text is the reason."""


class Outage(PlimsollError):
    """The means of measuring failed (engine, image, network, second host, disk or memory of the host): nothing was measured.

    `cause` is what is wrong, `remedy` what the user can do about it; the text is both as one sentence.
    """

    def __init__(self, cause: str, remedy: str):
        super().__init__(f"{cause}: {remedy}.")
        self.cause, self.remedy = cause, remedy


class Lasting(Outage):
    """An Outage that every attempt in any runtime would meet: the workflow stops at once."""


class ImageGone(Outage):
    """An image, or a form of it, was removed after it had been built."""


def guarded(work: Callable[[], int | None], refused: int = 1) -> int:
    """Do a stage's work; its exit status: the one that it gives, or 0. A PlimsollError becomes one line on standard error and
    the status `refused`, and so does a lack of memory.

    SIGTERM becomes an exception, as an interruption does, so that what the work has started is taken down. An interrupted job
    of a workflow prints nothing.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        status = work()
    except PlimsollError as problem:
        print(f"plimsoll: {plain(str(problem))}", file=sys.stderr)
        return refused
    except MemoryError:
        print("plimsoll: this host has no memory left: free some of it, or take a smaller profile.", file=sys.stderr)
        return refused
    except KeyboardInterrupt:
        # Its workflow explains an interruption in two lines, and a job may end after these.
        if WORKFLOW not in os.environ:
            print("plimsoll: interrupted.", file=sys.stderr)
        return 130
    return status or 0


def shown(value: object, most: int = 60) -> str:
    """A value in a sentence for people: in quotes if it is a text, without what a terminal would obey, and not all of a long
    one."""
    # Python refuses to write a number of thousands of digits.
    text = "a huge number" if isinstance(value, int) and abs(value) > 10**20 else repr(value)
    return begun(text, most)


def begun(text: str, most: int) -> str:
    """A text, or the beginning of a long one, for a sentence."""
    return text if len(text) <= most else f"{text[:most]}…"


def first_of(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """The first of many names, for a sentence, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return between.join([*names[:most], *more])


def plain(text: str) -> str:
    """A text without what a terminal would obey: a program that is measured may have printed it."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt
