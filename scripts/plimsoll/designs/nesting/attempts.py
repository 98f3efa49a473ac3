"""Make one attempt at a run: a program in several instances, the creation of instances, or a network."""

import time
from pathlib import Path

from plimsoll import design, environments, paths
from plimsoll.designs.nesting import cpu, creation, network, privileges
from plimsoll.designs.nesting.factors import CPU, NETWORK, NestingCell, parents, total
from plimsoll.environments.networks import second_host
from plimsoll.errors import Unavailable
from plimsoll.host import disk
from plimsoll.interchange import ABSENT
from plimsoll.measuring import lock, noise, status
from plimsoll.measuring.attempt import Attempt
from plimsoll.services.kept import Services
from plimsoll.workloads.base import InvalidOutput

# Bytes in an engine's storage: of a parent (its own engine's copy of the child's image), and of a container.
PARENT_BYTES, CONTAINER_BYTES = 400 * 2**20, 2**20
# Classes by task. All other tasks create containers (creation.Task).
TASKS = {CPU: cpu.Task, NETWORK: network.Task}


class Attempts(design.Attempts):
    """Attempts at runs of a study of nesting."""

    def others(self, cell: NestingCell) -> list:
        """Return what a run needs besides its own runtime: the server's runtime, and a second host that is another machine."""
        server = [environments.find(cell["server"])] if cell["server"] != ABSENT else []
        return [*server, *second_host.away(cell["parameters"].get("second_host"))]

    def attempt(self, attempt: Attempt) -> dict:
        """Make one attempt at a run, and return its part of the record: `status`, `reason` and what was measured.

        The status is `valid`, `disturbed` by neighbours, `invalid` (wrong output), or `failed` (something was unavailable).
        Raise Outage if a disk is too full, or if a container that was started is gone.
        """
        environment = environments.find(attempt.cell["runtime"])
        begun = time.monotonic()
        try:
            services = Services(environment, attempt.identity, attempt.folder) if environment.services else None
            task = TASKS.get(attempt.cell["task"], creation.Task)(attempt, environment, services)
        except Unavailable as problem:
            return {"status": status.FAILED, "reason": str(problem)}
        try:
            refuse_full(attempt.cell)
            attempt.watch.room.watch({f"{disk.CONTAINERS} in {folder}": folder for folder in written(attempt.cell)})
            measured = task.measure()
            measured |= privileges.read(attempt.folder, attempt.cell)
        except InvalidOutput as problem:
            return {"status": status.INVALID, "reason": str(problem)}
        except Unavailable as problem:
            return {"status": status.FAILED, "reason": str(problem)}
        finally:
            attempt.notes["seconds"]["run"] = round(time.monotonic() - begun, 4)
            attempt.notes["seconds"]["remove"] = lock.take_down(task.take_down, environments.known().values())
        during = attempt.beside(task.spans, apart=task.counted)
        attempt.notes["noise"]["during"] = during
        measured["bits"] = {path: known["sha256"] for path, known in attempt.image["files"].items()}
        if during["disturbed"]:
            return {**measured, **noise.disturbed(during)}
        return {**measured, "status": status.VALID, "reason": None}


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
    ends = [environments.find(name) for name in dict.fromkeys((cell["runtime"], cell["server"])) if name != ABSENT]
    contained = [each for each in ends if each.services and not each.own_kernels]
    store = [paths.image_store()] if any(each.nested for each in contained) else []
    return list(dict.fromkeys([*(each.storage() for each in contained), *store]))
