"""Threads, also where this host starts no more of them."""

import contextlib
import errno
import threading
from collections.abc import Callable, Iterator


def started(work: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
    """A thread that does the work; with `daemon` its process does not wait for it. OSError if this host starts no more."""
    thread = threading.Thread(target=work, daemon=daemon)
    try:
        thread.start()
    except RuntimeError as problem:
        # Python has no other word for it, and does not tell what the kernel said.
        raise OSError(errno.EAGAIN, "no thread can be started") from problem
    return thread


@contextlib.contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Have work done beside what is done in the context, or after it if this host starts no more threads."""
    try:
        finish = started(work).join
    except OSError:
        finish = work
    yield
    finish()
