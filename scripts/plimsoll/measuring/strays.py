"""Processes that a program of a run has left at work when it ended: what they do is not measured, and what is measured next has
them as neighbours."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.host import cgroup, processes
from plimsoll.measuring import lock

# What is on its way out is waited for (s).
PATIENCE, LOOK_SECONDS = 1.0, 0.02


def left(identity: str, groups: Iterable[Path], since: int) -> str:
    """In words, what a program has left that the run `identity` started at `since` (processes.now): processes that were started
    after it, in these cgroups or with the run's mark, without what containers have themselves. Nothing if there are none, or if
    they end in a moment."""
    groups, end = list(groups), time.monotonic() + PATIENCE
    while there := dict(_there(identity, groups, since)):
        if time.monotonic() > end:
            return " and ".join(f"{name} (process {number})" for number, name in sorted(there.items()))
        time.sleep(LOOK_SECONDS)
    return ""


def reason(left: str) -> str:
    """Why a run does not count whose program has `left` something."""
    return f"it ended before what it had started: {left} went on"


def _there(identity: str, groups: list[Path], since: int) -> Iterator[tuple[int, str]]:
    """Number and name of each."""
    grouped = cgroup.members(groups)
    # An engine says that a container is up before that has started its program.
    grouped -= processes.of_containers(grouped)
    for number in processes.started_since(since):
        if number in grouped or lock.identity_of(number) == identity:
            yield number, processes.name(number)
