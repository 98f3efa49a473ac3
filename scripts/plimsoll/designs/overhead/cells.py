"""Cells of a study of overhead on a host. Every function is pure."""

from collections.abc import Iterator, Sequence

from plimsoll import design, runtimes, workloads
from plimsoll.designs.overhead.factors import BARE, OWN, VOLUME, OverheadCell
from plimsoll.host import sizing
from plimsoll.interchange import ABSENT, Plan, Topology
from plimsoll.measuring import record
from plimsoll.planning import availability
from plimsoll.planning.virtual_machines import EMULATED_MACHINE, MACHINE
from plimsoll.runtimes.base import GUEST_BYTES
from plimsoll.workloads.base import Microservice, Room

# Memory of a virtual machine for its kernel and its files, besides the benchmark's (bytes).
GUEST_REST = 112 * 2**20
# For a plan's estimate: time to start and remove a node (s), and time to start an iteration in it (s). A benchmark is so many
# times slower on an emulated processor.
AROUND = {"bare": 0.3, "container": 1.2, MACHINE: 3.0, EMULATED_MACHINE: 8.0}
BETWEEN = 0.1
EMULATED = 5.0


class Cells(design.Cells):
    """Cells of a study of overhead."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, OverheadCell]]:
        """Return (experiment, cell) for each benchmark, runtime and storage, including cells that cannot be measured here."""
        cells = []
        for name, experiment in study["experiments"].items():
            for benchmark, runtime, storage in _levels(experiment):
                if config["runtimes"].get(runtime, "off") == "off" or _not_both(runtime, config, unavailable):
                    continue
                cell = _cell(benchmark, runtime, storage, profile["overhead"], host)
                cell["host"] = sizing.of_host(host)["host"]
                far = availability.second_host(cell)
                lacking = unavailable.get(runtime) or (far and far.reason) or _needs_root(cell, host)
                cell["reason"] = lacking or _too_large(cell, host)
                cell["fingerprint"] = record.identify(self.measured(cell))
                cells.append((name, cell))
        return cells

    def measured(self, cell: OverheadCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint."""
        keys = [
            "path",
            "host",
            "processors",
            "memory_bytes",
            "parameters",
            "warm_up_seconds",
            "window_seconds",
            "interval_seconds",
        ]
        return {key: cell[key] for key in keys}

    def repetitions(self, profile: dict) -> int:
        """Return the profile's number of repetitions for studies of overhead."""
        return profile["overhead"]["repetitions"]

    def kind(self, cell: OverheadCell) -> str:
        """Return `network`, `disk` or `processor`: what the cell's benchmark measures."""
        if cell["storage"] != ABSENT:
            return "disk"
        return "network" if workloads.find(cell["benchmark"], Microservice).roles else "processor"

    def trial(self, plan: Plan, cells: Sequence[OverheadCell]) -> OverheadCell | None:
        """Return the cheapest cell, without a warm-up and with the fewest iterations.

        None for benchmarks of the disk, because one iteration takes seconds.
        """
        easiest = min(cells, key=lambda cell: (cell["expected_seconds"], cell["path"]))
        return None if easiest["storage"] != ABSENT else {**easiest, "warm_up_seconds": 0, "window_seconds": 0}

    def plan_extras(self, study: dict, host: Topology) -> dict:
        """Return this design's keys of the plan: whether the host is a virtual machine, and a second host that is a machine."""
        told = {"hypervisor": host.get("hypervisor", False)}
        return {**told, "second_host": host["second_host"]} if "second_host" in host else told

    def shown(self, plan: Plan, study: dict, name: str) -> list[OverheadCell]:
        """Return the plan's cells whose benchmark gives one of the metrics of a figure or table.

        Cells with a volume are included only if the figure or table names that storage.
        """
        item = {**study["figures"], **study.get("tables", {})}[name]
        benchmarks = {study["metrics"][metric]["benchmark"] for metric in item["metrics"]}
        storage = {ABSENT, *item.get("storage", [OWN])}
        return [cell for cell in plan["cells"].values() if cell["benchmark"] in benchmarks and cell["storage"] in storage]

    def programs(self, plan: Plan, cell: OverheadCell) -> list[str]:
        """Return the benchmark's program."""
        return [workloads.find(cell["benchmark"], Microservice).software]


