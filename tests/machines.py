"""Made-up machines: what /sys and /proc hold on them, in the form that hwloc and lscpu read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll.host import cpulist

Cpus = Sequence[int]


@dataclass
class Machine:
    """A machine that can be written as a tree of files.

    `dies` lists, by package and die, the processors of each core. `caches` gives, by level, the size in KiB and the
    processors of each cache. `nodes` gives, by number, the processors and KiB of each memory node. `capacities` and
    `megahertz` are by processor. `end` ends each list. `allowed` is what a cgroup allows. `memory` is all memory in KiB
    if the nodes do not say.
    """

    dies: Sequence[Sequence[Sequence[Cpus]]]
    nodes: Mapping[int, tuple[Cpus, int]]
    caches: Mapping[int, tuple[int, Sequence[Cpus]]] = field(default_factory=dict)
    offline: Cpus = ()
    capacities: Mapping[int, int] = field(default_factory=dict)
    megahertz: Mapping[int, int] = field(default_factory=dict)
    cpuinfo: str = "model name\t: A Processor"
    end: str = "\n"
    allowed: Cpus | None = None
    memory: int | None = None

    @property
    def packages(self) -> list[list[int]]:
        """Processors of each package."""
        return [[cpu for die in package for core in die for cpu in core] for package in self.dies]

    @property
    def cpus(self) -> list[int]:
        """All processors, including those that are offline."""
        return sorted(cpu for package in self.packages for cpu in package)

    def write(self, root: Path) -> Path:
        """Write the tree below `root`. Return `root`."""
        online = [cpu for cpu in self.cpus if cpu not in self.offline]
        system = root / "sys/devices/system"
        for name, numbers in {"online": online, "present": self.cpus, "possible": self.cpus}.items():
            self._put(system / "cpu" / name, cpulist.format(numbers))
        for number, package in enumerate(self.dies):
            for die in package:
                for core_id, core in enumerate(die):
                    for cpu in core:
                        self._put_processor(system / f"cpu/cpu{cpu}", cpu, number, core_id, core)
        if self.nodes:
            self._put_nodes(system / "node")
        blocks = "".join(f"processor\t: {cpu}\n{self.cpuinfo}\n\n" for cpu in online)
        self._put(root / "proc/cpuinfo", blocks, end="")
        self._put(root / "proc/meminfo", f"MemTotal: {self.memory or sum(size for _, size in self.nodes.values())} kB")
        if self.allowed is not None:
            self._put(root / "proc/mounts", "none /cg cgroup2 rw 0 0")
            self._put(root / "proc/self/cgroup", "0::/job")
            self._put(root / "cg/cgroup.controllers", "cpuset memory")
            self._put(root / "cg/job/cpuset.cpus.effective", cpulist.format(self.allowed))
            self._put(root / "cg/job/cpuset.mems.effective", cpulist.format(self.nodes))
        return root

    def _put(self, path: Path, text: object, end: str | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}{self.end if end is None else end}")

    def _put_processor(self, folder: Path, cpu: int, package: int, core_id: int, core: Cpus) -> None:
        if cpu != 0:
            self._put(folder / "online", int(cpu not in self.offline))
        if cpu in self.offline:
            return
        topology = {"core_id": core_id, "physical_package_id": package}
        for name, cpus in {"thread_siblings": core, "core_siblings": self.packages[package]}.items():
            there = set(cpus) - set(self.offline)
            topology |= {name: mask(there), f"{name}_list": cpulist.format(there)}
        for name, value in topology.items():
            self._put(folder / "topology" / name, value)
        for index, (level, (size, groups)) in enumerate(self.caches.items()):
            (shared,) = [group for group in groups if cpu in group]
            cache = {"level": level, "type": "Unified", "size": f"{size}K", "shared_cpu_map": mask(shared)}
            for name, value in {**cache, "shared_cpu_list": cpulist.format(shared)}.items():
                self._put(folder / f"cache/index{index}" / name, value)
        if cpu in self.capacities:
            self._put(folder / "cpu_capacity", self.capacities[cpu])
        if cpu in self.megahertz:
            self._put(folder / "cpufreq/cpuinfo_max_freq", self.megahertz[cpu] * 1000)

    def _put_nodes(self, folder: Path) -> None:
        full = [node for node, (_, size) in self.nodes.items() if size]
        for name, numbers in {"online": self.nodes, "has_memory": full}.items():
            self._put(folder / name, cpulist.format(numbers))
        for node, (cpus, size) in self.nodes.items():
            distances = " ".join("10" if other == node else "21" for other in self.nodes)
            files = {"cpumap": mask(cpus), "cpulist": cpulist.format(cpus), "distance": distances}
            for name, value in {**files, "meminfo": f"Node {node} MemTotal: {size} kB"}.items():
                self._put(folder / f"node{node}" / name, value)


def mask(cpus: Iterable[int]) -> str:
    """Return processors as a mask, as the kernel writes it."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [f"{bits >> 32 * place & 0xFFFFFFFF:08x}" for place in range(max(1, -(-bits.bit_length() // 32)))]
    return ",".join(reversed(words))


