"""The host's processors, memory nodes and caches, read from sysfs; and the hardware settings that follow from them."""

from pathlib import Path

from plimsoll.host import cpulist
from plimsoll.interchange import Cache, Processor, Topology

# Where Open vSwitch can switch packets.
KERNEL, USER_SPACE = "kernel", "user space"


def open_vswitch(sysfs: Path = Path("/sys")) -> str:
    """Where packets are switched for Open vSwitch: in the kernel if it has it loaded."""
    return KERNEL if (sysfs / "module/openvswitch").is_dir() else USER_SPACE


def hypervisor(cpuinfo: str) -> bool:
    """Whether this host is a virtual machine, as its processor says."""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    return "hypervisor" in flags.split()


def read(path: Path, default: str = "") -> str:
    """Text of a file without surrounding blanks; the default if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return default


def discover(sysfs: Path = Path("/sys"), proc: Path = Path("/proc")) -> Topology:
    """Topology of the host.

    Returns a dictionary of plain values: `cpu_model`, `cpus` (one entry per online processor, with its core, socket, node and
    SMT siblings), `usable` (the processors that this process may use), `sockets`, `cores`, `nodes` (with distances and memory
    in bytes), `caches` (one entry per cache, bytes), `memory_bytes`, `open_vswitch` (where it would switch).
    """
    cpu_folder = sysfs / "devices/system/cpu"
    node_folder = sysfs / "devices/system/node"
    node_of, nodes = {}, []
    for folder in sorted(node_folder.glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        number = int(folder.name[4:])
        members = cpulist.parse(read(folder / "cpulist"))
        node_of.update(dict.fromkeys(members, number))
        total = [line.split() for line in read(folder / "meminfo").splitlines() if "MemTotal" in line]
        nodes.append(
            {
                "node": number,
                "cpus": members,
                "distances": [int(d) for d in read(folder / "distance").split()],
                "memory_bytes": int(total[0][3]) * 1024 if total else None,
            }
        )
    cpus = [_cpu(cpu_folder, number, node_of) for number in cpulist.parse(read(cpu_folder / "online", "0"))]
    allowed = [line.split()[1] for line in read(proc / "self/status").splitlines() if line.startswith("Cpus_allowed_list")]
    usable = set(cpulist.parse(allowed[0])) if allowed else {cpu["cpu"] for cpu in cpus}
    memory = [line.split() for line in read(proc / "meminfo").splitlines() if line.startswith("MemTotal")]
    memory_bytes = int(memory[0][1]) * 1024 if memory else 0
    if not nodes:
        numbers = [cpu["cpu"] for cpu in cpus]
        nodes = [{"node": 0, "cpus": numbers, "distances": [10], "memory_bytes": memory_bytes}]
    return {
        "cpu_model": cpu_model(read(proc / "cpuinfo")),
        "cpus": cpus,
        "open_vswitch": open_vswitch(sysfs),
        "hypervisor": hypervisor(read(proc / "cpuinfo")),
        "usable": [cpu["cpu"] for cpu in cpus if cpu["cpu"] in usable],
        "sockets": len({cpu["socket"] for cpu in cpus}),
        "cores": len({(cpu["socket"], cpu["core"]) for cpu in cpus}),
        "nodes": nodes,
        "caches": _caches(cpu_folder, [cpu["cpu"] for cpu in cpus]),
        "memory_bytes": memory_bytes,
    }


def _cpu(folder: Path, number: int, node_of: dict[int, int]) -> Processor:
    topology = folder / f"cpu{number}/topology"
    return {
        "cpu": number,
        "core": int(read(topology / "core_id", str(number))),
        "socket": max(0, int(read(topology / "physical_package_id", "0"))),
        "node": node_of.get(number, 0),
        "siblings": cpulist.parse(read(topology / "thread_siblings_list", str(number))),
    }


def _caches(folder: Path, cpus: list[int]) -> list[Cache]:
    """Each cache once, however many processors share it."""
    seen: dict[tuple, dict] = {}
    for cpu in cpus:
        for index in sorted((folder / f"cpu{cpu}/cache").glob("index[0-9]*")):
            size = read(index / "size")
            if not size:
                continue
            cache = {
                "level": int(read(index / "level")),
                "type": read(index / "type"),
                "bytes": int(size[:-1]) * {"K": 1024, "M": 1024**2}[size[-1]],
                "cpus": cpulist.parse(read(index / "shared_cpu_list", str(cpu))),
            }
            seen.setdefault((cache["level"], cache["type"], tuple(cache["cpus"])), cache)
    return list(seen.values())


def cores_of_sockets(topology: Topology) -> dict[int, list[int]]:
    """First usable hardware thread of each core, by socket, in order of the processor number."""
    sockets: dict[int, dict[int, int]] = {}
    usable = set(topology.get("usable", [cpu["cpu"] for cpu in topology["cpus"]]))
    for cpu in sorted((cpu for cpu in topology["cpus"] if cpu["cpu"] in usable), key=lambda cpu: cpu["cpu"]):
        sockets.setdefault(cpu["socket"], {}).setdefault(cpu["core"], cpu["cpu"])
    return {socket: list(cores.values()) for socket, cores in sorted(sockets.items())}


def logical_cores(topology: Topology) -> dict[int, int]:
    """hwloc's logical number of each core, by the number of each of its processors: socket by socket, in each by the lowest
    processor. Open MPI's rankfiles want these numbers, whichever way the kernel numbers processors."""
    members: dict[int, dict[int, list[int]]] = {}
    for cpu in topology["cpus"]:
        members.setdefault(cpu["socket"], {}).setdefault(cpu["core"], []).append(cpu["cpu"])
    sockets = sorted((sorted(map(sorted, cores.values())) for cores in members.values()), key=lambda cores: cores[0])
    flat = [processors for cores in sockets for processors in cores]
    return {processor: number for number, processors in enumerate(flat) for processor in processors}


def described(file: dict) -> Topology:
    """Topology of a host that a file describes (config/schemas/host.yaml): sockets of equal cores numbered one after the other,
    second hardware threads after all cores, one memory node per socket."""
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
    """All processors and all memory nodes, as the kernel lists them: `cpus` and `nodes`."""
    return {
        "cpus": cpulist.format(cpu["cpu"] for cpu in topology["cpus"]),
        "nodes": cpulist.format(node["node"] for node in topology["nodes"]),
    }


def last_level_cache_bytes(topology: Topology) -> int:
    """Sum over the host's caches of the highest level; 0 if the kernel does not tell."""
    caches = [cache for cache in topology["caches"] if cache["type"] != "Instruction"]
    if not caches:
        return 0
    highest = max(cache["level"] for cache in caches)
    return sum(cache["bytes"] for cache in caches if cache["level"] == highest)


def cpu_model(cpuinfo: str) -> str:
    """Name of the processor, as /proc/cpuinfo gives it on most architectures."""
    for line in cpuinfo.splitlines():
        if line.startswith(("model name", "Model", "cpu model")):
            return line.partition(":")[2].strip()
    return "unknown"


def identity(host: Topology) -> list:
    """What tells one host from another, as measurements made on one do not count on the other: processor, cores, nodes, memory
    in GiB."""
    return [
        host.get("cpu_model", "unknown"),
        host["sockets"],
        host["cores"],
        len(host["cpus"]),
        len(host["nodes"]),
        round(host["memory_bytes"] / 2**30),
    ]
