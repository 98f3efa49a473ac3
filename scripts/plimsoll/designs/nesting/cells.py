"""Plan the cells of amaral2015's experiments on a host. Pure functions.

Cells that the profile leaves out, or that the host's memory cannot hold, are in the plan with that reason.
"""

from collections.abc import Iterator, Sequence

from plimsoll import design, runtimes, workloads
from plimsoll.designs.nesting.factors import (
    BARE,
    CPU,
    NETWORK,
    NO_CHILDREN,
    ONE,
    OPEN_VSWITCH,
    PLACEMENTS,
    PLAIN,
    PRELOADED,
    TWO,
    WIRED,
    NestingCell,
    NestingPlan,
    parents,
    total,
)
from plimsoll.host import sizing, topology
from plimsoll.interchange import ABSENT, SecondHost, Topology
from plimsoll.measuring import record
from plimsoll.planning import availability
from plimsoll.planning.virtual_machines import MACHINE
from plimsoll.runtimes.base import GUEST_BYTES
from plimsoll.workloads.netperf import Netperf
from plimsoll.workloads.sysbench import Sysbench

# Parameters of the program in containers whose creation is measured: it ends at once.
DUMMY = {"primes": 1, "events": 1}
# Memory in bytes: of a container with its shim and a program; of a parent with its engine, without page cache; of QEMU,
# without its virtual machine.
CONTAINER_BYTES, PARENT_BYTES, QEMU_BYTES = 25 * 2**20, 80 * 2**20, 100 * 2**20
MACHINE_BYTES = GUEST_BYTES + QEMU_BYTES
# For a plan's estimate (s): starting and removing the first instance, and each further one. CONTAINER stays up, CREATED
# is a container that is created and ends. PARENT loads the child's image; the engine of LOADED has it already
# (runtimes/nested/engine_folders.py). REMOVED is the removal of a parent that stays up, which comes on top.
CONTAINER, CREATED, PARENT, LOADED, REMOVED = (0.3, 0.25), (0.6, 0.2), (8.0, 1.6), (1.5, 0.8), (1.2, 0.15)
# A virtual machine's start in seconds of processor time, by whether it is emulated; and how many times as long an
# emulated program takes.
BOOT = {False: 2.0, True: 3.0}
EMULATED = 3.3
# For networks: Netperf's tests per placement, the overhead of each test (s), and the start of client and server (s).
TESTS, BETWEEN, ENDS = 2, 0.15, 0.5
# Time that talking to another machine takes in a run (s).
REACHED = 6.0
# An attempt is given up after PATIENCE times its expected time, but not before LEAST_LIMIT (s).
PATIENCE, LEAST_LIMIT = 10.0, 60.0


