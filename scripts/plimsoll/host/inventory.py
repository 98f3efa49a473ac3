"""Facts about this machine, as a dictionary and as a table for people. All facts are discovered; none is typed in."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from plimsoll.design import Design
from plimsoll.host import capabilities, cgroup, cpulist, system, topology
from plimsoll.host.topology import read
from plimsoll.interchange import Host, Topology


def here() -> Topology:
    """Return what a plan for this machine is made from: its topology, what this user may do, what perf can count, and the
    kernel's release."""
    mounted = cgroup.mounts()
    cpusets = cgroup.may_make("cpuset", mounted)
    allowed = {"root": not os.geteuid(), "cpusets": cpusets, "limits": cpusets and cgroup.may_make("memory", mounted)}
    paranoid = read(Path("/proc/sys/kernel/perf_event_paranoid"))
    counting = {"perf_event_paranoid": paranoid, "events": capabilities.counters()}
    return {**topology.discover(), **allowed, **counting, "kernel": os.uname().release}


def discover(tried: dict[str, dict] | None = None, designs: Iterable[Design] = ()) -> Host:
    """Return all facts about the host that a reader of results may need.

    `tried` has the results of trying the runtimes (plimsoll.runtimes.isolation.try_all). Each of the `designs` adds
    facts that matter to it.
    """
    mounted = cgroup.mounts()
    machine = here()
    return {
        "architecture": platform.machine(),
        **machine,
        "for_designs": {name: value for design in designs for name, value in design.cells.host_facts(machine).items()},
        "system": system.facts(),
        "distribution": _distribution(),
        "cgroup": {
            "version": cgroup.version(mounted),
            "controllers": _controllers(),
            "mounts": {name: str(path) for name, path in mounted.items()},
        },
        "virtualisation": _virtualisation(),
        "runtimes": {name: {key: value for key, value in one.items() if key != "look"} for name, one in (tried or {}).items()},
        **_among_many(),
    }


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown"


def _controllers() -> list[str]:
    rows = [line.split() for line in read(Path("/proc/cgroups")).splitlines() if not line.startswith("#")]
    return sorted(name for name, _, _, enabled in rows if enabled == "1")


def _virtualisation() -> str:
    if shutil.which("systemd-detect-virt"):
        done = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True)
        return done.stdout.strip() or "unknown"
    return "a hypervisor (not identified)" if topology.hypervisor(read(Path("/proc/cpuinfo"))) else "none seen"


def table(host: Host) -> str:
    """Return the facts about the host as a table in aligned text."""
    memory = f"{host['memory_bytes'] / 2**30:.1f} GiB"
    rows = [
        *_placed(host),
        ("sockets, cores, hardware threads", f"{host['sockets']}, {host['cores']}, {len(host['cpus'])}"),
        ("memory", memory),
        *[(f"memory node {node['node']}", _node(node)) for node in host["nodes"]],
        *_kinds(host),
        *[(name, size) for name, size in _cache_rows(host["caches"])],
        *host["for_designs"].items(),
        *host["system"].items(),
        ("distribution", host["distribution"]),
        ("cgroup controllers", ", ".join(host["cgroup"]["controllers"])),
        ("virtualisation", host["virtualisation"]),
        *[(f"counter {name.replace('_', ' ')}", f"perf's {e}" if e else "not here") for name, e in host["events"].items()],
        *[(f"runtime {name}", _runtime(result)) for name, result in host["runtimes"].items()],
    ]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def _among_many() -> dict:
    """Return the host's `name` and its job of `slurm`, as scripts/cluster/host.sh sets them for one of several hosts.

    A key is left out where its variable is not set.
    """
    name, node, job = (os.environ.get(f"PLIMSOLL_{key}") for key in ("HOST", "NODE", "JOB"))
    return {**({"name": name} if name else {}), **({"slurm": {"node": node or "unknown", "job": job}} if job else {})}


def _placed(host: Host) -> list[tuple[str, str]]:
    named = [("host", host["name"])] if "name" in host else []
    return named + ([("Slurm", f"node {host['slurm']['node']}, job {host['slurm']['job']}")] if "slurm" in host else [])


def _runtime(result: dict) -> str:
    if not result["works"]:
        return f"does not work: {result['reason']}"
    failing = [f"; {kind} does not: {reason}" for kind, reason in result.get("kinds", {}).items() if reason]
    return f"works: {result['version']}{''.join(failing)}"


def _node(node: dict) -> str:
    size = f"{node['memory_bytes'] / 2**30:.1f} GiB" if node["memory_bytes"] else "size unknown"
    near = f"processors {cpulist.format(node['cpus'])}" if node["cpus"] else "no processors (not measured on)"
    return f"{near}, {size}, distances {' '.join(map(str, node['distances']))}"


def _kinds(host: Host) -> list[tuple[str, str]]:
    """Return a row for a hybrid machine: the kinds of its cores, and the kind that programs are placed on.

    Return no row if all cores are alike.
    """
    if not (kind := topology.measured_kind(host)):
        return []
    kinds = [f"{cpulist.format(each['cpus'])} ({each['name']})" for each in host["core_kinds"]]
    return [("hybrid", f"processors {'; '.join(kinds)}; programs are placed on {cpulist.format(kind['cpus'])}")]


def _cache_rows(caches: list[dict]) -> list[tuple[str, str]]:
    kinds: dict[tuple, int] = {}
    for cache in caches:
        key = (cache["level"], cache["type"], cache["bytes"], len(cache["cpus"]))
        kinds[key] = kinds.get(key, 0) + 1
    return [
        (f"cache L{level} {kind.lower()}", f"{count} x {size // 1024} KiB, each of {shared} processor(s)")
        for (level, kind, size, shared), count in sorted(kinds.items())
    ]
