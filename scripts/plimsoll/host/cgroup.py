"""Cgroups of versions 1 and 2: make, limit and remove groups, and read the processor time of a group."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.errors import Unavailable

# Group that counts the processor time of an engine and of all that it starts.
COUNTING = "plimsoll-engine"
# Group that counts the processor time of a measuring process and its children.
ACCOUNT = "plimsoll-account"
# How long to wait until killed processes have left a group that is to be removed (s).
REMOVAL_SECONDS = 5.0


def mounts(text: str | None = None) -> dict[str, Path]:
    """Return the mount points of cgroup controllers, by name.

    The names are cpu, cpuacct, cpuset, memory, perf_event and freezer (version 1), and `unified` (version 2). `text`
    has the lines of /proc/self/mounts, which is read if `text` is None.
    """
    if text is None:
        text = Path("/proc/self/mounts").read_text()
    mounted: dict[str, Path] = {}
    for line in text.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2":
            mounted.setdefault("unified", Path(where))
        elif kind == "cgroup":
            for controller in {"cpu", "cpuacct", "cpuset", "memory", "perf_event", "freezer"} & set(options.split(",")):
                mounted.setdefault(controller, Path(where))
    return mounted


def version(mounted: dict[str, Path]) -> str:
    """Return the cgroup version that controls processor time here: '1', '2', or 'none' without cgroups."""
    if "cpu" in mounted:
        return "1"
    return "2" if "unified" in mounted else "none"


def cpu_root(mounted: dict[str, Path]) -> Path | None:
    """Return the folder under which groups with the cpu controller can be made; None without cgroups."""
    return mounted.get("cpu") or mounted.get("unified")


def cpu_seconds(group: Path) -> float:
    """Return the processor time that a group has used, in seconds; 0 if the group is gone."""
    try:
        if (group / "cpuacct.usage").exists():
            return int((group / "cpuacct.usage").read_text()) / 1e9
        for line in (group / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec"):
                return int(line.split()[1]) / 1e6
    except OSError:
        pass
    return 0.0


def accounting_root(mounted: dict[str, Path]) -> Path | None:
    """Return the group whose processor time is the whole machine's, to the nanosecond or microsecond; None if no group
    counts it."""
    for key in ("cpuacct", "unified"):
        if key in mounted and cpu_seconds(mounted[key]) > 0:
            return mounted[key]
    return None


def accounting_folder(mounted: dict[str, Path]) -> Path | None:
    """Return the root folder of the groups whose processor time is known; None without such groups."""
    return mounted.get("cpuacct") or mounted.get("unified")


def make_limited(parent: str, limits: dict, mounted: dict[str, Path]) -> None:
    """Make a group `parent` below the roots of the memory and cpuset controllers, and limit it.

    `limits` has `cpus`, `nodes` and `memory_bytes`. They hold for all processes in the group together. Raise OSError if
    the kernel refuses.
    """
    for controller, values in (
        # Without swap space, as engines limit containers.
        (
            "memory",
            {
                **dict.fromkeys(("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max"), limits["memory_bytes"]),
                "memory.swap.max": 0,
            },
        ),
        ("cpuset", {"cpuset.cpus": limits["cpus"], "cpuset.mems": limits["nodes"]}),
    ):
        root = _root_of(controller, mounted)
        path = parent.strip("/")
        (group,) = _make(controller, root, str(Path(path).parent), [Path(path).name], mounted)
        if root != mounted.get("unified") and controller == "memory":
            # Version 1 counts the memory of child groups only if this is set.
            with contextlib.suppress(OSError):
                (group / "memory.use_hierarchy").write_text("1")
        for file, value in values.items():
            if (group / file).exists():
                (group / file).write_text(str(value))


def limited(parent: str, limits: dict, mounted: dict[str, Path]) -> list[Path]:
    """Make a group as `make_limited` does, and return its folders, which a process joins. Raise OSError if the kernel
    refuses."""
    make_limited(parent, limits, mounted)
    return list(dict.fromkeys(_root_of(controller, mounted) / parent.strip("/") for controller in ("memory", "cpuset")))


def memory_limit(group: str, mounted: dict[str, Path]) -> int:
    """Return the memory limit of a group in bytes. `group` is its path below the root of the memory controller."""
    folder = _root_of("memory", mounted) / group
    return int(next(path for name in ("memory.limit_in_bytes", "memory.max") if (path := folder / name).exists()).read_text())


def account(mounted: dict[str, Path], name: str = ACCOUNT) -> Path | None:
    """Put this process, and so its children, into a version 2 group that only counts their processor time.

    Return the group, or None if it cannot be made. Return None also where the cpu controller reaches the group. The
    kernel would then schedule the group as one entity, which would be one more difference between bare metal and a
    container. The group stays, empty, for the next run.
    """
    root = mounted.get("unified")
    if root is None or not _only_counts(root):
        return None
    try:
        (root / name).mkdir(exist_ok=True)
        (root / name / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return None
    return root / name


@contextlib.contextmanager
def counting(processes: Iterable[int], mounted: dict[str, Path], name: str = COUNTING) -> Iterator[list[Path]]:
    """Yield version 2 groups that count the processor time of processes, and of all that they start in this context.

    This includes processes that end before they can be seen in /proc. A process that a service manager has put into a
    group of its own is counted by that group. A process in the root is moved for this time into a group that only
    counts (as by `account`), and so is what it starts. No group is yielded where none can be made.
    """
    root = mounted.get("unified")
    group_of = {process: _of_version_2(process, root) for process in processes} if root else {}
    # A measurement that was killed has left processes in the group `name`. They count as processes of the root.
    at_root = [process for process, group in group_of.items() if group in (root, root / name)]
    others = {group for process, group in group_of.items() if group and process not in at_root}
    own = root / name if at_root and _only_counts(root) and _put(at_root, root / name) else None
    try:
        yield [*sorted(others), *([own] if own else [])]
    finally:
        put_back(mounted, name)


def put_back(mounted: dict[str, Path], name: str = COUNTING) -> None:
    """Move the processes of a `counting` group back into the root, and remove the group. Do nothing if the group is not
    there."""
    group = mounted.get("unified", Path("/none")) / name
    with contextlib.suppress(OSError):
        _put((int(line) for line in (group / "cgroup.procs").read_text().split()), group.parent)
        group.rmdir()


def _only_counts(root: Path) -> bool:
    """Return whether groups of version 2 only count, and are not scheduled as one entity each."""
    try:
        return "cpu" not in (root / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


def _put(processes: Iterable[int], group: Path) -> bool:
    """Put processes into a group, which is made if it is not there. Return whether at least one process is in it."""
    done = False
    for process in processes:
        with contextlib.suppress(OSError):
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").write_text(str(process))
            done = True
    return done


def _of_version_2(process: int, root: Path) -> Path | None:
    try:
        lines = Path(f"/proc/{process}/cgroup").read_text().splitlines()
    except OSError:
        return None
    return next((root / line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::")), None)


def of_process(pid: int, mounted: dict[str, Path], controller: str = "cpuacct") -> Path | None:
    """Return the group of a process in the hierarchy of a controller; None if the process has ended or the hierarchy is
    not mounted.

    The default, `cpuacct`, accounts processor time. Version 2 is used where version 1 does not have the controller.
    """
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and controller in mounted:
            return mounted[controller] / path.lstrip("/")
        if not controllers and controller not in mounted and "unified" in mounted:
            return mounted["unified"] / path.lstrip("/")
    return None


def of_container(identity: str, pid: int, mounted: dict[str, Path]) -> Path | None:
    """Return the cgroup of a container in the hierarchy that accounts processor time; None if there is no such group here.

    The kernel names the group of the container's first process `pid`. The result is that group or the nearest one above
    it, whichever has the container's `identity` in its name: a first process may have moved into a group below.

    The group is searched by that name where the kernel does not tell, and where `pid` is a process of another container
    or of another kernel.
    """
    group = of_process(pid, mounted)
    for above in (group, *group.parents) if group else ():
        if identity in above.name and above.is_dir():
            return above
    root = accounting_folder(mounted)
    return next(groups_named(identity, root), None) if root else None


def groups_named(identity: str, root: Path) -> Iterator[Path]:
    """Yield the groups of a hierarchy that have a container's identity in their name, at any depth.

    Groups below such a group are left out.
    """
    for place, folders, _ in os.walk(root):
        for name in [name for name in folders if identity in name]:
            folders.remove(name)
            yield Path(place, name)


def apart(pid: int, mounted: dict[str, Path]) -> list[Path]:
    """Return the group of a process, as a list. The list is empty if this process is in the same group, which then
    counts others too."""
    group = of_process(pid, mounted)
    return [group] if group and group != of_process(os.getpid(), mounted) else []


def counting_root(mounted: dict[str, Path]) -> Path | None:
    """Return the root of the groups in which perf can count: version 1's perf_event, or version 2, which always has it."""
    return mounted.get("perf_event") or mounted.get("unified")


