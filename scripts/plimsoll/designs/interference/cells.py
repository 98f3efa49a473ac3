"""The cells of an interference study on a host: pure.

Case 1 is one container with limits and one microservice, the baseline. Case 1a, which the papers have not, is the same without
limits: what a microservice alone makes of both cores. In case 2 a container without limits holds two, in cases
3a and 3b two containers hold one each, without and with limits (jha2021, section 4.1). All containers together have the memory
and the cores of two containers with limits, as in the papers, whose host is twice the size of such a container.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from plimsoll import workloads
from plimsoll.designs.interference.factors import FREE, SAME_CORE, InterferenceCell
from plimsoll.host import cpulist, sizing, topology
from plimsoll.interchange import Plan, Topology
from plimsoll.measuring import record
from plimsoll.workloads.base import Room

# The case that the others are compared with.
BASELINE = "1"
# The co-runner of one that is alone.
NOBODY = "none"
# Microservices of each container, as places in the pair, and whether containers have limits.
CASES = {
    "1": {"containers": ((0,),), "limits": True},
    "1a": {"containers": ((0,),), "limits": False},
    "2": {"containers": ((0, 1),), "limits": False},
    "3a": {"containers": ((0,), (1,)), "limits": False},
    "3b": {"containers": ((0,), (1,)), "limits": True},
}
# What starting and removing containers takes, with what passes between two runs, for a plan's estimate.
AROUND_A_RUN = 2.6
FRESH_CONTAINER = 1.6
# The window of a run that shows whether a runtime works.
TRIAL_SECONDS = 0.2


def wanted(
    study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
) -> list[tuple[str, InterferenceCell]]:
    """(experiment, cell): each microservice alone, and every unordered pair, one with itself included, in the other cases.

    One run of a pair measures both its members.
    """
    cells = []
    # All cells share what the host has, whichever microservices an experiment is about.
    benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
    of_host = _of_host(list(dict.fromkeys(benchmarks)), profile["interference"], host, config.get("programs") or {})
    for name, experiment in study["experiments"].items():
        for runtime in experiment["runtime"]:
            if config["runtimes"].get(runtime, "off") == "off":
                continue
            for case, members, placement in _levels(experiment):
                cell = _cell(study, profile["interference"], case, members, runtime, placement, of_host)
                cell["host"] = sizing.of(host)["host"]
                cell["grouped"] = host.get("limits", True)
                cell["reason"] = of_host["reason"] or unavailable.get(runtime) or _ungrouped(cell)
                if not of_host["reason"]:
                    cell["fingerprint"] = record.identify(measured(cell))
                cells.append((name, cell))
    return cells


def _ungrouped(cell: dict) -> str | None:
    """Why the containers of a cell cannot have the memory that they should have together; None if they can. One container can
    have it as a limit of its own."""
    if cell["grouped"] or len(cell["containers"]) == 1 or cell["containers"][0]["limits"]:
        return None
    return "two containers that share a limit of memory need a cgroup around them, which this user may not make"


def _levels(experiment: dict) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(case, members, placement): only members that have a server can be placed."""
    for case in experiment["case"]:
        for members in _members(case, experiment["benchmark"]):
            placed = any(workloads.find(name).roles for name in members)
            for placement in experiment.get("placement", [FREE]) if placed else [FREE]:
                yield case, members, placement


def _members(case: str, benchmarks: list[str]) -> list[tuple[str, ...]]:
    number = sum(len(places) for places in CASES[case]["containers"])
    return list(combinations_with_replacement(benchmarks, number))


