"""The means of measuring: engine, image, network, second host, disk and memory. Where one fails, nothing was measured.

They are looked at only after an attempt that did not end well, so that a run's own cost does not grow.
"""

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import Outage, PlimsollError
from plimsoll.host import processes
from plimsoll.measuring import noise, process

# How long to wait until what failed works again.
WAIT_SECONDS = 60.0
LOOK_SECONDS = 1.0
# With less than this left a disk is full: a run writes some hundred kB, a container's start a little more.
FULL_BYTES = 16 * 2**20
FREE_DISK = "free some of it"
FREE_MEMORY = "free some of it, or take a smaller profile"
# What the kernel says when it is the host that cannot, and not the program that did something wrong.
OF_THE_HOST = {
    errno.ENOSPC: ("a disk of this host is full", FREE_DISK),
    errno.EDQUOT: ("the disk quota of this user is used up", FREE_DISK),
    errno.EROFS: ("a file system of this host can no longer be written", "look into the kernel's log (dmesg)"),
    errno.EIO: ("a disk of this host fails", "look into the kernel's log (dmesg)"),
    errno.ENOMEM: ("this host has no memory left", FREE_MEMORY),
    errno.EAGAIN: ("this host starts no more processes", "end some"),
    errno.EMFILE: ("this process may open no more files", "raise its limit (ulimit -n)"),
    errno.ENFILE: ("this host opens no more files", "end some processes"),
}


def outage_of(error: OSError) -> Outage | None:
    """The Outage that an error of the operating system stands for; None if it is not the host's."""
    if error.errno not in OF_THE_HOST:
        return None
    cause, remedy = OF_THE_HOST[error.errno]
    return Outage(f"{cause} ({error})", remedy)


def refuse_full(folder: Path) -> None:
    """Outage if the disk on which a folder lies has no room left; a folder that cannot be seen from here is left out."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return
    # Some file systems (btrfs) do not count their files.
    if disk.f_bavail * disk.f_frsize < FULL_BYTES or (disk.f_files and not disk.f_favail):
        raise Outage(f"the disk of {folder} is full", FREE_DISK)


def refuse_killed(before: int) -> None:
    """Outage if the kernel has killed more than it had `before`, by `noise.killed_for_memory`.

    The kernel also kills what goes beyond its container's own limit: not to be asked where containers have limits.
    """
    if noise.killed_for_memory() > before:
        raise Outage("the kernel killed programs because this host had no memory left", FREE_MEMORY)


def refuse_undying() -> None:
    """Outage if a process that was started after this one was killed and does not end."""
    if before := processes.undying():
        # One that is about to end waits for a moment too.
        time.sleep(LOOK_SECONDS)
        for number in sorted(before & processes.undying()):
            raise process.stuck(number)


def restore(problem: Outage, examine: Callable[[], None], mend: Callable[[Outage], None]) -> None:
    """Mend what failed, or wait until somebody else has; the last Outage if `examine` still raises one after WAIT_SECONDS.

    `mend` is called once for each problem that is found on the way.
    """
    print(
        f"plimsoll: {problem.cause}; mending that, or waiting for it, at most {WAIT_SECONDS:g} s.", file=sys.stderr, flush=True
    )
    end, tried = time.monotonic() + WAIT_SECONDS, set()
    while True:
        if problem.cause not in tried:
            tried.add(problem.cause)
            try:
                mend(problem)
            except (PlimsollError, OSError) as failure:
                print(f"plimsoll: that could not be mended from here: {failure}", file=sys.stderr, flush=True)
        try:
            return examine()
        except Outage as outage:
            problem = outage
        if time.monotonic() >= end:
            raise problem
        time.sleep(LOOK_SECONDS)
