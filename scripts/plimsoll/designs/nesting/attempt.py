"""One attempt at a run: a program in instances of an environment, or the creation of such instances."""

import time
from pathlib import Path

from plimsoll import environments, paths
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

# Containers have no limits.
LIMITS_MEMORY = False
LAUNCHES = False
# What an engine's folder holds of a parent (its engine's copy of the child's image) and of a container.
PARENT_BYTES, CONTAINER_BYTES = 400 * 2**20, 2**20
# Of all others, which create containers, it is the same.
TASKS = {CPU: cpu.Task, NETWORK: network.Task}


def others(cell: NestingCell) -> list:
    """The environment of a network's server, and a second host that is another machine."""
    server = [environments.find(cell["server"])] if cell["server"] != ABSENT else []
    return [*server, *second_host.away(cell["parameters"].get("second_host"))]


def attempt(attempt: Attempt) -> dict:
    """Check the disk, measure, take down, and judge."""
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
    """Outage if what the containers write would not fit where they write it."""
    needed = parents(cell) * PARENT_BYTES + total(cell) * CONTAINER_BYTES + disk.SPARE_BYTES
    for folder in written(cell):
        disk.refuse_less(folder, needed)


def written(cell: NestingCell) -> list[Path]:
    """Where what the containers of a cell write lies: the storage of each end's engine, and the store of the images, where
    engines of parents may have their folders."""
    ends = [environments.find(name) for name in dict.fromkeys((cell["runtime"], cell["server"])) if name != ABSENT]
    contained = [each for each in ends if each.services and not each.own_kernels]
    store = [paths.image_store()] if any(each.nested for each in contained) else []
    return list(dict.fromkeys([*(each.storage() for each in contained), *store]))
