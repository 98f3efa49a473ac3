"""Errors that a user can fix, how they are reported, and words of messages."""

import os
import signal
import sys
from collections.abc import Callable, Sequence

# Environment variable with the process number of the workflow that this process is a job of (plimsoll.measuring.stop).
WORKFLOW = "PLIMSOLL_WORKFLOW"


class PlimsollError(Exception):
    """A problem that the user can fix. The text is one sentence: it names the file, key or command, and what to do."""


class DamagedFile(PlimsollError):
    """One of the workflow's own files has unexpected content."""


class Unavailable(PlimsollError):
    """A runtime, metric, figure, cell or claim that cannot be had on this host.

    It is raised, or stands in place of what cannot be had (plimsoll.planning.availability).
    """

    @property
    def reason(self) -> str:
        """Why it cannot be had, without a full stop at the end."""
        return str(self)


class Outage(PlimsollError):
    """A resource that measuring needs has failed, so nothing was measured. It is an engine, an image, a network,
    another host, or the host's disk or memory.

    `cause` says what is wrong, `remedy` what the user can do about it. The text is both, as one sentence.
    """

    def __init__(self, cause: str, remedy: str):
        super().__init__(f"{cause}: {remedy}.")
        self.cause, self.remedy = cause, remedy


class Incomplete(PlimsollError):
    """Something that began and did not finish. What was measured is kept."""


class Lasting(Outage):
    """An Outage that every attempt in any runtime would meet. The workflow stops at once."""


class ImageGone(Outage):
    """An image, or one of its forms, was removed after it had been built."""


def run_guarded(work: Callable[[], int | None], refused: int = 1) -> int:
    """Run a stage's work, and return its exit status: the one that it returns, or 0.

    A PlimsollError or a lack of memory becomes one line on standard error and the status `refused`. The status is 1 if
    the work had begun: for Outage and Incomplete. SIGTERM is handled as an interruption: it raises KeyboardInterrupt, so
    that processes which the work has started are ended. An interrupted job of a workflow prints nothing.
    """
    signal.signal(signal.SIGTERM, _terminated)
    try:
        status = work()
    except PlimsollError as problem:
        print(f"plimsoll: {plain(str(problem))}", file=sys.stderr)
        return 1 if isinstance(problem, Outage | Incomplete) else refused
    except MemoryError:
        print(
            "plimsoll: this host has no memory left. What was measured is kept. Free some memory, or take a smaller profile.",
            file=sys.stderr,
        )
        return refused
    except KeyboardInterrupt:
        # The workflow explains an interruption in two lines, and a job may end after them.
        if WORKFLOW not in os.environ:
            print("plimsoll: interrupted. What was measured is kept.", file=sys.stderr)
        return 130
    return status or 0


def say(text: str, what: str = "plimsoll") -> None:
    """Print a line on standard error that begins with `what`, so that a reader of the terminal sees who says it."""
    print(f"{what}: {text}", file=sys.stderr, flush=True)


def quote(value: object, most: int = 60) -> str:
    """Format a value for a message: a text in quotes, control characters escaped, and a long value shortened."""
    return shorten(repr(value), most)


def shorten(text: str, most: int) -> str:
    """Return a text, shortened to `most` characters and an ellipsis if it is longer."""
    return text if len(text) <= most else f"{text[:most]}…"


def many(number: int, what: str) -> str:
    """Return a number of things in words: `1 claim`, `2 claims`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def hours_in_words(hours: float) -> str:
    """Return a given time in words: `2 h`, or `9 minutes` if it is less than an hour."""
    return f"{round(hours, 2):g} h" if hours >= 1 else many(max(1, round(60 * hours)), "minute")


def first_of(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """Join the first `most` of many names for a sentence, with the number of the others."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return between.join([*names[:most], *more])


def plain(text: str) -> str:
    """Replace control characters in a text, because a measured program may have printed it. A terminal would obey them."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt
