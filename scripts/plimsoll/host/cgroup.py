"""The little that the workflow does with cgroups, on version 1 and 2: groups of its own, and the processor time of a group."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.errors import Unavailable

# The group that counts what an engine and all that it starts use.
COUNTING = "plimsoll-engine"
# The group that counts what a measuring process and its children use.
ACCOUNT = "plimsoll-account"
# How long processes that have just been killed may take to leave a group that is to be removed (s).
REMOVAL_SECONDS = 5.0


def mounts(text: str | None = None) -> dict[str, Path]:
    """Where the cpu, cpuacct, cpuset, memory, perf_event and freezer controllers are mounted, by name, and version 2
    ('unified')."""
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
    """'1' or '2': the version that controls processor time here; 'none' without cgroups."""
    if "cpu" in mounted:
        return "1"
    return "2" if "unified" in mounted else "none"


def cpu_root(mounted: dict[str, Path]) -> Path | None:
    """Folder under which groups with the cpu controller can be made."""
    return mounted.get("cpu") or mounted.get("unified")


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


def accounting_root(mounted: dict[str, Path]) -> Path | None:
    """Group whose processor time is the whole machine's, to the nanosecond or microsecond."""
    for key in ("cpuacct", "unified"):
        if key in mounted and cpu_seconds(mounted[key]) > 0:
            return mounted[key]
    return None


def accounting_folder(mounted: dict[str, Path]) -> Path | None:
    """Folder of the groups whose processor time is known."""
    return mounted.get("cpuacct") or mounted.get("unified")