class Cells(design.Cells):
    """Cells of a study of nesting."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, NestingCell]]:
        """Return (experiment, cell) for every cell that an experiment wants, including those that cannot be measured here.

        A cell is a combination of task, runtime and numbers of instances and children, or of the ends of a network. A cell
        with a runtime that the configuration turns off is left out. So are emulated virtual machines where virtual machines
        can run on the host's processor.
        """
        cells = []
        for name, experiment in study["experiments"].items():
            for cell in _of_experiment(experiment, profile["nesting"], host):
                needed = _runtimes(cell)
                if "off" in (config["runtimes"].get(runtime, "off") for runtime in needed):
                    continue
                if _emulated(cell) and MACHINE not in unavailable and config["runtimes"].get(MACHINE, "off") != "off":
                    continue  # virtual machines run on the host's processor here, so none is emulated
                lacking = next((unavailable[runtime] for runtime in needed if runtime in unavailable), None)
                cell["host"] = sizing.of_host(host)["host"]
                far = availability.second_host(cell)
                lacking = lacking or _needs_root(cell, host) or (far and far.reason)
                cell["reason"] = lacking or _too_many(cell, host) or _cut(experiment, cell, profile["nesting"], host)
                cell["repetitions"] = _repetitions(cell, profile["nesting"])
                cell["fingerprint"] = record.identify(self.measured(cell))
                cells.append((name, cell))
        return cells

    def measured(self, cell: NestingCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint."""
        return {key: cell[key] for key in ("path", "host", "parameters", "bindings") if key in cell}

    def repetitions(self, profile: dict) -> int:
        """Return the number of repetitions that a profile has for studies of nesting."""
        return profile["nesting"]["repetitions"]

    def kind(self, cell: NestingCell) -> str:
        """Return a cell's task.

        Each task makes nodes and networks in its own way, so one task may work where another does not.
        """
        return cell["task"]

    def trial(self, plan: NestingPlan, cells: Sequence[NestingCell]) -> NestingCell:
        """Return the cheapest of the cells, cut down to a trial of whether the runtime works.

        Its program ends at once. On a network it has one placement and a test of at most a second.
        """
        easiest = min(cells, key=lambda cell: (cell["expected_seconds"], cell["path"]))
        parameters = easiest["parameters"]
        if easiest["task"] == NETWORK:
            placed = dict(list(easiest["bindings"].items())[:1])
            return {**easiest, "bindings": placed, "parameters": {**parameters, "seconds": min(1, parameters["seconds"])}}
        return {**easiest, "parameters": {**parameters, **DUMMY}}

    def plan_extras(self, study: dict, host: Topology) -> dict:
        """Return what the plan holds besides its cells.

        It has the host's number of cores, where Open vSwitch switches, whether the host is a virtual machine, and the
        second host if that is another machine.
        """
        told = {"cores": host["cores"], "open_vswitch": _switches(host)}
        told["hypervisor"] = host.get("hypervisor", False)
        return {**told, "second_host": host["second_host"]} if "second_host" in host else told

    def host_facts(self, machine: Topology) -> dict[str, str]:
        """Return where Open vSwitch switches on a machine, for the description of the host."""
        return {"Open vSwitch's datapath": f"in {'the ' * (_switches(machine) == topology.KERNEL)}{_switches(machine)}"}

    def programs(self, plan: NestingPlan, cell: NestingCell) -> list[str]:
        """Return the names, as in the image's `versions`, of the programs that a cell measures; none for creation."""
        return {CPU: [Sysbench.software], NETWORK: [Netperf.software]}.get(cell["task"], [])


def _ends(cell: NestingCell) -> list[str]:
    """Return the distinct runtimes of a cell: its only one, or those of client and server."""
    return [name for name in dict.fromkeys((cell["runtime"], cell["server"])) if name != ABSENT]


def _emulated(cell: NestingCell) -> bool:
    return any(runtimes.find(name).emulated for name in _ends(cell))


def _repetitions(cell: NestingCell, sizes: dict) -> int:
    """Return how often a cell is measured.

    Emulated virtual machines and networks have numbers of their own in the profile.
    """
    own = "emulated" if _emulated(cell) else "networks" if cell["task"] == NETWORK else None
    return (sizes[own] if own else sizes)["repetitions"]


def _machines(cell: NestingCell) -> int:
    """Return the number of virtual machines in a cell."""
    if cell["task"] == NETWORK:
        return sum(runtimes.find(name).own_kernels for name in (cell["runtime"], cell["server"]))
    return int(cell["instances"]) * runtimes.find(cell["runtime"]).own_kernels


def _runtimes(cell: NestingCell) -> list[str]:
    """Return the runtimes that a cell needs. Networks with wires of ours also need the runtime WIRED."""
    wires = [WIRED] if {OPEN_VSWITCH, PLAIN} & set(cell["network"].split("+")) else []
    return [*_ends(cell), *wires]


def _of_experiment(experiment: dict, sizes: dict, host: Topology) -> Iterator[NestingCell]:
    if experiment["task"] == NETWORK:
        for client, server, network in experiment["ends"]:
            yield _between(client, server, network, experiment["hosts"], sizes, host)
        return
    for runtime in experiment["runtime"]:
        for instances, children in _numbers(experiment, runtimes.find(runtime).nested):
            yield _cell(experiment["task"], runtime, instances, children, sizes, host)


