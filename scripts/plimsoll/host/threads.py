"""Threads, with the kernel's error on a host that starts no more of them."""

import errno
import threading
from collections.abc import Callable


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
