"""Where clients and servers of a run are bound, as the kernel says while they run."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.measuring import bound


def wanted(members: Iterable, bindings: Iterable[list[int] | None]) -> dict[str, set[int]]:
    """By name of the server's program, and of the client's (the member's), the processors that they have to be bound to."""
    processors: dict[str, set[int]] = {}
    for member, binding in zip(members, bindings, strict=True):
        if binding:
            for role in member.roles:
                processors.setdefault(Path(role.command[0]).name, set()).add(binding[1])
            processors.setdefault(member.stage, set()).add(binding[0])
    return processors


def programs(groups: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """The name of each program in the cgroups, with its folder in /proc."""
    for file in (file for group in groups for file in group.rglob("cgroup.procs")):
        for process in file.read_text().split():
            folder = Path(f"/proc/{process}")
            try:
                yield (folder / "comm").read_text().strip(), folder
            except OSError:
                continue  # it has ended


def problem(groups: Iterable[Path], needed: dict[str, set[int]]) -> str | None:
    """Look until all are seen where they have to be; otherwise, in words, what was seen last."""
    groups = list(groups)
    return bound.problem(lambda: programs(groups), needed)
