"""Cgroups that are frozen, whose processes do not run: which they are, and how they continue."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from plimsoll.host import cgroup


def frozen(groups: Iterable[Path], mounted: dict[str, Path]) -> list[Path]:
    """Return the frozen groups among these groups and all groups below them. `docker pause` freezes a group, for example."""
    root = _freezer(mounted)
    there = filter(None, (cgroup.counterpart(group, mounted, root) for group in groups)) if root else ()
    return [group for group in cgroup.with_those_below(there) if _is_frozen(group)]


def all_frozen(mounted: dict[str, Path]) -> list[Path]:
    """Return every frozen group of this host."""
    root = _freezer(mounted)
    return [group for group in cgroup.with_those_below([root]) if _is_frozen(group)] if root else []


def thaw(group: Path) -> None:
    """Let the processes of a frozen group continue. Do nothing where this user may not."""
    for file, word in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        if (path := group / file).exists():
            with contextlib.suppress(OSError):
                path.write_text(word)


def _freezer(mounted: dict[str, Path]) -> Path | None:
    """Return the root of the groups that can be frozen; None without such groups."""
    return mounted.get("freezer", mounted.get("unified"))


def _is_frozen(group: Path) -> bool:
    for file, words in (("freezer.state", {"FROZEN", "FREEZING"}), ("cgroup.events", {"frozen 1"})):
        with contextlib.suppress(OSError):
            if words & set((group / file).read_text().splitlines()):
                return True
    return False
