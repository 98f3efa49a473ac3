"""Processes of this host by what the kernel says of them."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

# In the masks of signals that wait for a thread.
KILLED = 1 << (signal.SIGKILL - 1)
TICKS = os.sysconf("SC_CLK_TCK")
# A loader that is asked for a program with libraries of its own: what it is called, and its option before the program.
LOADER, LIBRARIES = "ld-linux", "--library-path"
# The numbers of a process in the namespaces around it, of which the last is in its own.
FIRST = re.compile(r"^NSpid:.*\t1$", re.MULTILINE)


def named(names: Collection[str], user: int | None = None) -> list[int]:
    """Numbers of the processes with one of these names, of all users or of one."""
    return [number for number, name in _names(user) if name in names]


def beginning(name: str, user: int) -> list[int]:
    """Numbers of a user's processes whose name begins so: some programs start themselves anew under a longer one."""
    return [number for number, full in _names(user) if full.startswith(name)]


def words(process: int) -> list[str]:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def _names(user: int | None) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if user in (None, folder.stat().st_uid):
                yield int(folder.name), (folder / "comm").read_text().strip()


def name(process: int) -> str:
    """What a process is called, as far as the kernel tells. One that its loader was asked for is called as the loader there."""
    try:
        told = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"
    return _loaded(words(process)) or told if told.startswith(LOADER) else told


def _loaded(words: list[str]) -> str:
    """What a loader with these words has loaded; nothing if it does not say."""
    after = words.index(LIBRARIES) + 2 if LIBRARIES in words else len(words)
    return Path(words[after]).name if after < len(words) else ""


def now() -> int:
    """This moment as the kernel notes it of a process that starts: in ticks since boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)


def started_since(moment: int) -> list[int]:
    """Numbers of the processes that were started at a moment (`now`) or later, and have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            seen = _seen(stat)
            if seen.started >= moment and seen.state not in "ZX":
                found.append(int(stat.parts[2]))
    return found


def root(groups: Iterable[Path]) -> Path | None:
    """The root folder of a process in one of these cgroups, as root of this host sees it; None if there is none, or for anybody
    else: file systems that users mount may be programs, and need not answer."""
    for group in groups if os.geteuid() == 0 else ():
        with contextlib.suppress(OSError):
            for number in (group / "cgroup.procs").read_text().split():
                return Path(f"/proc/{number}/root")
    return None


def stopped(members: Iterable[int]) -> list[int]:
    """Those of these processes that somebody has stopped (SIGSTOP), or holds with a debugger."""
    found = []
    for number in members:
        with contextlib.suppress(OSError):
            if _seen(f"/proc/{number}/stat").state in "Tt":
                found.append(number)
    return found


def descendants(process: int) -> set[int]:
    """The numbers of what a process has started, and of what that has, as far as it has not ended; none where the kernel does
    not list them."""
    found: set[int] = set()
    waiting = [process]
    while waiting:
        children = set(_children(waiting.pop())) - found
        found |= children
        waiting += children
    return found


def _children(process: int) -> Iterator[int]:
    """What a process's threads have started; nothing if it has ended."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError):
                yield from map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())


def of_containers(members: Collection[int]) -> set[int]:
    """Of these processes those for which containers were started: what the first process of a namespace has started first, in
    its own session. What it has adopted was started from outside, in another one."""
    seen = {}
    for number in members:
        with contextlib.suppress(OSError):
            seen[number] = _seen(Path(f"/proc/{number}/stat"))
    children: dict[int, list[tuple[int, int]]] = {}
    for number, child in seen.items():
        if child.parent in seen and child.session == seen[child.parent].session:
            children.setdefault(child.parent, []).append((child.started, number))
    return {min(started)[1] for parent, started in children.items() if _is_first(parent)}


def _is_first(process: int) -> bool:
    """Whether a process is the first one of a namespace of processes."""
    try:
        return bool(FIRST.search(Path(f"/proc/{process}/status").read_text(errors="replace")))
    except OSError:
        return False


def undying() -> set[int]:
    """Numbers of the processes that were started after this one, were killed, and do not end: one of their threads is in the
    kernel and is not to be woken."""
    begun, found = _seen(Path("/proc/self/stat")).started, set()
    for status in Path("/proc").glob("[0-9]*/task/[0-9]*/status"):
        with contextlib.suppress(OSError):
            rows = dict(line.partition(":\t")[::2] for line in status.read_text(errors="replace").splitlines())
            pending = int(rows["SigPnd"], 16) | int(rows["ShdPnd"], 16)
            if rows["State"].startswith("D") and pending & KILLED and _seen(status.with_name("stat")).started >= begun:
                found.add(int(status.parts[2]))
    return found


class _Seen(NamedTuple):
    """What the kernel says of a process or a thread: the letter for what it does, the numbers of its parent and its session,
    and when it was started, in ticks since boot."""

    state: str
    parent: int
    session: int
    started: int


def _seen(stat: Path | str) -> _Seen:
    _, fields = stat_of(stat)
    return _Seen(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def stat_of(stat: Path | str) -> tuple[str, list[bytes]]:
    """What a process's or a thread's file `stat` says: its name, which may hold anything, and the fields that follow, from its
    state on. OSError if it has ended."""
    with open(stat, "rb") as file:
        head, _, tail = file.read().rpartition(b")")
    return head.partition(b"(")[2].decode(errors="replace"), tail.split()


def place_in_kernel(process: int) -> str:
    """Where in the kernel a process waits, by the names of its functions, as far as this user is told."""
    places = set()
    for thread in Path(f"/proc/{process}/task").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            places.add((thread / "wchan").read_text().strip())
    return ", ".join(sorted(places - {"", "0"})) or "it does not say where"