def _of_host(benchmarks: list[str], sizes: dict, host: Topology, supplied: dict[str, dict]) -> dict:
    """Cores, memory and problem sizes that all cells share; `reason` if this host is too small."""
    cores = _two_cores(host)
    caches = sizing.of(host)["cache_bytes"]
    each = sizes["memory_megabytes"] * 2**20

    def parameters_of(name: str) -> dict:
        given = sizes["sizes"].get(name, {})
        return workloads.find(name).parameters(given, Room(each, 2 * each, caches), supplied.get(name))

    # A problem that is larger than the caches may need more memory than the profile says.
    for name in benchmarks:
        each = max(each, workloads.find(name).memory_bytes(parameters_of(name)))
    each = -(-each // 2**20) * 2**20
    if len(cores) < 2:
        reason = "two cores of one socket are needed, one for each of two containers"
    else:
        reason = sizing.too_large("the containers", 2 * each, host)
    parameters = {name: parameters_of(name) for name in benchmarks}
    return {"cores": cores, "memory_bytes": each, "parameters": parameters, "reason": reason}


def _two_cores(host: Topology) -> list[dict]:
    """The first two cores of the first socket that has two, as their first hardware threads with their memory nodes."""
    for cores in topology.cores_of_sockets(host).values():
        if len(cores) >= 2:
            node_of = {cpu["cpu"]: cpu["node"] for cpu in host["cpus"]}
            return [{"cpu": core, "node": node_of[core]} for core in cores[:2]]
    return []


def _cell(study: dict, sizes: dict, case: str, members: tuple[str, ...], runtime: str, placement: str, of_host: dict) -> dict:
    pair, design = "+".join(members), CASES[case]
    protocol = {**study["protocol"], **sizes["protocol"]}
    parameters = {name: of_host["parameters"][name] for name in members}
    alone = len(members) == 1
    each = {name: workloads.find(name).expected_seconds(parameters[name]) for name in members}
    seconds, window = max(each.values()), _window(each, protocol["window_seconds"], sizes.get("enough", {}))
    return {
        "path": f"{case}/{pair}/{runtime}/{placement}",
        "case": case,
        "pair": pair,
        "runtime": runtime,
        "placement": placement,
        "bindings": _bindings(members, placement, of_host["cores"]),
        "members": list(members),
        "host_limits": _limits(of_host["cores"], 2 * of_host["memory_bytes"]),
        "containers": [
            {
                "members": list(places),
                "limits": _limits([of_host["cores"][number]], of_host["memory_bytes"]) if _has(design, of_host) else None,
            }
            for number, places in enumerate(design["containers"])
        ],
        "block_io_weight": sizes["block_io_weight"] if design["limits"] else None,
        "parameters": parameters,
        "substitutes": {name: s for name in members if (s := workloads.find(name).stands_for(parameters[name]))},
        "iterations": protocol["iterations"] if alone else None,
        "window_seconds": None if alone else window,
        "iteration_limit_seconds": protocol["iteration_limit_seconds"],
        "expected_seconds": protocol["iterations"] * (seconds + FRESH_CONTAINER)
        if alone
        else window + seconds / 2 + AROUND_A_RUN,
        "useful": True,
        "experiments": [],
    }


def _window(seconds: dict[str, float], longest: float, enough: dict[str, int]) -> float:
    """Window of a pair whose members' iterations take so many `seconds`: what holds `enough` iterations of both (those that the
    variance of each level makes best), or the `longest`, which is also that of a member of which no number is known."""
    return min(longest, max(enough[name] * own if name in enough else longest for name, own in seconds.items()))


def _bindings(members: tuple[str, ...], placement: str, cores: list[dict]) -> list[list[int] | None]:
    """For each member the processors of its client and of its server; None where it has no server, or is not placed. A member
    has the core of its place in the pair, which in case 3b is that of its container."""
    if placement == FREE or len(cores) < 2:
        return [None] * len(members)
    own = [core["cpu"] for core in cores]
    servers = own if placement == SAME_CORE else own[::-1]
    return [[own[place], servers[place]] if workloads.find(name).roles else None for place, name in enumerate(members)]


def _has(design: dict, of_host: dict) -> bool:
    return design["limits"] and not of_host["reason"]


def _limits(cores: list[dict], memory: int) -> dict:
    return {
        "cpus": cpulist.format([core["cpu"] for core in cores]),
        "nodes": cpulist.format({core["node"] for core in cores}),
        "memory_bytes": memory,
    }


def measured(cell: InterferenceCell) -> dict:
    """Return the keys that say what is measured in a cell, in the order of its fingerprint."""
    keys = ["path", "host", "host_limits", "containers", "bindings", "block_io_weight"]
    keys += ["parameters", "iterations", "window_seconds", *([] if cell["grouped"] else ["grouped"])]
    return {key: cell[key] for key in keys}


def parameters(plan: Plan) -> dict[str, dict]:
    """Parameters of every microservice of a plan."""
    return {name: given for cell in plan["cells"].values() for name, given in cell["parameters"].items()}


def views(plan: Plan) -> list[dict]:
    """What can be said of each cell: a microservice in it, with the one that it runs beside (`none` in case 1).

    A pair of different microservices has two: L(+S) and S(+L).
    """
    seen = []
    for cell in plan["cells"].values():
        for place, name in enumerate(dict.fromkeys(cell["members"])):
            other = NOBODY if len(cell["members"]) == 1 else cell["members"][1 - place]
            seen.append({**cell, "benchmark": name, "co_runner": other})
    return seen


def shown(plan: Plan, study: dict, name: str) -> list[InterferenceCell]:
    """The plan's cells that a figure or table shows: all in which a microservice of its metrics runs, in the papers' placement
    unless it names others."""
    item = {**study["figures"], **study.get("tables", {})}[name]
    wanted = {study["metrics"][metric]["benchmark"] for metric in item.get("metrics", study["metrics"])}
    placements = item.get("placement", [FREE])
    of_papers = (cell for cell in plan["cells"].values() if len(cell["members"]) > 1 or cell["case"] == BASELINE)
    return [cell for cell in of_papers if wanted & set(cell["members"]) and cell["placement"] in placements]


def memory_share(profile: dict) -> float:
    """0: no problem's size follows from the memory."""
    return 0.0


def problem_bytes(plan: Plan) -> int:
    """0: no problem's size follows from the memory."""
    return 0


def repetitions(profile: dict) -> int:
    """The profile's number for studies of interference."""
    return profile["interference"]["repetitions"]


def kind(cell: InterferenceCell) -> str:
    """Whether there is one container or two."""
    return "one container" if len(cell["containers"]) == 1 else "two containers"


def trial(plan: Plan, cells: Sequence[InterferenceCell]) -> InterferenceCell:
    """The cheapest where the kernel places clients and servers: one iteration, or a window that one of each member fills."""
    easiest = min(cells, key=lambda cell: (cell["placement"] != FREE, cell["expected_seconds"], cell["path"]))
    once = {"iterations": 1} if easiest["window_seconds"] is None else {"window_seconds": TRIAL_SECONDS}
    return {**easiest, **once}


def described(study: dict, host: Topology) -> dict:
    """The plan holds nothing besides its cells."""
    return {}


def unseen(plan: Plan, study: dict, metrics: list[str]) -> dict[str, str]:
    """None of them: a microservice prints its values on every host."""
    return {}


def host_facts(machine: Topology) -> dict[str, str]:
    """Nothing about a machine is told for this design alone."""
    return {}


def programs(plan: Plan, cell: InterferenceCell) -> list[str]:
    """The microservice, or those of the pair."""
    return list(dict.fromkeys(workloads.find(name).software for name in cell["members"]))
