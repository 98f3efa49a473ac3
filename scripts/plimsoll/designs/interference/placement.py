"""Where clients and servers of a run are bound, as the kernel says while they run."""

import time
from collections.abc import Iterable
from pathlib import Path

from plimsoll.host import cpulist

# How long to look for them: between two iterations there is no client for a moment.
LOOK_SECONDS = 1.0
AGAIN_SECONDS = 0.02


def wanted(members: Iterable, bindings: Iterable[list[int] | None]) -> dict[str, set[int]]:
    """By name of the server's program, and of the client's (the member's), the processors that they have to be bound to."""
    processors: dict[str, set[int]] = {}
    for member, binding in zip(members, bindings, strict=True):
        if binding:
            for role in member.roles:
                processors.setdefault(Path(role.command[0]).name, set()).add(binding[1])
            processors.setdefault(member.stage, set()).add(binding[0])
    return processors


def seen(groups: Iterable[Path], names: Iterable[str]) -> dict[str, set[int]]:
    """The processors that programs of these names in the cgroups are bound to, of those that are bound to one."""
    bound: dict[str, set[int]] = {name: set() for name in names}
    for file in (file for group in groups for file in group.rglob("cgroup.procs")):
        for process in file.read_text().split():
            try:
                name = Path(f"/proc/{process}/comm").read_text().strip()
                allowed = Path(f"/proc/{process}/status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
            except (OSError, IndexError):
                continue  # it has ended
            processors = cpulist.parse(allowed)
            if name in bound and len(processors) == 1:
                bound[name] |= set(processors)
    return bound


def problem(groups: Iterable[Path], needed: dict[str, set[int]]) -> str | None:
    """Look until all are seen where they have to be; otherwise, in words, what was seen last."""
    groups, end = list(groups), time.monotonic() + LOOK_SECONDS
    while True:
        there = seen(groups, needed)
        if there == needed:
            return None
        if time.monotonic() >= end:
            wrong = {name: cpulist.format(there[name]) or "none" for name in needed if there[name] != needed[name]}
            return "; ".join(
                f"{name} was bound to processor {elsewhere}, and should be to {cpulist.format(needed[name])}"
                for name, elsewhere in wrong.items()
            )
        time.sleep(AGAIN_SECONDS)
