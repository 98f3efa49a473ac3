"""The cells of amaral2015's experiments on a host: pure.

Cells that the profile cuts, or that the host's memory cannot hold, are in the plan with that reason.
"""

from collections.abc import Iterator, Sequence

from plimsoll import environments, workloads
from plimsoll.designs.nesting.factors import (
    BARE,
    CPU,
    MACHINE,
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
from plimsoll.environments.base import GUEST_BYTES
from plimsoll.host import sizing, topology
from plimsoll.interchange import ABSENT, Plan, SecondHost, Topology
from plimsoll.measuring import record
from plimsoll.workloads.netperf import Netperf
from plimsoll.workloads.sysbench import Sysbench

# Creating containers is measured with a program that ends at once.
DUMMY = {"primes": 1, "events": 1}
# What a container needs with its shim and a program, what a parent needs with its engine, page cache left out, and what QEMU
# needs beside the memory of a virtual machine (bytes).
CONTAINER_BYTES, PARENT_BYTES, QEMU_BYTES = 25 * 2**20, 80 * 2**20, 100 * 2**20
MACHINE_BYTES = GUEST_BYTES + QEMU_BYTES
# For a plan's estimate (s): what starting and removing takes of the first one and of each other. CONTAINER is one that stays
# up, CREATED one that is created, PARENT loads the child's image, and LOADED is a parent whose engine has that
# (environments/nested/engine_folders.py); the removal of a parent that stays up is apart.
CONTAINER, CREATED, PARENT, LOADED, REMOVED = (0.3, 0.25), (0.6, 0.2), (8.0, 1.6), (1.5, 0.8), (1.2, 0.15)
# The start of a virtual machine, the processor time that it takes, and how many times as long a program takes that is emulated.
BOOT = {False: 2.0, True: 3.0}
EMULATED = 3.3
# Of a network: netperf's tests in one run, what each of them takes beyond its own time, and the start of a client and a server.
TESTS, BETWEEN, ENDS = 2, 0.15, 0.5
# What asking another machine takes in a run.
REACHED = 6.0
# An attempt is given up after as many times what is expected, and this (s).
PATIENCE, LEAST_LIMIT = 10.0, 60.0


def wanted(
    study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
) -> list[tuple[str, NestingCell]]:
    """(experiment, cell) for each task, runtime, number of instances and number of children."""
    cells = []
    for name, experiment in study["experiments"].items():
        for cell in _of_experiment(experiment, profile["nesting"], host):
            needed = _runtimes(cell)
            if "off" in (config["runtimes"].get(runtime, "off") for runtime in needed):
                continue
            if _emulated(cell) and MACHINE not in unavailable and config["runtimes"].get(MACHINE, "off") != "off":
                continue  # where virtual machines run on the host's processor nothing is emulated
            lacking = next((unavailable[runtime] for runtime in needed if runtime in unavailable), None)
            cell["host"] = sizing.of(host)["host"]
            lacking = lacking or _needs_root(cell, host) or _out_of_reach(cell)
            cell["reason"] = lacking or _too_many(cell, host) or _cut(experiment, cell, profile["nesting"], host)
            cell["repetitions"] = _repetitions(cell, profile["nesting"])
            cell["fingerprint"] = record.identify(measured(cell))
            cells.append((name, cell))
    return cells


def _ends(cell: NestingCell) -> list[str]:
    """The environments of a cell: the only one, or those of client and server."""
    return [name for name in dict.fromkeys((cell["runtime"], cell["server"])) if name != ABSENT]


def _emulated(cell: NestingCell) -> bool:
    return any(environments.find(name).emulated for name in _ends(cell))


def _repetitions(cell: NestingCell, sizes: dict) -> int:
    """How often a cell is measured: what is judged less often has a number of its own."""
    own = "emulated" if _emulated(cell) else "networks" if cell["task"] == NETWORK else None
    return (sizes[own] if own else sizes)["repetitions"]


def _machines(cell: NestingCell) -> int:
    """How many virtual machines a cell has."""
    if cell["task"] == NETWORK:
        return sum(environments.find(name).own_kernels for name in (cell["runtime"], cell["server"]))
    return int(cell["instances"]) * environments.find(cell["runtime"]).own_kernels


def _runtimes(cell: NestingCell) -> list[str]:
    """The runtimes that a cell needs."""
    wires = [WIRED] if {OPEN_VSWITCH, PLAIN} & set(cell["network"].split("+")) else []
    return [*_ends(cell), *wires]


def _of_experiment(experiment: dict, sizes: dict, host: Topology) -> Iterator[NestingCell]:
    if experiment["task"] == NETWORK:
        for client, server, network in experiment["ends"]:
            yield _between(client, server, network, experiment["hosts"], sizes, host)
        return
    for runtime in experiment["runtime"]:
        for instances, children in _numbers(experiment, environments.find(runtime).nested):
            yield _cell(experiment["task"], runtime, instances, children, sizes, host)


def _between(client: str, server: str, network: str, hosts: str, sizes: dict, host: Topology) -> NestingCell:
    """The cell of a network between two environments."""
    parameters = {key: sizes[key] for key in ("seconds", "burst", "message_kilobytes", "buffer_kilobytes")}
    far = host.get("second_host") if hosts == TWO else None
    if far:
        # Of another machine the same cell is another measurement.
        parameters["second_host"] = far
    if OPEN_VSWITCH in network.split("+"):
        # In user space it is another switch.
        parameters["switch"] = _switches(host)
    nested = [environments.find(end).nested for end in (client, server)]
    placed = _bindings(host) if hosts == ONE else {"": _apart(host, far)}
    boots = sum(BOOT[one.emulated] for one in map(environments.find, (client, server)) if one.own_kernels)
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
    """Where Open vSwitch switches on a host: in the kernel, unless it is known to be elsewhere."""
    return host.get("open_vswitch", topology.KERNEL)


def _apart(host: Topology, far: SecondHost | None) -> list[int]:
    """Processors of a client and of a server that are to be on hosts of their own: on a core each, where there are two."""
    cores = _cores(host)
    if far:
        return [cores[0], far.get("processor", 0)]
    return [cores[0], cores[min(1, len(cores) - 1)]]


def _cores(host: Topology) -> list[int]:
    """A processor of each core."""
    return [core for cores in topology.cores_of_sockets(host).values() for core in cores]


def _bindings(host: Topology) -> dict[str, list[int] | None]:
    """Processors of client and server by placement: free, both on the first core, or on a core each, where there are two."""
    first, *others = _cores(host)
    placed: dict[str, list[int] | None] = dict.fromkeys(PLACEMENTS)
    placed["same_core"] = [first, first]
    if not others:
        del placed["other_core"]
        return placed
    return {**placed, "other_core": [first, others[0]]}


def _numbers(experiment: dict, nested: bool) -> Iterator[tuple[int, int]]:
    """(instances, children): children in all at most the experiment's `total`."""
    for instances in experiment["instances"]:
        for children in experiment.get("children", [1]) if nested else [0]:
            if instances * children <= experiment.get("total", instances * children):
                yield instances, children


def _cell(task: str, runtime: str, instances: int, children: int, sizes: dict, host: Topology) -> NestingCell:
    parameters = {"primes": sizes["primes"], "events": sizes["events"]} if task == CPU else DUMMY
    environment = environments.find(runtime)
    if environment.own_kernels:
        seconds = _of_machines(task, instances, parameters, host["cores"], environment.emulated)
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
    """About how long a run takes."""

    def of(times: tuple[float, float], number: int = instances) -> float:
        return times[0] + times[1] * (number - 1)

    if task == CPU:
        program = workloads.find(Sysbench.name, Sysbench).expected_seconds(parameters, instances, cores)
        return program + (of(LOADED) + of(REMOVED) if children else 0.0 if runtime == BARE else of(CONTAINER))
    if not children:
        return of(CREATED)
    return of(PARENT) + CREATED[1] * (instances * children - 1) + (1.0 if task == PRELOADED else 0.0)


def _of_machines(task: str, instances: int, parameters: dict, cores: int, emulated: bool) -> float:
    """About how long a run of virtual machines takes."""
    booting = BOOT[emulated] * max(1.0, instances / cores)
    program = workloads.find(Sysbench.name, Sysbench).expected_seconds(parameters, instances, cores) if task == CPU else 0.0
    return booting + program * (EMULATED if emulated else 1.0)


def _needs_root(cell: NestingCell, host: Topology) -> str | None:
    """Why whoever measures cannot make the networks of a cell; None if they can."""
    if host.get("root", True) or cell["task"] != NETWORK:
        return None
    if cell["hosts"] == TWO and "second_host" not in host:
        return "a second host that is a network namespace of this one needs root"
    on_host = cell["network"].startswith("host+")
    return "a bridge of this host, for children of a container on its network, needs root" if on_host else None


def _out_of_reach(cell: NestingCell) -> str | None:
    """Why nothing can be measured with the second host that the configuration names."""
    return cell["parameters"].get("second_host", {}).get("reason")


def _too_many(cell: NestingCell, host: Topology) -> str | None:
    """Why the host's memory cannot hold the containers."""
    machines = _machines(cell)
    needed = total(cell) * CONTAINER_BYTES + parents(cell) * PARENT_BYTES if not machines else machines * MACHINE_BYTES
    return sizing.too_large(_words(cell), needed, host)


def _cut(experiment: dict, cell: NestingCell, sizes: dict, host: Topology) -> str | None:
    """Why a cell is left out although the host could have it."""
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


def measured(cell: NestingCell) -> dict:
    """Return the keys that say what is measured in a cell, in the order of its fingerprint."""
    return {key: cell[key] for key in ("path", "host", "parameters", "bindings") if key in cell}


def memory_share(profile: dict) -> float:
    """0: no problem's size follows from the memory."""
    return 0.0


def problem_bytes(plan: Plan) -> int:
    """0: no problem's size follows from the memory."""
    return 0


def repetitions(profile: dict) -> int:
    """The profile's number for studies of nesting."""
    return profile["nesting"]["repetitions"]


def kind(cell: NestingCell) -> str:
    """The task, which makes nodes and networks in its own way."""
    return cell["task"]


def trial(plan: NestingPlan, cells: Sequence[NestingCell]) -> NestingCell:
    """The cheapest, with a program that ends at once, or with short tests of the network."""
    easiest = min(cells, key=lambda cell: (cell["expected_seconds"], cell["path"]))
    parameters = easiest["parameters"]
    if easiest["task"] == NETWORK:
        placed = dict(list(easiest["bindings"].items())[:1])
        return {**easiest, "bindings": placed, "parameters": {**parameters, "seconds": min(1, parameters["seconds"])}}
    return {**easiest, "parameters": {**parameters, **DUMMY}}


def described(study: dict, host: Topology) -> dict:
    """The host's cores, which claims speak of, where Open vSwitch switches, whether the host is a virtual machine, and a second
    host, if it is another machine."""
    told = {"cores": host["cores"], "open_vswitch": _switches(host)}
    told["hypervisor"] = host.get("hypervisor", False)
    return {**told, "second_host": host["second_host"]} if "second_host" in host else told


def shown(plan: Plan, study: dict, name: str) -> list[NestingCell]:
    """The plan's cells of the experiments of a figure or table."""
    item = {**study["figures"], **study.get("tables", {})}[name]
    named = {item["experiment"], *item.get("beside", [])}
    return [cell for cell in plan["cells"].values() if named & set(cell["experiments"])]


def unseen(plan: Plan, study: dict, metrics: list[str]) -> dict[str, str]:
    """None of them: clocks and the kernel's counts are on every host."""
    return {}


def host_facts(machine: Topology) -> dict[str, str]:
    """Where Open vSwitch switches on a machine."""
    return {"Open vSwitch's datapath": f"in {'the ' * (_switches(machine) == topology.KERNEL)}{_switches(machine)}"}


def programs(plan: NestingPlan, cell: NestingCell) -> list[str]:
    """Sysbench, or Netperf; none where it is the creation of instances that is measured."""
    return {CPU: [Sysbench.software], NETWORK: [Netperf.software]}.get(cell["task"], [])
