"""Plan the cells of an interference study on a host. Pure functions.

The cases are those of jha2021, section 4.1, and one of our own:

- 1: one container with limits and one microservice. This is the baseline.
- 1a: the same without limits, to see what a microservice alone makes of both cores. The papers do not have it.
- 2: one container without limits, with two microservices.
- 3a: two containers without limits, with one microservice each.
- 3b: two containers with limits, with one microservice each.

All containers together have the memory and the cores of two containers with limits. So do the papers': their host is
twice the size of a container with limits.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from plimsoll import design, workloads
from plimsoll.designs.interference.factors import FREE, SAME_CORE, InterferenceCell
from plimsoll.host import cpulist, sizing, topology
from plimsoll.interchange import Plan, Topology
from plimsoll.measuring import record
from plimsoll.workloads.base import Room

# The case that all others are compared with.
BASELINE = "1"
# The co-runner of a microservice that runs alone.
NOBODY = "none"
# For each case: the members in each container, by place in the pair, and whether containers have limits.
CASES = {
    "1": {"containers": ((0,),), "limits": True},
    "1a": {"containers": ((0,),), "limits": False},
    "2": {"containers": ((0, 1),), "limits": False},
    "3a": {"containers": ((0,), (1,)), "limits": False},
    "3b": {"containers": ((0,), (1,)), "limits": True},
}
# For a plan's estimate (s): starting and removing containers, with the time between two runs; and one fresh container.
AROUND_A_RUN = 2.6
FRESH_CONTAINER = 1.6
# Window of a trial run (s), which shows whether a runtime works.
TRIAL_SECONDS = 0.2


class Cells(design.Cells):
    """Cells of an interference study."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, InterferenceCell]]:
        """Return (experiment, cell) for every cell that an experiment wants, including those that cannot be measured here.

        Case 1 and 1a have a cell for each microservice. The other cases have one for every unordered pair of microservices,
        and a microservice is also paired with itself. One run of a pair measures both members. A runtime that the
        configuration turns off has no cells.
        """
        cells = []
        # The host's cores and memory are shared by all cells, so the sizes consider the microservices of every experiment.
        benchmarks = [name for experiment in study["experiments"].values() for name in experiment["benchmark"]]
        of_host = _of_host(list(dict.fromkeys(benchmarks)), profile["interference"], host, config.get("programs") or {})
        for name, experiment in study["experiments"].items():
            for runtime in experiment["runtime"]:
                if config["runtimes"].get(runtime, "off") == "off":
                    continue
                for case, members, placement in _levels(experiment):
                    cell = _cell(study, profile["interference"], case, members, runtime, placement, of_host)
                    cell["host"] = sizing.of_host(host)["host"]
                    cell["grouped"] = host.get("limits", True)
                    cell["reason"] = of_host["reason"] or unavailable.get(runtime) or _ungrouped(cell)
                    if not of_host["reason"]:
                        cell["fingerprint"] = record.identify(self.measured(cell))
                    cells.append((name, cell))
        return cells

    def measured(self, cell: InterferenceCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint."""
        keys = ["path", "host", "host_limits", "containers", "bindings", "block_io_weight"]
        keys += ["parameters", "iterations", "window_seconds", *([] if cell["grouped"] else ["grouped"])]
        return {key: cell[key] for key in keys}

    def shown(self, plan: Plan, study: dict, name: str) -> list[InterferenceCell]:
        """Return the plan's cells that a figure or table shows: all in which a microservice of its metrics runs.

        They are in the papers' placement, unless the figure or table names others. Case 1a is not shown.
        """
        item = {**study["figures"], **study.get("tables", {})}[name]
        wanted = {study["metrics"][metric]["benchmark"] for metric in item.get("metrics", study["metrics"])}
        placements = item.get("placement", [FREE])
        of_papers = (cell for cell in plan["cells"].values() if len(cell["members"]) > 1 or cell["case"] == BASELINE)
        return [cell for cell in of_papers if wanted & set(cell["members"]) and cell["placement"] in placements]

    def repetitions(self, profile: dict) -> int:
        """Return the number of repetitions that a profile has for interference studies."""
        return profile["interference"]["repetitions"]

    def kind(self, cell: InterferenceCell) -> str:
        """Return `one container` or `two containers`: what a cell needs of its runtime."""
        return "one container" if len(cell["containers"]) == 1 else "two containers"

    def trial(self, plan: Plan, cells: Sequence[InterferenceCell]) -> InterferenceCell:
        """Return the cheapest of the cells, cut down to a trial of whether the runtime works.

        A cell in placement `free` is preferred. The trial has one iteration of a microservice alone, or a window so short
        that each member of a pair makes one iteration.
        """
        easiest = min(cells, key=lambda cell: (cell["placement"] != FREE, cell["expected_seconds"], cell["path"]))
        once = {"iterations": 1} if easiest["window_seconds"] is None else {"window_seconds": TRIAL_SECONDS}
        return {**easiest, **once}

    def programs(self, plan: Plan, cell: InterferenceCell) -> list[str]:
        """Return the names, as in the image's `versions`, of the programs that a cell measures."""
        return list(dict.fromkeys(workloads.find(name).software for name in cell["members"]))


def _ungrouped(cell: dict) -> str | None:
    """Return why the containers of a cell cannot share one memory limit; None if they can, or need not.

    Sharing a limit takes a cgroup around the containers. A single container can have the limit as its own, and
    containers with limits of their own need no shared one.
    """
    if cell["grouped"] or len(cell["containers"]) == 1 or cell["containers"][0]["limits"]:
        return None
    return "two containers that share a limit of memory need a cgroup around them, which this user may not make"


def _levels(experiment: dict) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (case, members, placement) for each cell of an experiment.

    Only cells in which a microservice has a server are placed; the others have the placement `free` alone.
    """
    for case in experiment["case"]:
        for members in _members(case, experiment["benchmark"]):
            placed = any(workloads.find(name).roles for name in members)
            for placement in experiment.get("placement", [FREE]) if placed else [FREE]:
                yield case, members, placement


def _members(case: str, benchmarks: list[str]) -> list[tuple[str, ...]]:
    number = sum(len(places) for places in CASES[case]["containers"])
    return list(combinations_with_replacement(benchmarks, number))


def _of_host(benchmarks: list[str], sizes: dict, host: Topology, supplied: dict[str, dict]) -> dict:
    """Return the cores, memory and problem sizes that all cells share, and the `reason` if this host is too small.

    `reason` is None if the host is large enough. The memory of one container is the profile's, or more if a problem
    needs it.
    """
    cores = _two_cores(host)
    caches = sizing.of_host(host)["cache_bytes"]
    each = sizes["memory_megabytes"] * 2**20

    def parameters_of(name: str) -> dict:
        given = sizes["sizes"].get(name, {})
        return workloads.find(name).parameters(given, Room(each, 2 * each, caches), supplied.get(name))

    # A problem must be larger than the caches, and may then need more memory than the profile gives.
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
    """Return the first two cores of the first socket that has two.

    A core is a dict: `cpu`, its first hardware thread, and `node`, its memory node. The list is empty if no socket has
    two usable cores.
    """
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
    """Return the window of a pair in seconds.

    It holds `enough` iterations of both members, and is at most `longest`. `seconds` is the duration of an iteration by
    member. `enough` is the number of iterations by member that suffice in a window, chosen from the variance at each
    level. A member without such a number gets the `longest` window.
    """
    return min(longest, max(enough[name] * own if name in enough else longest for name, own in seconds.items()))


def _bindings(members: tuple[str, ...], placement: str, cores: list[dict]) -> list[list[int] | None]:
    """Return [client's processor, server's processor] for each member.

    A member has None if it has no server or is not placed. Its client has the core of its place in the pair, which in
    case 3b is the core of its container.
    """
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


def parameters(plan: Plan) -> dict[str, dict]:
    """Return the parameters of every microservice of a plan, by the microservice's name."""
    return {name: given for cell in plan["cells"].values() for name, given in cell["parameters"].items()}


def views(plan: Plan) -> list[dict]:
    """Return the views of a plan's cells: one for each microservice of a cell, with its co-runner.

    A view is the cell with the keys `benchmark` and `co_runner` (`none` if the microservice runs alone). A pair of two
    different microservices has two views: L(+S) and S(+L).
    """
    seen = []
    for cell in plan["cells"].values():
        for place, name in enumerate(dict.fromkeys(cell["members"])):
            other = NOBODY if len(cell["members"]) == 1 else cell["members"][1 - place]
            seen.append({**cell, "benchmark": name, "co_runner": other})
    return seen