def _between(client: str, server: str, network: str, hosts: str, sizes: dict, host: Topology) -> NestingCell:
    """Return the cell of a network between two runtimes. `sizes` is the profile's part for this design."""
    parameters = {key: sizes[key] for key in ("seconds", "burst", "message_kilobytes", "buffer_kilobytes")}
    far = host.get("second_host") if hosts == TWO else None
    if far:
        # With another machine as second host, the same cell is a different measurement.
        parameters["second_host"] = far
    if OPEN_VSWITCH in network.split("+"):
        # Open vSwitch in user space is another switch than in the kernel.
        parameters["switch"] = _switches(host)
    nested = [runtimes.find(end).nested for end in (client, server)]
    placed = _bindings(host) if hosts == ONE else {"": _apart(host, far)}
    boots = sum(BOOT[one.emulated] for one in map(runtimes.find, (client, server)) if one.own_kernels)
    seconds = len(placed) * TESTS * (parameters["seconds"] + BETWEEN) + ENDS + boots
    seconds += sum(nested) * (LOADED[0] + REMOVED[0]) + (REACHED if far else 0.0)
    return {
        "path": f"{NETWORK}/{client}/{server}/{network}/{hosts}",
        "task": NETWORK,
        "runtime": client,
        "instances": ABSENT,
        "children": ABSENT,
        "server": server,
        "network": network,
        "hosts": hosts,
        "bindings": placed,
        "parameters": parameters,
        "limit_seconds": max(LEAST_LIMIT, PATIENCE * seconds),
        "expected_seconds": seconds,
        "useful": True,
        "experiments": [],
    }


def _switches(host: Topology) -> str:
    """Return where Open vSwitch switches on a host: `kernel` if the host does not say."""
    return host.get("open_vswitch", topology.KERNEL)


def _apart(host: Topology, far: SecondHost | None) -> list[int]:
    """Return [client's processor, server's processor] for ends on two hosts.

    If the second host is another machine (`far`), each end has a processor of its own machine. Otherwise they are on a
    core each of this host, or on the only core.
    """
    cores = _cores(host)
    if far:
        return [cores[0], far.get("processor", 0)]
    return [cores[0], cores[min(1, len(cores) - 1)]]


def _cores(host: Topology) -> list[int]:
    """Return a processor of each core: its first usable hardware thread."""
    return [core for cores in topology.cores_of_sockets(host).values() for core in cores]


def _bindings(host: Topology) -> dict[str, list[int] | None]:
    """Return [client's processor, server's processor] by placement, None for the placement that binds nothing.

    The placements are free, both on the first core, and on a core each. The last is left out on a host with one core.
    """
    first, *others = _cores(host)
    placed: dict[str, list[int] | None] = dict.fromkeys(PLACEMENTS)
    placed["same_core"] = [first, first]
    if not others:
        del placed["other_core"]
        return placed
    return {**placed, "other_core": [first, others[0]]}


def _numbers(experiment: dict, nested: bool) -> Iterator[tuple[int, int]]:
    """Yield (instances, children in each) for each cell of an experiment.

    All children together are at most the experiment's `total`. Runtimes without nesting have 0 children.
    """
    for instances in experiment["instances"]:
        for children in experiment.get("children", [1]) if nested else [0]:
            if instances * children <= experiment.get("total", instances * children):
                yield instances, children


