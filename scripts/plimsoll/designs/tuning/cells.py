"""Cells of a study of tuning on a host. Every function is pure."""

from collections.abc import Iterator, Sequence

from plimsoll import design
from plimsoll.designs.tuning import strategies
from plimsoll.designs.tuning.factors import AND, SMALL, TuningCell
from plimsoll.host import sizing
from plimsoll.interchange import ClusterHost, Plan, Topology
from plimsoll.measuring import record

# Memory of the daemons besides the tasks (bytes): of the master, and of a worker.
MASTER_BYTES, WORKER_BYTES = 1536 * 2**20, 640 * 2**20
# For a plan's estimate on two processors (s): starting and removing a cluster of two workers, each further worker, a job, and
# each gigabyte of a job's data.
CLUSTER, WORKER, JOB, GIGABYTE = 13.0, 5.0, 16.5, 36.0
# Size of the data of a trial job, which shows whether a cluster works (bytes).
TRIAL_BYTES = 2**20


class Cells(design.Cells):
    """Cells of a study of tuning."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, TuningCell]]:
        """Return (experiment, cell) for each strategy, and for each combination of strategies of a factorial design.

        Cells that cannot be measured here are included.
        """
        cells = []
        for name, experiment in study["experiments"].items():
            for runtime in experiment["runtime"]:
                if config["runtimes"].get(runtime, "off") == "off":
                    continue
                for strategy in _strategies(experiment, profile["tuning"]):
                    cell = _cell(study, runtime, strategy, profile["tuning"], config["seed"])
                    others = host.get("cluster_hosts")
                    if others:
                        cell["parameters"]["hosts"] = [_as_noted(other, host) for other in others[: cell["workers"]]]
                    cell["host"] = sizing.of_host(host)["host"]
                    cell["reason"] = unavailable.get(runtime) or _unreachable(cell, others) or _too_large(cell, host)
                    cell["fingerprint"] = record.identify(self.measured(cell))
                    cells.append((name, cell))
        return cells

    def measured(self, cell: TuningCell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint."""
        return {key: cell[key] for key in ("path", "host", "workers", "settings", "sizes", "parameters")}

    def repetitions(self, profile: dict) -> int:
        """Return the profile's number of repetitions for studies of tuning."""
        return profile["tuning"]["repetitions"]

    def trial(self, plan: Plan, cells: Sequence[TuningCell]) -> TuningCell:
        """Return the cheapest cell, with a single job on little data."""
        easiest = min(cells, key=lambda cell: (cell["expected_seconds"], cell["path"]))
        return {**easiest, "sizes": {SMALL: TRIAL_BYTES}}

    def plan_extras(self, study: dict, host: Topology) -> dict:
        """Return this design's keys of the plan: the strategies, and the machines that the configuration names for workers."""
        named = (
            {"cluster_hosts": [_as_noted(other, host) for other in host["cluster_hosts"]]} if "cluster_hosts" in host else {}
        )
        return {"strategies": study["strategies"], **named}

    def programs(self, plan: Plan, cell: TuningCell) -> list[str]:
        """Return Hadoop: the job itself is part of the image."""
        return ["Hadoop"]


def _strategies(experiment: dict, sizes: dict) -> Iterator[str]:
    if "strategy" in experiment:
        yield from experiment["strategy"]
    else:
        yield from strategies.factorial([name for name in experiment["factors"] if name in sizes["factors"]])


def _cell(study: dict, runtime: str, strategy: str, sizes: dict, seed: int) -> TuningCell:
    known, together = study["strategies"], AND in strategy
    workers = strategies.workers(known, strategy)
    # Effects of combined strategies are measured with the small data only.
    data = {name: round(size * 2**20) for name, size in sizes["megabytes"].items() if not together or name == SMALL}
    gigabytes = sum(data.values()) / 2**30
    cell: TuningCell = {
        "path": f"{runtime}/{strategy}",
        "runtime": runtime,
        "strategy": strategy,
        "workers": workers,
        "settings": strategies.settings(known, strategy),
        "sizes": data,
        "parameters": {"seed": seed, "node_megabytes": sizes["node_megabytes"]},
        "job_limit_seconds": sizes["job_limit_seconds"],
        "expected_seconds": CLUSTER + WORKER * max(0, workers - 2) + JOB * len(data) + GIGABYTE * gigabytes,
        "useful": True,
        "experiments": [],
    }
    fewer = together or known[strategy].get("beside", False)
    return {**cell, "repetitions": sizes["beside"]["repetitions"]} if fewer else cell


def worker_bytes(cell: TuningCell) -> int:
    """Return the memory (bytes) that a worker may use on its host, with as many tasks as it may run."""
    return WORKER_BYTES + cell["parameters"]["node_megabytes"] * 2**20


def memory_bytes(cell: TuningCell) -> int:
    """Return the memory (bytes) that a cluster may use if all of its nodes are on this host."""
    return MASTER_BYTES + cell["workers"] * worker_bytes(cell)


def _as_noted(other: ClusterHost, host: Topology) -> ClusterHost:
    """Return another host, with the memory that it had when problem sizes were decided.

    A change of its memory then does not change the cell.
    """
    noted = sizing.of_host(host)["cluster_bytes"].get(other["name"])
    return {**other, "memory_bytes": noted} if noted and "memory_bytes" in other else other


def _unreachable(cell: TuningCell, named: list[ClusterHost] | None) -> str | None:
    """Return why the machines of the configuration cannot run the workers, one on each; None if they can."""
    if not named:
        return None
    others = named[: cell["workers"]]
    if reason := next((other["reason"] for other in others if "reason" in other), None):
        return reason
    if len(others) < cell["workers"]:
        return f"each of {cell['workers']} workers needs a machine of its own, and cluster_hosts names {len(others)}"
    small = [other for other in others if worker_bytes(cell) > sizing.MEMORY_SHARE * other["memory_bytes"]]
    return f"a worker would need {worker_bytes(cell) / 2**30:.1f} GiB of the memory of {small[0]['name']}" if small else None


def _too_large(cell: TuningCell, host: Topology) -> str | None:
    """Return why the host's memory is too small for the cluster, or for its master if the workers are elsewhere."""
    apart = "hosts" in cell["parameters"]
    what, needed = ("the master", MASTER_BYTES) if apart else (f"a cluster of {cell['workers']} workers", memory_bytes(cell))
    return sizing.too_large(what, needed, host)