def _not_both(runtime: str, config: dict, unavailable: dict[str, str]) -> bool:
    """Return whether a runtime is an emulated virtual machine although virtual machines run on the host's own processor."""
    return runtime == EMULATED_MACHINE and MACHINE not in unavailable and config["runtimes"].get(MACHINE, "off") != "off"


def _levels(experiment: dict) -> Iterator[tuple[str, str, str]]:
    """Yield (benchmark, runtime, storage). Only containers have volumes, because only they have layers to be outside of."""
    for benchmark in experiment["benchmark"]:
        for runtime in experiment["runtime"]:
            found = runtimes.find(runtime)
            for storage in experiment.get("storage", [ABSENT]):
                if storage != VOLUME or (found.has_containers and not found.own_kernels):
                    yield benchmark, runtime, storage


def _cell(benchmark: str, runtime: str, storage: str, sizes: dict, host: Topology) -> OverheadCell:
    service, found = workloads.find(benchmark, Microservice), runtimes.find(runtime)
    memory = sizes["memory_megabytes"] * 2**20
    room = Room(memory, memory, sizing.of_host(host)["cache_bytes"])
    parameters = service.parameters(sizes["sizes"].get(benchmark, {}), room)
    if service.roles and "second_host" in host:
        # With another second host, the same cell is another measurement.
        parameters = {**parameters, "second_host": host["second_host"]}
    on_disk = storage != ABSENT
    if found.own_kernels:
        memory = max(GUEST_BYTES, (memory if on_disk else service.memory_bytes(parameters)) + GUEST_REST)
    elif not on_disk:
        memory = None
    window = sizes["storage_window_seconds" if on_disk else "window_seconds"]
    each = service.expected_seconds(parameters) * (EMULATED if found.emulated else 1.0) + BETWEEN
    kind = runtime if runtime in AROUND else "container"
    cell: OverheadCell = {
        "path": "/".join((benchmark, runtime, *((storage,) if on_disk else ()))),
        "benchmark": benchmark,
        "runtime": runtime,
        "storage": storage,
        "processors": len(host["cpus"]),
        "memory_bytes": memory,
        "parameters": parameters,
        "warm_up_seconds": sizes["warm_up_seconds"],
        "window_seconds": window,
        "interval_seconds": sizes["interval_seconds"],
        "iteration_limit_seconds": sizes["iteration_limit_seconds"],
        # An iteration that begins within the window ends after it.
        "expected_seconds": AROUND[kind] + max(each, sizes["warm_up_seconds"]) + max(window, each) + each / 2,
        "useful": True,
        "experiments": [],
    }
    return {**cell, "repetitions": sizes["emulated"]["repetitions"]} if found.emulated else cell


def _needs_root(cell: OverheadCell, host: Topology) -> str | None:
    """Return why a cell needs the rights of root, which this user does not have; None otherwise."""
    if host.get("root", True):
        return None
    if cell["runtime"] == BARE:
        return "bare metal with the files of an image needs root on this machine"
    roles = workloads.find(cell["benchmark"], Microservice).roles
    return "a network namespace for the server needs root on this machine" if roles and "second_host" not in host else None


def _too_large(cell: OverheadCell, host: Topology) -> str | None:
    """Return why the host's memory is too small for a cell; None if it is large enough."""
    service = workloads.find(cell["benchmark"], Microservice)
    needed = max(cell["memory_bytes"] or 0, service.memory_bytes(cell["parameters"]))
    return sizing.too_large(service.label, needed, host)