def counterpart(group: Path, mounted: dict[str, Path], root: Path) -> Path | None:
    """Return the group of the same path in the hierarchy `root`; None if it is not there.

    Container engines make their groups in all hierarchies.
    """
    for other in mounted.values():
        if other in group.parents:
            same = root / group.relative_to(other)
            return same if same.is_dir() else None
    return None


def members(groups: Iterable[Path]) -> set[int]:
    """Return the PIDs of the processes in groups and in all groups below them."""
    found: set[int] = set()
    for group in with_those_below(groups):
        with contextlib.suppress(OSError):
            found.update(map(int, (group / "cgroup.procs").read_text().split()))
    return found


def with_those_below(groups: Iterable[Path]) -> Iterator[Path]:
    """Return the groups and all groups below them."""
    waiting = list(groups)
    while waiting:
        group = waiting.pop()
        yield group
        with contextlib.suppress(OSError):
            # Two links mean that a folder has no folders in it, and need not be listed. Other file systems do not count
            # folders so.
            if group.stat().st_nlink != 2:
                waiting += [Path(entry) for entry in os.scandir(group) if entry.is_dir(follow_symlinks=False)]


def make(parent: str, children: list[str], mounted: dict[str, Path]) -> list[Path]:
    """Make groups with the cpu controller under one parent, as in liu2020 (section 4.3), and return them.

    Raise OSError if the kernel refuses.
    """
    return _make("cpu", cpu_root(mounted), parent, children, mounted)


