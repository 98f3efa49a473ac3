"""Where the client and the server of a test are bound, as the kernel says while they run.

Netperf binds its own programs. A virtual machine has one processor: its end is bound by binding the machine.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.designs.nesting.ends import Pair
from plimsoll.environments.base import Node
from plimsoll.environments.networks.second_host import Reached, ours
from plimsoll.host import cpulist
from plimsoll.measuring import bound as of_programs
from plimsoll.measuring.process import said
from plimsoll.workloads import netperf

# A look at another machine that takes longer hangs (s).
WATCH_SECONDS = 20.0


def bound(words: list[str], pair: Pair, binding: list[int] | None) -> list[str]:
    """The words of a test between the ends of a pair, with each of them bound to its processor. Without a binding both are
    free."""
    here = os.sched_getaffinity(0)
    places = binding or (None, None)
    for node, place in zip((pair.client, pair.server), places, strict=True):
        if node.whole:
            node.bind(here if place is None else {place})
    own = (None if node.whole else place for node, place in zip((pair.client, pair.server), places, strict=True))
    return netperf.bound(words, *own)


def watching(pair: Pair) -> subprocess.Popen | None:
    """What looks where the server is bound, to be started before a test: on another machine. None if it is on this one."""
    return pair.server.watch(str(pair.port)) if isinstance(pair.server, Reached) else None


def problem(pair: Pair, binding: list[int], watch: subprocess.Popen | None = None) -> str | None:
    """Look until client and server are bound to these processors; in words, what was seen instead."""
    ends = list(zip((("netperf", pair.client), ("netserver", pair.server)), binding, strict=True))
    wholes = [elsewhere(node, place) for (_, node), place in ends if node.whole]
    needed = {name: {place} for (name, node), place in ends if not (node.whole or isinstance(node, Reached))}
    here = of_programs.problem(lambda: programs(pair.port), needed)
    return "; ".join(filter(None, [*wholes, here, _there(pair.server, binding[1], watch) if watch else None])) or None


def _there(server: Reached, place: int, watch: subprocess.Popen) -> str | None:
    """In words, where a server on another machine was bound, unless that is one processor."""
    seen, _ = said(watch, WATCH_SECONDS) or ("", "")
    bound = [line.removeprefix("bound ") for line in ours(seen)]
    places = sorted({place for place in bound if place.isdigit()}) or ["none"]
    if places == [str(place)]:
        return None
    return f"netserver on {server.name} was bound to processor {', '.join(places)}, and should be to {place}"


def elsewhere(machine: Node, place: int) -> str | None:
    """In words, where a virtual machine may run, unless that is one processor."""
    there = set()
    for thread in machine.threads():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            there |= os.sched_getaffinity(thread)
    if there == {place}:
        return None
    return f"the virtual machine was bound to {cpulist.format(there)}, and should be to {place}"


def programs(port: int) -> Iterator[tuple[str, Path]]:
    """The names that the words of each program at a port have, with its folder in /proc. The port is the run's own."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # it has ended
        if str(port) in words:
            yield from ((name, folder) for name in {Path(word).name for word in words})