def _singles(cpus: Iterable[int]) -> list[list[int]]:
    return [[cpu] for cpu in cpus]


GIB = 2**20
TWO_SOCKETS = Machine(
    [[[[0, 4], [1, 5]]], [[[2, 6], [3, 7]]]],
    {0: ([0, 1, 4, 5], GIB), 1: ([2, 3, 6, 7], GIB)},
    {3: (46080, [[0, 1, 4, 5], [2, 3, 6, 7]])},
)
# Opterons: `core_id` starts at 0 in each of a package's two dies, and each die has its own memory node.
TWO_DIES = Machine(
    [[_singles(range(8 * p + 4 * d, 8 * p + 4 * d + 4)) for d in range(2)] for p in range(4)],
    {node: (range(4 * node, 4 * node + 4), GIB) for node in range(8)},
    {3: (6144, [range(4 * node, 4 * node + 4) for node in range(8)])},
)
# Two packages with alternating processors. Two cores share a level 2 cache, and all cores share a memory node.
PAIRS = Machine(
    [[_singles([0, 2, 4, 6])], [_singles([1, 3, 5, 7])]],
    {0: (range(8), GIB)},
    {2: (4096, [[0, 4], [2, 6], [1, 5], [3, 7]])},
)
# Sub-NUMA clusters: processors are numbered in turn over the two packages and the two nodes of each.
CLUSTERS = Machine(
    [[_singles(range(package, 40, 2))] for package in range(2)],
    {node: (range(node, 40, 4), GIB) for node in (0, 2, 1, 3)},
    {3: (28160, [range(package, 40, 2) for package in range(2)])},
)
# High-bandwidth and device memory besides the memory of two sockets. Nodes 0, 2 and 6 have no processors, and 6 no memory.
MEMORY_ALONE = Machine(
    [[_singles(range(4))], [_singles(range(4, 8))]],
    {0: ([], GIB), 1: (range(4), 4 * GIB), 2: ([], GIB // 2), 5: (range(4, 8), 4 * GIB), 6: ([], 0)},
)
# The efficient cores come first, and there are more of them.
HYBRID = Machine(
    [[[*_singles(range(8)), [8, 9], [10, 11], [12, 13], [14, 15]]]],
    {0: (range(16), GIB)},
    megahertz={**dict.fromkeys(range(8), 3900), **dict.fromkeys(range(8, 16), 5000)},
)
ARM = """BogoMIPS\t: 50.00
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1"""
# Big and little cores alternate. Some big ones are slightly faster, and one is the fastest. Lists end in NUL.
BIG_LITTLE = Machine(
    [[_singles(range(12))]],
    {0: (range(12), GIB)},
    capacities={**dict.fromkeys((0, 1, 2), 718), **dict.fromkeys((6, 7, 8), 731), **dict.fromkeys((3, 4, 5), 997)}
    | {9: 1017, 10: 1017, 11: 1024},
    cpuinfo=ARM,
    end="\n\0",
)
# Processor 0 and a whole node are offline, and a core has lost one of its threads.
OFFLINE = Machine(
    [[[[0, 8], [2, 10], [4, 12], [6, 14]]], [[[1, 9], [3, 11], [5, 13], [7, 15]]]],
    {1: (range(1, 16, 2), GIB)},
    offline=[0, 8, 2, 13],
)
CGROUP = Machine(
    [[_singles(range(8 * p + 4 * d, 8 * p + 4 * d + 4)) for d in range(2)] for p in range(4)],
    {node: (range(4 * node, 4 * node + 4), GIB) for node in range(8)},
    allowed=[2, 3, 9, 10, 11, 20],
)
