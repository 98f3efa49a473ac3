"""Processes of this host, as the kernel shows them in /proc."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

# Bit of SIGKILL in a mask of the signals that wait for a thread.
KILLED = 1 << (signal.SIGKILL - 1)
TICKS = os.sysconf("SC_CLK_TCK")
# A dynamic loader may be started in place of a program, to load it with other libraries. Beginning of the loader's
# name, and its option before the libraries' path and the program.
LOADER, LIBRARIES = "ld-linux", "--library-path"
# PIDs of a process in the namespaces around it. The last is in its own namespace.
FIRST = re.compile(r"^NSpid:.*\t1$", re.MULTILINE)


def pids_by_name(names: Collection[str], user: int | None = None) -> list[int]:
    """Return the PIDs of processes with one of these names, of all users or of one."""
    return [number for number, name in _names(user) if name in names]


def beginning(name: str, user: int) -> list[int]:
    """Return the PIDs of a user's processes whose name begins with `name`: some programs start themselves again under a
    longer one."""
    return [number for number, full in _names(user) if full.startswith(name)]


def words(process: int) -> list[str]:
    """Return the command line of a process as words; an empty list if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def environment(process: int) -> dict[bytes, bytes]:
    """Return the variables that a process was started with; empty if it has ended, or is another user's."""
    try:
        entries = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (entry.partition(b"=") for entry in reversed(entries) if entry)}


def numbers() -> list[int]:
    """Return the PIDs of all processes."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def _names(user: int | None) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if user in (None, folder.stat().st_uid):
                yield int(folder.name), (folder / "comm").read_text().strip()


def name(process: int) -> str:
    """Return the name of a process, as far as the kernel tells.

    For a program that a dynamic loader has loaded it is the name that the loader was given.
    """
    try:
        told = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"
    return _loaded(words(process)) or told if told.startswith(LOADER) else told


def _loaded(words: list[str]) -> str:
    """Return the name of the program that a loader with these words has loaded; an empty text if the words do not say."""
    after = words.index(LIBRARIES) + 2 if LIBRARIES in words else len(words)
    return Path(words[after]).name if after < len(words) else ""


def now() -> int:
    """Return the present moment in the unit in which the kernel notes starts of processes: clock ticks since boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)


def started_since(moment: int) -> list[int]:
    """Return the PIDs of processes that were started at a moment (`now`) or later, and have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            seen = facts(stat)
            if seen.started >= moment and seen.state not in "ZX":
                found.append(int(stat.parts[2]))
    return found


def root(groups: Iterable[Path]) -> Path | None:
    """Return the root folder of a process in one of these cgroups, as this host's root user sees it; None if they hold
    no process.

    Return None also if this process is not root: a file system that a user mounts may be a program, and need not
    answer.
    """
    for group in groups if os.geteuid() == 0 else ():
        with contextlib.suppress(OSError):
            for number in (group / "cgroup.procs").read_text().split():
                return Path(f"/proc/{number}/root")
    return None


def stopped_pids(members: Iterable[int]) -> list[int]:
    """Return the PIDs of these processes that are stopped (SIGSTOP) or held by a debugger."""
    found = []
    for number in members:
        with contextlib.suppress(OSError):
            if facts(f"/proc/{number}/stat").state in "Tt":
                found.append(number)
    return found


def descendants(process: int) -> set[int]:
    """Return the PIDs of all processes below a process that have not ended; an empty set where the kernel does not list
    children."""
    found: set[int] = set()
    waiting = [process]
    while waiting:
        children = set(_children(waiting.pop())) - found
        found |= children
        waiting += children
    return found


def _children(process: int) -> Iterator[int]:
    """Yield the PIDs that a process's threads have started; nothing if it has ended."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError):
                yield from map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())


def of_containers(members: Collection[int]) -> set[int]:
    """Return the PIDs of these processes for which containers were started.

    Such a process is the first one that the first process of a namespace has started, in its own session. A process
    that it has adopted was started from outside, in another session.
    """
    seen = {}
    for number in members:
        with contextlib.suppress(OSError):
            seen[number] = facts(Path(f"/proc/{number}/stat"))
    children: dict[int, list[tuple[int, int]]] = {}
    for number, child in seen.items():
        if child.parent in seen and child.session == seen[child.parent].session:
            children.setdefault(child.parent, []).append((child.started, number))
    return {min(started)[1] for parent, started in children.items() if _is_first(parent)}


def _is_first(process: int) -> bool:
    """Return whether a process is the first one of a PID namespace."""
    try:
        return bool(FIRST.search(Path(f"/proc/{process}/status").read_text(errors="replace")))
    except OSError:
        return False


def undying() -> set[int]:
    """Return the PIDs of processes that were started after this one, were killed, and do not end.

    One of their threads is in the kernel and cannot be woken.
    """
    begun, found = facts(Path("/proc/self/stat")).started, set()
    for status in Path("/proc").glob("[0-9]*/task/[0-9]*/status"):
        with contextlib.suppress(OSError):
            rows = dict(line.partition(":\t")[::2] for line in status.read_text(errors="replace").splitlines())
            pending = int(rows["SigPnd"], 16) | int(rows["ShdPnd"], 16)
            if rows["State"].startswith("D") and pending & KILLED and facts(status.with_name("stat")).started >= begun:
                found.add(int(status.parts[2]))
    return found


class Facts(NamedTuple):
    """Facts about a process or thread: letter of its `state`, PID of its `parent`, its `session`, and when it `started`
    (ticks since boot)."""

    state: str
    parent: int
    session: int
    started: int


def facts(stat: Path | str) -> Facts:
    """Return the facts in a file `stat`. Raise OSError if the process or thread has ended."""
    _, fields = stat_of(stat)
    return Facts(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def stat_of(stat: Path | str) -> tuple[str, list[bytes]]:
    """Return the name of a process or thread and the fields that follow it, from the state on, from its file `stat`.

    The name may hold any character. Raise OSError if the process has ended.
    """
    with open(stat, "rb") as file:
        head, _, tail = file.read().rpartition(b")")
    return head.partition(b"(")[2].decode(errors="replace"), tail.split()


def place_in_kernel(process: int) -> str:
    """Return the names of the kernel's functions in which a process waits, as far as this user may see them."""
    places = set()
    for thread in Path(f"/proc/{process}/task").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            places.add((thread / "wchan").read_text().strip())
    return ", ".join(sorted(places - {"", "0"})) or "it does not say where"
