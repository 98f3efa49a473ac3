"""Everything on a machine within this one that a run could have left."""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from plimsoll.host import cgroup

from tests.faults import processes
from tests.faults.apart import Machine

# Folders that are listed, and how deep.
FOLDERS = {"/tmp": 2, "/var/tmp": 2, "/run": 2, "/dev/shm": 1, "/var/lib/cni": 3, "/var/lib/docker/volumes": 1}
# Files that an engine keeps for itself, and files that count who is there.
OF_OTHERS = re.compile(r"/run/(docker|containerd|xtables.lock|lock/plimsoll\.)|\.sock$|/metadata\.db$|backingFsBlockDev$")
COUNTERS = re.compile(r"^\[\d+:\d+\] ?|^[#:].*")
CONTAINER = re.compile(r"[0-9a-f]{64}")
# How long to wait for things that are about to disappear (s).
PATIENCE = 6.0


def seen(machine: Machine, project: Path) -> Counter[str]:
    """Count everything that is there, by `kind: name`."""
    bridges = _bridges(machine)
    listed = {
        "container": machine.run("docker", "ps", "--all", "--format", "{{.Names}} {{.Status}}").splitlines(),
        "image": machine.run("docker", "images", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}").splitlines(),
        "network": machine.run("docker", "network", "ls", "--format", "{{.Name}}").splitlines(),
        "volume": machine.run("docker", "volume", "ls", "--quiet").splitlines(),
        "device": [line.split(": ")[1].split("@")[0] for line in machine.run("ip", "-o", "link").splitlines()],
        "namespace": machine.run("ip", "netns").splitlines(),
        "namespace of": machine.run("lsns", "--list", "--type", "net", "--noheadings", "--output", "COMMAND").splitlines(),
        "mount": _mounts(machine),
        "loop device": _loops(machine.folder),
        "firewall": _rules(machine, "iptables-save"),
        "firewall of IPv6": _rules(machine, "ip6tables-save"),
        "cgroup": _cgroups(machine),
        "process": _processes(machine),
        "file": [*_files(machine), *_hidden(project)],
    }
    found: Counter[str] = Counter()
    for kind, names in listed.items():
        for name in filter(None, names):
            for bridge, network in bridges.items():
                name = name.replace(bridge, f"bridge of {network}")
            found[f"{kind}: {name}"] += 1
    return found


def _rules(machine: Machine, program: str) -> list[str]:
    """Return the rules of a firewall without their packet counters; none if there is no firewall."""
    return [COUNTERS.sub("", line).strip() for line in machine.ask(program).stdout.splitlines()]


def left(machine: Machine, project: Path, before: Counter[str]) -> list[str]:
    """Return what is there more often than before, also after a while."""
    end = time.monotonic() + PATIENCE
    while (more := seen(machine, project) - before) and time.monotonic() < end:
        time.sleep(0.5)
    return sorted(more.elements())


def _bridges(machine: Machine) -> dict[str, str]:
    """Return the network of each bridge of the engine. A bridge is named by the number of its network."""
    rows = machine.run("docker", "network", "ls", "--no-trunc", "--format", "{{.ID}} {{.Name}}").splitlines()
    return {f"br-{number[:12]}": name for number, name in (row.split() for row in rows)}


def _mounts(machine: Machine) -> list[str]:
    rows = (line.split() for line in Path(f"/proc/{machine.first}/mounts").read_text().splitlines())
    return [f"{row[1]} ({row[2]})" for row in rows]


def _loops(folder: Path) -> list[str]:
    done = subprocess.run(["losetup", "--noheadings", "--output", "NAME,BACK-FILE"], capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if str(folder) in line]


def _cgroups(machine: Machine) -> list[str]:
    """Return our cgroups, and cgroups of ended containers. Containers of this host's other engine use theirs."""
    found = []
    for root in cgroup.hierarchies():
        for top in root.glob("plimsoll*"):
            found += [str(top), *(str(path) for path in top.rglob("*") if path.is_dir())]
        # Cgroups of instances, named by the numbers of their processes.
        found += [str(path) for path in root.glob("apptainer/[0-9]*") if not _in_use(path)]
        found += [str(path) for path in root.glob("docker/*") if CONTAINER.fullmatch(path.name) and not _in_use(path)]
    return found


def _in_use(group: Path) -> bool:
    try:
        return any(path.read_text().strip() for path in (group / "cgroup.procs", *group.rglob("*/cgroup.procs")))
    except OSError:
        return True  # it has just gone


def _processes(machine: Machine) -> list[str]:
    """Return all processes but the first.

    The engine, and what the first process waits for, are there before too, and each of them once.
    """
    first = int(machine.first)
    return [f"{one.name} ({' '.join(one.words)[:120]})" for one in processes.below([first]) if one.number != first]


def _files(machine: Machine) -> Iterable[str]:
    for folder, depth in {**FOLDERS, str(machine.home): 4, str(machine.folder / "images"): 2}.items():
        top = machine.seen(folder)
        for path in _walk(top, depth):
            name = f"{folder}/{path.relative_to(top)}"
            if not OF_OTHERS.search(name):
                yield name


def _walk(top: Path, depth: int) -> Iterable[Path]:
    try:
        entries = list(top.iterdir())
    except OSError:
        return
    for path in entries:
        yield path
        if depth > 1 and path.is_dir() and not path.is_symlink():
            yield from _walk(path, depth - 1)


def _hidden(project: Path) -> Iterable[str]:
    """Yield files that were being written, and files that mark unfinished jobs of Snakemake."""
    for path in project.glob("results/**/.*"):
        yield str(path)
    for path in project.glob(".snakemake/incomplete/*"):
        yield str(path)