def make_limited(parent: str, limits: dict, mounted: dict[str, Path]) -> None:
    """A group `parent` below the root of the memory and cpuset controllers, confined to `cpus`, `nodes` and `memory_bytes`
    together with all that is put into it. OSError if that is refused."""
    for controller, values in (
        # Without swap space, as containers of engines get it.
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
            # Version 1 counts the memory of the groups below only where it is told to.
            with contextlib.suppress(OSError):
                (group / "memory.use_hierarchy").write_text("1")
        for file, value in values.items():
            if (group / file).exists():
                (group / file).write_text(str(value))


def limited(parent: str, limits: dict, mounted: dict[str, Path]) -> list[Path]:
    """The folders of a group that `make_limited` makes, for a process to join. OSError if that is refused."""
    make_limited(parent, limits, mounted)
    return list(dict.fromkeys(_root_of(controller, mounted) / parent.strip("/") for controller in ("memory", "cpuset")))


def memory_limit(group: str, mounted: dict[str, Path]) -> int:
    """The memory that a group below the root of the controller has, in bytes."""
    folder = _root_of("memory", mounted) / group
    return int(next(path for name in ("memory.limit_in_bytes", "memory.max") if (path := folder / name).exists()).read_text())


def account(mounted: dict[str, Path], name: str = ACCOUNT) -> Path | None:
    """Put this process, and so its children, into a version 2 group that only counts their processor time; the group, or None.

    None where the group cannot be made, or would be scheduled as one entity too (the cpu controller reaches it): that would be
    one more difference between bare metal and a container. The group stays, empty, for the next run.
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
    """Version 2 groups that count the processor time of processes, and of all that they start meanwhile: those that end sooner
    than anybody can look at them, too.

    A process that a service manager has put into a group of its own is counted by that; one in the root is in a group that only
    counts (as by `account`) for this time, and so is what it starts. No group where none can be made.
    """
    root = mounted.get("unified")
    group_of = {process: _of_version_2(process, root) for process in processes} if root else {}
    # Who was killed meanwhile has left them where they are to be put.
    at_root = [process for process, group in group_of.items() if group in (root, root / name)]
    others = {group for process, group in group_of.items() if group and process not in at_root}
    own = root / name if at_root and _only_counts(root) and _put(at_root, root / name) else None
    try:
        yield [*sorted(others), *([own] if own else [])]
    finally:
        put_back(mounted, name)


def put_back(mounted: dict[str, Path], name: str = COUNTING) -> None:
    """Put what is in a group of `counting` back into the root, and remove the group; nothing if it is not there."""
    group = mounted.get("unified", Path("/none")) / name
    with contextlib.suppress(OSError):
        _put((int(line) for line in (group / "cgroup.procs").read_text().split()), group.parent)
        group.rmdir()


def _only_counts(root: Path) -> bool:
    """Whether groups of version 2 count, and are not scheduled as one entity each."""
    try:
        return "cpu" not in (root / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


def _put(processes: Iterable[int], group: Path) -> bool:
    """Put processes into a group, which is made if it is not there; whether one of them is in it."""
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
    """The group of a process in the hierarchy of a controller: of `cpuacct`, which accounts processor time, or another one."""
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
    """Return the cgroup of a container in the hierarchy that accounts processor time.

    It is the one that the kernel names for the container's first process `pid`, or the one above that which has the
    container's `identity` in its name: a first process may have moved into a group below. Where the kernel does not tell, or
    the number belongs to another container's or another kernel's process, the group is looked for by that name. None if there
    is no such group here.
    """
    group = of_process(pid, mounted)
    for above in (group, *group.parents) if group else ():
        if identity in above.name and above.is_dir():
            return above
    root = accounting_folder(mounted)
    return next(named(identity, root), None) if root else None


def named(identity: str, root: Path) -> Iterator[Path]:
    """Yield the groups of a hierarchy that have a container's identity in their name, wherever they are, without those below
    them."""
    for place, folders, _ in os.walk(root):
        for name in [name for name in folders if identity in name]:
            folders.remove(name)
            yield Path(place, name)


def apart(pid: int, mounted: dict[str, Path]) -> list[Path]:
    """The group of a process, unless it is this process's: that counts others too."""
    group = of_process(pid, mounted)
    return [group] if group and group != of_process(os.getpid(), mounted) else []


def counting_root(mounted: dict[str, Path]) -> Path | None:
    """Where the groups are by which perf can count: version 1's perf_event, or version 2, which always has it."""
    return mounted.get("perf_event") or mounted.get("unified")


def moved(group: Path, mounted: dict[str, Path], root: Path) -> Path | None:
    """The group of the same name in another hierarchy; None if it is not there. Container engines make theirs in all."""
    for other in mounted.values():
        if other in group.parents:
            same = root / group.relative_to(other)
            return same if same.is_dir() else None
    return None


def members(groups: Iterable[Path]) -> set[int]:
    """The numbers of the processes in groups and in those below them."""
    found: set[int] = set()
    for group in _with_those_below(groups):
        with contextlib.suppress(OSError):
            found.update(map(int, (group / "cgroup.procs").read_text().split()))
    return found


def frozen(groups: Iterable[Path], mounted: dict[str, Path]) -> list[Path]:
    """Those of groups, and of the groups below them, that somebody has frozen, as `docker pause` does."""
    root = _freezer(mounted)
    there = filter(None, (moved(group, mounted, root) for group in groups)) if root else ()
    return [group for group in _with_those_below(there) if _is_frozen(group)]


def all_frozen(mounted: dict[str, Path]) -> list[Path]:
    """Every group of this host that somebody has frozen."""
    root = _freezer(mounted)
    return [group for group in _with_those_below([root]) if _is_frozen(group)] if root else []


def thaw(group: Path) -> None:
    """Have the processes of a frozen group go on, where this user may."""
    for file, word in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        if (path := group / file).exists():
            with contextlib.suppress(OSError):
                path.write_text(word)


def _freezer(mounted: dict[str, Path]) -> Path | None:
    """Where the groups are that can be frozen."""
    return mounted.get("freezer", mounted.get("unified"))


def _is_frozen(group: Path) -> bool:
    for file, words in (("freezer.state", {"FROZEN", "FREEZING"}), ("cgroup.events", {"frozen 1"})):
        with contextlib.suppress(OSError):
            if words & set((group / file).read_text().splitlines()):
                return True
    return False


def _with_those_below(groups: Iterable[Path]) -> Iterator[Path]:
    waiting = list(groups)
    while waiting:
        group = waiting.pop()
        yield group
        with contextlib.suppress(OSError):
            # A folder has two links, and one more for each folder in it, where the file system counts them.
            if group.stat().st_nlink != 2:
                waiting += [Path(entry) for entry in os.scandir(group) if entry.is_dir(follow_symlinks=False)]


def make(parent: str, children: list[str], mounted: dict[str, Path]) -> list[Path]:
    """Groups with the cpu controller, all under one parent, as liu2020 (section 4.3) asks for. OSError if that is refused."""
    return _make("cpu", cpu_root(mounted), parent, children, mounted)


def make_cpusets(parent: str, places: list[dict], mounted: dict[str, Path]) -> list[Path]:
    """Groups c0, c1, .. with the cpuset controller, each confined to its place's `cpus` and `nodes`. OSError if refused."""
    root = _root_of("cpuset", mounted)
    groups = _make("cpuset", root, parent, [f"c{i}" for i in range(len(places))], mounted)
    for group, place in zip(groups, places, strict=True):
        (group / "cpuset.cpus").write_text(place["cpus"])
        (group / "cpuset.mems").write_text(place["nodes"])
    return groups


def may_make(controller: str, mounted: dict[str, Path]) -> bool:
    """Whether this user may make groups with a controller."""
    root = _root_of(controller, mounted)
    return root is not None and os.access(root, os.W_OK)


def _root_of(controller: str, mounted: dict[str, Path]) -> Path | None:
    """Where a controller's groups are; version 2 is not asked where version 1 has the controllers."""
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
            # A new group of version 1 has no processors, and its children could have none.
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
    """Remove a group and those below it, waiting a while for processes that have just been killed to leave them. What this user
    may not remove is left.

    They are removed from every hierarchy, as container engines make the parents of their groups in all of them.
    """
    for root in hierarchies():
        _remove(root, parent, seconds)


def remove_named(identity: str) -> None:
    """Remove a container's groups from every hierarchy, as `remove` does: an engine may have them under any parent."""
    for root in hierarchies():
        for group in list(named(identity, root)):
            _remove(root, str(group.relative_to(root)), REMOVAL_SECONDS)


def hierarchies() -> list[Path]:
    """Where every hierarchy of cgroups is mounted."""
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
