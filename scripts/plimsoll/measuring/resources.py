"""The resources that measuring needs: engine, image, network, second host, disk and memory.

If one fails, nothing was measured. They are examined only after an attempt that did not end well, so that a run's own
cost does not grow.
"""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import Outage, PlimsollError, say
from plimsoll.host import processes
from plimsoll.measuring import noise, process

# How long to wait until a failed resource works again, and how often to look (s).
WAIT_SECONDS = 60.0
LOOK_SECONDS = 1.0
# A disk with less space is full: a run writes some hundred kB, a container's start a little more.
FULL_BYTES = 16 * 2**20
FREE_DISK = "free some space"
FREE_MEMORY = "free some memory, or take a smaller profile"
# Errors that mean that the host failed, and not that the program did something wrong: cause and remedy.
OF_THE_HOST = {
    errno.ENOSPC: ("a disk of this host is full", FREE_DISK),
    errno.EDQUOT: ("the disk quota of this user is used up", FREE_DISK),
    errno.EROFS: ("a file system of this host can no longer be written", "look into the kernel's log (dmesg)"),
    errno.EIO: ("a disk of this host fails", "look into the kernel's log (dmesg)"),
    errno.ENOMEM: ("this host has no memory left", FREE_MEMORY),
    errno.EAGAIN: ("this host starts no more processes", "end some processes"),
    errno.EMFILE: ("this process may open no more files", "raise its limit (ulimit -n)"),
    errno.ENFILE: ("this host opens no more files", "end some processes"),
}


def outage_of(error: OSError) -> Outage | None:
    """Return the Outage that an error of the operating system stands for; None if the error is not the host's."""
    if error.errno not in OF_THE_HOST:
        return None
    cause, remedy = OF_THE_HOST[error.errno]
    return Outage(f"{cause} ({error})", remedy)


def refuse_full(folder: Path) -> None:
    """Raise Outage if the disk of a folder has no space left. Ignore a folder that cannot be seen from here."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return
    # Some file systems (btrfs) do not count their files.
    if disk.f_bavail * disk.f_frsize < FULL_BYTES or (disk.f_files and not disk.f_favail):
        raise Outage(f"the disk of {folder} is full", FREE_DISK)


def refuse_killed(before: int) -> None:
    """Raise Outage if the kernel has killed more programs for lack of memory than the number `before`
    (noise.killed_for_memory).

    The kernel also kills programs that exceed their own container's limit. So do not call this where containers have
    limits.
    """
    if noise.killed_for_memory() > before:
        raise Outage("the kernel killed programs because this host had no memory left", FREE_MEMORY)


def refuse_undying() -> None:
    """Raise Outage if a process that was started after this one was killed and does not end."""
    if before := processes.undying():
        # A process that is about to end waits in the kernel for a moment too.
        time.sleep(LOOK_SECONDS)
        for number in sorted(before & processes.undying()):
            raise process.stuck(number)


def restore(problem: Outage, examine: Callable[[], None], repair: Callable[[Outage], None]) -> None:
    """Repair what failed, or wait until it works again. Raise the last Outage if it does not within WAIT_SECONDS.

    `examine` raises an Outage as long as something fails. `repair` tries one. It is called once for each cause that
    is found.
    """
    say(f"{problem.cause}. No run is lost. Trying to repair it for up to {WAIT_SECONDS:g} s.")
    end, tried = time.monotonic() + WAIT_SECONDS, set()
    while True:
        if problem.cause not in tried:
            tried.add(problem.cause)
            try:
                repair(problem)
            except (PlimsollError, OSError) as failure:
                say(f"Plimsoll could not repair it, and waits until it works again: {failure}")
        try:
            examine()
            return say("it works again, and measuring goes on.")
        except Outage as outage:
            problem = outage
        if time.monotonic() >= end:
            raise problem
        time.sleep(LOOK_SECONDS)
