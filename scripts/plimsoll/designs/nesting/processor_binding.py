"""Bind the client and the server of a test, and check where they are bound, as the kernel reports it while they run.

Netperf binds its own programs. A virtual machine has one processor, so an end in it is bound by binding the machine.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.designs.nesting.ends import Pair
from plimsoll.host import cpulist
from plimsoll.measuring import binding_check as of_programs
from plimsoll.measuring.process import read_output
from plimsoll.runtimes.base import Node
from plimsoll.runtimes.networks.second_host import SshMachine, ours
from plimsoll.workloads import netperf

# A process that watches another machine and takes longer than this hangs (s).
WATCH_SECONDS = 20.0


def bound_command(words: list[str], pair: Pair, binding: list[int] | None) -> list[str]:
    """Return the command of a test that also binds client and server to their processors.

    Virtual machines are bound at once. Without a `binding` both ends are free.
    """
    here = os.sched_getaffinity(0)
    places = binding or (None, None)
    for node, place in zip((pair.client, pair.server), places, strict=True):
        if node.whole:
            node.bind(here if place is None else {place})
    own = (None if node.whole else place for node, place in zip((pair.client, pair.server), places, strict=True))
    return netperf.bound_command(words, *own)


def watching(pair: Pair) -> subprocess.Popen | None:
    """Start to watch where a server on another machine is bound, and return the process that does it.

    Call it before the test starts. Return None if the server is on this machine.
    """
    return pair.server.watch(str(pair.port)) if isinstance(pair.server, SshMachine) else None


def problem(pair: Pair, binding: list[int], watch: subprocess.Popen | None = None) -> str | None:
    """Look until client and server are bound to these processors; None if they are.

    Otherwise return in words what was seen. `watch` is the result of `watching`.
    """
    ends = list(zip((("netperf", pair.client), ("netserver", pair.server)), binding, strict=True))
    wholes = [wrong_place(node, place) for (_, node), place in ends if node.whole]
    needed = {name: {place} for (name, node), place in ends if not (node.whole or isinstance(node, SshMachine))}
    here = of_programs.problem(lambda: programs(pair.port), needed)
    return "; ".join(filter(None, [*wholes, here, _there(pair.server, binding[1], watch) if watch else None])) or None


def _there(server: SshMachine, place: int, watch: subprocess.Popen) -> str | None:
    """Return in words where a server on another machine was bound; None if it was bound to processor `place`."""
    seen, _ = read_output(watch, WATCH_SECONDS) or ("", "")
    bound = [line.removeprefix("bound ") for line in ours(seen)]
    places = sorted({place for place in bound if place.isdigit()}) or ["none"]
    if places == [str(place)]:
        return None
    return f"netserver on {server.name} was bound to processor {', '.join(places)}, and should be to {place}"


def wrong_place(machine: Node, place: int) -> str | None:
    """Return in words where a virtual machine may run; None if it is bound to processor `place`."""
    there = set()
    for thread in machine.threads():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            there |= os.sched_getaffinity(thread)
    if there == {place}:
        return None
    return f"the virtual machine was bound to {cpulist.format(there)}, and should be to {place}"


def programs(port: int) -> Iterator[tuple[str, Path]]:
    """Yield (name, folder in /proc) for the programs whose command line names a port.

    Each word of the command line counts as a name of its program. No other program has this port: it belongs to the
    run.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # it has ended
        if str(port) in words:
            yield from ((name, folder) for name in {Path(word).name for word in words})
