"""Processors, memory nodes and caches of the host, and what follows from them."""

from pathlib import Path

from plimsoll.host import cpulist
from plimsoll.interchange import CoreKind, MemoryNode, Processor, Topology

# Places where Open vSwitch can switch packets.
KERNEL, USER_SPACE = "kernel", "user space"


def open_vswitch(sysfs: Path = Path("/sys")) -> str:
    """Return where Open vSwitch switches packets: KERNEL if its kernel module is loaded, otherwise USER_SPACE."""
    return KERNEL if (sysfs / "module/openvswitch").is_dir() else USER_SPACE


def hypervisor(cpuinfo: str) -> bool:
    """Return whether this host is a virtual machine, as its processor says in /proc/cpuinfo."""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    return "hypervisor" in flags.split()


def read(path: Path, default: str = "") -> str:
    """Return the text of a file without surrounding blanks and NUL bytes; the default if it cannot be read.

    Some kernels end a list with a NUL byte.
    """
    try:
        return path.read_text().strip("\0 \t\n")
    except OSError:
        return default


def discover(root: Path = Path("/")) -> Topology:
    """Return the topology of this host, or of the host whose /sys and /proc are copied below `root`.

    Packages, cores, caches and kinds of cores come from hwloc, memory nodes from the kernel. Raise PlimsollError if
    hwloc's program is missing or fails.
    """
    # Imported here, because a run needs `everything_here` alone.
    from plimsoll.host import hwloc, processor_name

    sysfs, proc = root / "sys", root / "proc"
    found = hwloc.read(root)
    cores, packages = hwloc.cores(found), hwloc.packages(found)
    online = sorted(cpu for core in cores for cpu in core)
    memory_bytes = _kilobytes(read(proc / "meminfo"))
    nodes = _nodes(sysfs / "devices/system/node", online) or [
        {"node": 0, "cpus": online, "distances": [10], "memory_bytes": memory_bytes}
    ]
    usable = set(hwloc.numbers(hwloc.machine(found).get("allowed_cpuset")))
    for line in read(proc / "self/status").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            usable &= set(cpulist.parse(line.split()[1]))
    kinds = [{**kind, "cpus": [cpu for cpu in kind["cpus"] if cpu in online]} for kind in hwloc.core_kinds(found)]
    return {
        "cpu_model": processor_name.find(root),
        "cpus": _processors(cores, packages, nodes),
        "open_vswitch": open_vswitch(sysfs),
        "hypervisor": hypervisor(read(proc / "cpuinfo")),
        "usable": [cpu for cpu in online if cpu in usable],
        "sockets": len(packages),
        "cores": len(cores),
        "nodes": nodes,
        "caches": hwloc.caches(found),
        "core_kinds": kinds if len(kinds) > 1 else [],
        "memory_bytes": memory_bytes or 0,
    }


def _nodes(folder: Path, online: list[int]) -> list[MemoryNode]:
    """Return the kernel's memory nodes in order of their numbers, including nodes without processors."""
    from plimsoll.host import hwloc

    return [
        {
            "node": int(node.name[4:]),
            "cpus": [cpu for cpu in hwloc.numbers(read(node / "cpumap")) if cpu in online],
            "distances": [int(distance) for distance in read(node / "distance").split()],
            "memory_bytes": _kilobytes(read(node / "meminfo")),
        }
        for node in sorted(folder.glob("node[0-9]*"), key=lambda path: int(path.name[4:]))
    ]


def _kilobytes(meminfo: str) -> int | None:
    """Return all memory in bytes, from the text of a `meminfo` file of the machine or of a node; None if it does not say."""
    words = meminfo.split()
    return int(words[words.index("MemTotal:") + 1]) * 1024 if "MemTotal:" in words else None


def _processors(cores: list[list[int]], packages: list[list[int]], nodes: list[MemoryNode]) -> list[Processor]:
    """Return each online processor. A processor whose own node has no memory uses the first node that has some."""
    first, *_ = [node["node"] for node in nodes if node["memory_bytes"] != 0]
    node_of = {cpu: node["node"] for node in nodes for cpu in node["cpus"] if node["memory_bytes"] != 0}
    socket_of = {cpu: number for number, package in enumerate(packages) for cpu in package}
    found: list[Processor] = [
        {"cpu": cpu, "core": number, "socket": socket_of[cpu], "node": node_of.get(cpu, first), "siblings": core}
        for number, core in enumerate(cores)
        for cpu in core
    ]
    return sorted(found, key=lambda processor: processor["cpu"])


def cores_of_sockets(topology: Topology) -> dict[int, list[int]]:
    """Return the first usable hardware thread of each core, by socket, in hwloc's order of the cores.

    On a machine whose cores differ, these are cores of one kind (`measured_kind`).
    """
    usable = _usable(topology)
    if kind := measured_kind(topology):
        usable &= set(kind["cpus"])
    sockets: dict[int, dict[int, int]] = {}
    for cpu in sorted(topology["cpus"], key=lambda cpu: (cpu["socket"], cpu["core"], cpu["cpu"])):
        if cpu["cpu"] in usable:
            sockets.setdefault(cpu["socket"], {}).setdefault(cpu["core"], cpu["cpu"])
    return {socket: list(cores.values()) for socket, cores in sockets.items()}