def _cell(task: str, runtime: str, instances: int, children: int, sizes: dict, host: Topology) -> NestingCell:
    parameters = {"primes": sizes["primes"], "events": sizes["events"]} if task == CPU else DUMMY
    found = runtimes.find(runtime)
    if found.own_kernels:
        seconds = _of_machines(task, instances, parameters, host["cores"], found.emulated)
    else:
        seconds = _seconds(task, runtime, instances, children, parameters, host["cores"])
    return {
        "path": f"{task}/{runtime}/{instances}/{children}",
        "task": task,
        "runtime": runtime,
        "instances": str(instances),
        "children": str(children),
        "server": ABSENT,
        "network": ABSENT,
        "hosts": ABSENT,
        "parameters": parameters,
        "limit_seconds": max(LEAST_LIMIT, PATIENCE * seconds),
        "expected_seconds": seconds,
        "useful": True,
        "experiments": [],
    }


def _seconds(task: str, runtime: str, instances: int, children: int, parameters: dict, cores: int) -> float:
    """Return about how long a run of containers or programs takes (s)."""

    def of(times: tuple[float, float], number: int = instances) -> float:
        return times[0] + times[1] * (number - 1)

    if task == CPU:
        program = workloads.find(Sysbench.name, Sysbench).expected_seconds(parameters, instances, cores)
        return program + (of(LOADED) + of(REMOVED) if children else 0.0 if runtime == BARE else of(CONTAINER))
    if not children:
        return of(CREATED)
    return of(PARENT) + CREATED[1] * (instances * children - 1) + (1.0 if task == PRELOADED else 0.0)


def _of_machines(task: str, instances: int, parameters: dict, cores: int, emulated: bool) -> float:
    """Return about how long a run of virtual machines takes (s)."""
    booting = BOOT[emulated] * max(1.0, instances / cores)
    program = workloads.find(Sysbench.name, Sysbench).expected_seconds(parameters, instances, cores) if task == CPU else 0.0
    return booting + program * (EMULATED if emulated else 1.0)


def _needs_root(cell: NestingCell, host: Topology) -> str | None:
    """Return why this user cannot make the networks of a cell without root; None if it is possible."""
    if host.get("root", True) or cell["task"] != NETWORK:
        return None
    if cell["hosts"] == TWO and "second_host" not in host:
        return "a second host that is a network namespace of this one needs root"
    on_host = cell["network"].startswith("host+")
    return "a bridge of this host, for children of a container on its network, needs root" if on_host else None


def _too_many(cell: NestingCell, host: Topology) -> str | None:
    """Return why the host's memory cannot hold a cell's containers or virtual machines; None if it can."""
    machines = _machines(cell)
    needed = total(cell) * CONTAINER_BYTES + parents(cell) * PARENT_BYTES if not machines else machines * MACHINE_BYTES
    return sizing.too_large(_words(cell), needed, host)


def _cut(experiment: dict, cell: NestingCell, sizes: dict, host: Topology) -> str | None:
    """Return why the plan leaves a cell out although the host could have it; None if it does not."""
    if cell["task"] == NETWORK:
        if PLAIN in cell["network"].split("+") and _switches(host) == topology.KERNEL:
            return "a bridge without offloads is measured only beside Open vSwitch in user space, which has none either"
        left_out = experiment.get("beyond", False) and not sizes["beyond"]
        return "the profile leaves out what the paper has not, to save time" if left_out else None
    if _emulated(cell):
        most, what = sizes["emulated"]["instances"], "emulated virtual machines"
        beyond = int(cell["instances"]) > most
    elif _machines(cell):
        most, what = sizes["machines"], "virtual machines"
        beyond = int(cell["instances"]) > most
    elif cell["children"] == NO_CHILDREN:
        most, what = sizes["instances"], "instances"
        beyond = int(cell["instances"]) > most
    else:
        most, what = sizes["children"], "nested containers"
        beyond = total(cell) > most
    return f"the profile ends at {most} {what}, to save time" if beyond else None


def _words(cell: NestingCell) -> str:
    if cell["children"] == NO_CHILDREN:
        what = "virtual machines" if _machines(cell) else "instances"
        return f"{cell['instances']} {what}"
    return f"{total(cell)} children in {cell['instances']} parent{'' if cell['instances'] == '1' else 's'}"
