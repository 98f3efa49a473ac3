"""Processes that a program of a run has left running when it ended.

What they do is not measured, and they disturb the next run as neighbours.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.host import cgroup, processes
from plimsoll.measuring import lock

# How long to wait for processes that are about to end, and how often to look (s).
PATIENCE, LOOK_SECONDS = 1.0, 0.02


def describe(identity: str, groups: Iterable[Path], since: int) -> str:
    """Return in words the processes that the program of the run `identity` has left running.

    They were started since a moment (`since`, of processes.now), and are in one of these cgroups or have the run's
    identity. Processes that belong to a container itself are left out. The text is empty if nothing is left, or if it
    ends within PATIENCE.
    """
    groups, end = list(groups), time.monotonic() + PATIENCE
    while there := dict(_there(identity, groups, since)):
        if time.monotonic() > end:
            return " and ".join(f"{name} (process {number})" for number, name in sorted(there.items()))
        time.sleep(LOOK_SECONDS)
    return ""


def reason(left: str) -> str:
    """Return why a run does not count whose program has `left` processes (in words)."""
    return f"it ended before what it had started: {left} went on"


def _there(identity: str, groups: list[Path], since: int) -> Iterator[tuple[int, str]]:
    """Yield the PID and the name of each process that is left."""
    grouped = cgroup.members(groups)
    # An engine may report a container as up before the container has started its program.
    grouped -= processes.of_containers(grouped)
    for number in processes.started_since(since):
        if number in grouped or lock.identity_of(number) == identity:
            yield number, processes.name(number)