def measured_kind(topology: Topology) -> CoreKind | None:
    """Return the kind of cores that programs are placed on: the fastest with two usable cores, or else the fastest with one.

    None on a machine whose cores are all alike.
    """
    kinds, usable = topology.get("core_kinds", []), _usable(topology)
    core_of = {cpu["cpu"]: cpu["core"] for cpu in topology["cpus"] if cpu["cpu"] in usable}
    counts = [len({core_of[cpu] for cpu in kind["cpus"] if cpu in core_of}) for kind in kinds]
    enough = min(2, max(counts, default=0))
    return next((kind for kind, count in zip(kinds, counts, strict=True) if count >= enough), None)


def _usable(topology: Topology) -> set[int]:
    return set(topology.get("usable", [cpu["cpu"] for cpu in topology["cpus"]]))


def memory_nodes(topology: Topology) -> list[MemoryNode]:
    """Return the memory nodes that processors are near.

    Other nodes (HBM, CXL, the memory of a GPU) are listed, but not measured on.
    """
    near = {cpu["node"] for cpu in topology["cpus"]}
    return [node for node in topology["nodes"] if node["node"] in near]


def from_description(file: dict) -> Topology:
    """Return the topology of a host that a file describes (config/schemas/host.yaml).

    It has sockets of equal cores, numbered one after the other. Second hardware threads follow after all cores. Each
    socket is one memory node.
    """
    sockets, per_socket, threads = file["sockets"], file["cores_per_socket"], file["threads_per_core"]
    total = sockets * per_socket
    numbers = range(total * threads)
    cpus = [
        {
            "cpu": number,
            "core": number % total,
            "socket": number % total // per_socket,
            "node": number % total // per_socket,
            "siblings": [number % total + thread * total for thread in range(threads)],
        }
        for number in numbers
    ]
    of_socket = [[cpu["cpu"] for cpu in cpus if cpu["socket"] == socket] for socket in range(sockets)]
    memory, cache = round(file["memory_gib"] * 2**30), round(file["l3_mib_per_socket"] * 2**20)
    near, far = file["distances"]["local"], file["distances"]["remote"]
    second = (
        {"second_host": {"name": file["second_host"], "processor": 0, "megabits": file["megabits"]}}
        if "second_host" in file
        else {}
    )
    return {
        **second,
        "cpu_model": file["cpu_model"],
        "cpus": cpus,
        "usable": list(numbers),
        "sockets": sockets,
        "cores": total,
        "nodes": [
            {
                "node": node,
                "cpus": of_socket[node],
                "distances": [near if other == node else far for other in range(sockets)],
                "memory_bytes": memory // sockets,
            }
            for node in range(sockets)
        ],
        "caches": [{"level": 3, "type": "Unified", "bytes": cache, "cpus": cpus} for cpus in of_socket],
        "memory_bytes": memory,
    }


def everything(topology: Topology) -> dict[str, str]:
    """Return all processors and all nodes that have memory, as the kernel lists them: `cpus` and `nodes`."""
    return {
        "cpus": cpulist.format(cpu["cpu"] for cpu in topology["cpus"]),
        "nodes": cpulist.format(node["node"] for node in topology["nodes"] if node["memory_bytes"] != 0),
    }


def everything_here(sysfs: Path = Path("/sys")) -> dict[str, str]:
    """Return the lists of `everything` for this host, read from the kernel alone, as during a run."""
    system = sysfs / "devices/system"
    lists = {"cpus": read(system / "cpu/online", "0"), "nodes": read(system / "node/has_memory", "0")}
    return {name: cpulist.format(cpulist.parse(text)) for name, text in lists.items()}


def last_level_cache_bytes(topology: Topology) -> int:
    """Return the total size of the host's caches of the highest level; 0 if the kernel does not tell."""
    caches = [cache for cache in topology["caches"] if cache["type"] != "Instruction"]
    if not caches:
        return 0
    highest = max(cache["level"] for cache in caches)
    return sum(cache["bytes"] for cache in caches if cache["level"] == highest)


def identity(host: Topology) -> list:
    """Return what tells one host from another: processor, sockets, cores, hardware threads, memory nodes with processors.

    Measurements made on one host do not count on another. Memory is left out, because a virtual machine's memory grows
    and shrinks.
    """
    return [
        host.get("cpu_model", "unknown"),
        host["sockets"],
        host["cores"],
        len(host["cpus"]),
        sum(bool(node["cpus"]) for node in host["nodes"]),
    ]


def is_identity(noted: list, host: Topology) -> bool:
    """Return whether a noted identity is this host's.

    Earlier versions counted all memory nodes, and added the memory in GiB. Such identities are recognised too.
    """
    same = identity(host)
    earlier = [*same[:-1], len(host["nodes"])]
    return noted == same or (len(noted) > len(same) and noted[: len(same)] in (same, earlier))
