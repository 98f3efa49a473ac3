"""The little that the workflow does with cgroups, on version 1 and 2: groups of its own, and the processor time of a group."""

import contextlib
import os
import time
from pathlib import Path

from plimsoll.errors import Unavailable


def mounts(text: str | None = None) -> dict[str, Path]:
    """Where the cpu and cpuacct controllers are mounted ('cpu', 'cpuacct'), and version 2 ('unified')."""
    if text is None:
        text = Path("/proc/self/mounts").read_text()
    found: dict[str, Path] = {}
    for line in text.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found.setdefault("unified", Path(where))
        elif kind == "cgroup":
            for controller in {"cpu", "cpuacct"} & set(options.split(",")):
                found.setdefault(controller, Path(where))
    return found


def version(found: dict[str, Path]) -> str:
    """'1' or '2': the version that controls processor time here; 'none' without cgroups."""
    if "cpu" in found:
        return "1"
    return "2" if "unified" in found else "none"


def cpu_root(found: dict[str, Path]) -> Path | None:
    """Folder under which groups with the cpu controller can be made."""
    return found.get("cpu") or found.get("unified")


def cpu_seconds(group: Path) -> float:
    """Processor time that a group has used, in seconds; 0 if it is gone."""
    try:
        if (group / "cpuacct.usage").exists():
            return int((group / "cpuacct.usage").read_text()) / 1e9
        for line in (group / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec"):
                return int(line.split()[1]) / 1e6
    except OSError:
        pass
    return 0.0


def accounting_root(found: dict[str, Path]) -> Path | None:
    """Group whose processor time is the whole machine's, to the nanosecond or microsecond."""
    for key in ("cpuacct", "unified"):
        if key in found and cpu_seconds(found[key]) > 0:
            return found[key]
    return None


def account(found: dict[str, Path], name: str = "plimsoll") -> Path | None:
    """Put this process, and so its children, into a version 2 group that only counts their processor time; the group, or None.

    None where the group would be scheduled as one entity too (the cpu controller reaches it) or cannot be made: it must not
    be one more difference between bare metal and a container. The group stays, empty, for the next run.
    """
    root = found.get("unified")
    try:
        if root is None or "cpu" in (root / "cgroup.subtree_control").read_text().split():
            return None
        (root / name).mkdir(exist_ok=True)
        (root / name / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return None
    return root / name


def of_process(pid: int, found: dict[str, Path]) -> Path | None:
    """The group of a process in the hierarchy that accounts processor time."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(",") and "cpuacct" in found:
            return found["cpuacct"] / path.lstrip("/")
        if not controllers and "cpuacct" not in found and "unified" in found:
            return found["unified"] / path.lstrip("/")
    return None


def make(parent: str, children: list[str], found: dict[str, Path]) -> list[Path]:
    """Groups with the cpu controller, all under one parent, as liu2020 (section 4.3) asks for. OSError if that is refused."""
    root = cpu_root(found)
    if root is None:
        raise OSError("no cpu controller is mounted")
    top = root / parent
    for folder in (*reversed([p for p in top.parents if root in p.parents]), top):
        folder.mkdir(exist_ok=True)
        if version(found) == "2":
            (folder.parent / "cgroup.subtree_control").write_text("+cpu")
    if version(found) == "2":
        (top / "cgroup.subtree_control").write_text("+cpu")
    groups = [top / child for child in children]
    for group in groups:
        group.mkdir(exist_ok=True)
    return groups


def remove(parent: str, found: dict[str, Path], seconds: float = 5) -> None:
    """Remove a group and those below it, waiting a while for processes that have just been killed to leave them."""
    root = cpu_root(found)
    end = time.monotonic() + seconds
    while root is not None and (root / parent).is_dir():
        for folder, _, _ in os.walk(root / parent, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        if time.monotonic() > end:
            raise Unavailable(f"the cgroup {root / parent} cannot be removed: a process is in it")
        if (root / parent).is_dir():
            time.sleep(0.01)
