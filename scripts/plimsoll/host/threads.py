"""Threads, with the kernel's error on a host that starts no more of them."""

import contextlib
import errno
import threading
from collections.abc import Callable, Iterator


def start(work: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
    """Start a thread that does the work, and return it. With `daemon` its process does not wait for it.

    Raise OSError if this host starts no more threads.
    """
    thread = threading.Thread(target=work, daemon=daemon)
    try:
        thread.start()
    except RuntimeError as problem:
        # Python raises RuntimeError alone, and does not pass on the kernel's error.
        raise OSError(errno.EAGAIN, "no thread can be started") from problem
    return thread


@contextlib.contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Do the work in a thread during the context, and wait for it at the end. Raise OSError as `started` does."""
    thread = start(work)
    yield
    thread.join()
