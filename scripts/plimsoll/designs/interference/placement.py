"""Check where the clients and servers of a run are bound, as the kernel reports it while they run."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.measuring import binding_check


def wanted(members: Iterable, bindings: Iterable[list[int] | None]) -> dict[str, set[int]]:
    """Return the processors that programs must be bound to, by name of the program: the server's and the client's.

    The client is the member itself. A member without a binding is left out.
    """
    processors: dict[str, set[int]] = {}
    for member, binding in zip(members, bindings, strict=True):
        if binding:
            for role in member.roles:
                processors.setdefault(Path(role.command[0]).name, set()).add(binding[1])
            processors.setdefault(member.stage, set()).add(binding[0])
    return processors


def programs(groups: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the name of each process in the cgroups, with its folder in /proc."""
    for file in (file for group in groups for file in group.rglob("cgroup.procs")):
        for process in file.read_text().split():
            folder = Path(f"/proc/{process}")
            try:
                yield (folder / "comm").read_text().strip(), folder
            except OSError:
                continue  # it has ended


def problem(groups: Iterable[Path], needed: dict[str, set[int]]) -> str | None:
    """Look until all programs are bound as `needed`, for up to a second; None if they are.

    Otherwise return in words where they were bound at the last look.
    """
    groups = list(groups)
    return binding_check.problem(lambda: programs(groups), needed)