def make_cpusets(parent: str, places: list[dict], mounted: dict[str, Path]) -> list[Path]:
    """Make groups c0, c1, ... with the cpuset controller, each confined to its place's `cpus` and `nodes`, and return them.

    Raise OSError if the kernel refuses.
    """
    root = _root_of("cpuset", mounted)
    groups = _make("cpuset", root, parent, [f"c{i}" for i in range(len(places))], mounted)
    for group, place in zip(groups, places, strict=True):
        (group / "cpuset.cpus").write_text(place["cpus"])
        (group / "cpuset.mems").write_text(place["nodes"])
    return groups


def may_make(controller: str, mounted: dict[str, Path]) -> bool:
    """Return whether this user may make groups with a controller."""
    root = _root_of(controller, mounted)
    return root is not None and os.access(root, os.W_OK)


def _root_of(controller: str, mounted: dict[str, Path]) -> Path | None:
    """Return the root of a controller's groups; None if it is not mounted.

    Version 2 is not used where version 1 has the cpu controller.
    """
    return mounted.get(controller) or (None if "cpu" in mounted else mounted.get("unified"))


def _make(controller: str, root: Path | None, parent: str, children: list[str], mounted: dict[str, Path]) -> list[Path]:
    if root is None:
        raise OSError(f"no {controller} controller is mounted")
    top = root / parent
    for folder in (*reversed([p for p in top.parents if root in p.parents]), top):
        folder.mkdir(exist_ok=True)
        if root == mounted.get("unified"):
            (folder.parent / "cgroup.subtree_control").write_text(f"+{controller}")
        elif controller == "cpuset":
            # A new group of version 1 has no processors, so that its children could not have any either.
            for file in ("cpuset.cpus", "cpuset.mems"):
                if not (folder / file).read_text().strip():
                    (folder / file).write_text((folder.parent / file).read_text())
    if root == mounted.get("unified"):
        (top / "cgroup.subtree_control").write_text(f"+{controller}")
    groups = [top / child for child in children]
    for group in groups:
        group.mkdir(exist_ok=True)
    return groups


def remove(parent: str, seconds: float = REMOVAL_SECONDS) -> None:
    """Remove a group and those below it from every hierarchy. Wait up to `seconds` until killed processes have left them.

    Groups that this user may not remove stay. Raise Unavailable if a process is still in the group. Every hierarchy is
    searched, because container engines make the parents of their groups in all of them.
    """
    for root in hierarchies():
        _remove(root, parent, seconds)


def remove_named(identity: str) -> None:
    """Remove a container's groups from every hierarchy, as `remove` does. An engine may have them under any parent."""
    for root in hierarchies():
        for group in list(groups_named(identity, root)):
            _remove(root, str(group.relative_to(root)), REMOVAL_SECONDS)


def hierarchies() -> list[Path]:
    """Return the mount points of all cgroup hierarchies."""
    rows = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return [Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")]


def _remove(root: Path, parent: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (root / parent).is_dir():
        for folder, _, _ in os.walk(root / parent, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        if not os.access(root / parent, os.W_OK):
            return
        if time.monotonic() > end:
            raise Unavailable(f"the cgroup {root / parent} cannot be removed: a process is in it")
        if (root / parent).is_dir():
            time.sleep(0.01)
