"""Make one attempt at a run: a program in several instances, the creation of instances, or a network."""

from pathlib import Path

from plimsoll import paths, runtimes
from plimsoll.designs.nesting import cpu, creation, network, privileges
from plimsoll.designs.nesting.factors import CPU, NETWORK, NestingCell, parents, total
from plimsoll.designs.nesting.task import Task
from plimsoll.host import disk
from plimsoll.interchange import ABSENT
from plimsoll.measuring.attempt import Attempt
from plimsoll.runtimes.networks import second_host
from plimsoll.services.attempts import ServiceAttempts
from plimsoll.services.containers import Services

# Bytes in an engine's storage: of a parent (its own engine's copy of the child's image), and of a container.
PARENT_BYTES, CONTAINER_BYTES = 400 * 2**20, 2**20
# Classes by task. All other tasks create containers (creation.Task).
TASKS = {CPU: cpu.Task, NETWORK: network.Task}


class Attempts(ServiceAttempts):
    """Attempts at runs of a study of nesting."""

    def others(self, cell: NestingCell) -> list:
        """Return what a run needs besides its own runtime: the server's runtime, and a second host that is another machine."""
        server = [runtimes.find(cell["server"])] if cell["server"] != ABSENT else []
        return [*server, *second_host.away(cell["parameters"].get("second_host"))]

    def start(self, attempt: Attempt) -> Task:
        """Return the task of an attempt. Unavailable if its containers cannot be had."""
        runtime = runtimes.find(attempt.cell["runtime"])
        services = Services(runtime, attempt.identity, attempt.folder) if runtime.services else None
        return TASKS.get(attempt.cell["task"], creation.Task)(attempt, runtime, services)

    def measure(self, run: Task) -> dict:
        """Return what a task measures, and the privileges that its parents and children had.

        Raise Outage if a disk is too full, or if a container that was started is gone.
        """
        refuse_full(run.cell)
        run.attempt.watch.room.watch({f"{disk.CONTAINERS} in {folder}": folder for folder in written(run.cell)})
        return {**run.measure(), **privileges.read(run.attempt.folder, run.cell)}


def refuse_full(cell: NestingCell) -> None:
    """Raise Outage if the disks where the containers write have too little room for it."""
    needed = parents(cell) * PARENT_BYTES + total(cell) * CONTAINER_BYTES + disk.SPARE_BYTES
    for folder in written(cell):
        disk.refuse_less(folder, needed)


def written(cell: NestingCell) -> list[Path]:
    """Return the folders of this host where the containers of a cell write.

    They are the storage of each end's engine and, with nested containers, the image store, where the engines of parents
    may have their folders.
    """
    ends = [runtimes.find(name) for name in dict.fromkeys((cell["runtime"], cell["server"])) if name != ABSENT]
    contained = [each for each in ends if each.services and not each.own_kernels]
    store = [paths.image_store()] if any(each.nested for each in contained) else []
    return list(dict.fromkeys([*(each.storage() for each in contained), *store]))
