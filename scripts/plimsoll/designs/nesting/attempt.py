"""One attempt at a run: a program in instances of an environment, or the creation of such instances."""

import os
import time

from plimsoll import environments
from plimsoll.designs.nesting import cpu, creation, network
from plimsoll.designs.nesting.factors import CPU, NETWORK, NestingCell, parents, total
from plimsoll.environments.base import Environment
from plimsoll.errors import Outage, Unavailable
from plimsoll.measuring import lock, noise, status
from plimsoll.measuring.attempt import Attempt
from plimsoll.services.kept import Services
from plimsoll.workloads.base import InvalidOutput

# Containers have no limits.
LIMITS_MEMORY = False
# What an engine's folder holds of a parent (its engine's copy of the child's image) and of a container, and what must be left.
PARENT_BYTES, CONTAINER_BYTES, SPARE_BYTES = 400 * 2**20, 2**20, 2**30
# Of all others, which create containers, it is the same.
TASKS = {CPU: cpu.Task, NETWORK: network.Task}


def attempt(attempt: Attempt) -> dict:
    """Check the disk, measure, take down, and judge."""
    environment = environments.find(attempt.cell["runtime"])
    begun = time.monotonic()
    services = Services(environment, attempt.identity, attempt.folder) if environment.services else None
    task = TASKS.get(attempt.cell["task"], creation.Task)(attempt, environment, services)
    try:
        if services and not environment.own_kernels:
            refuse_full(attempt.cell, environment)
        measured = task.measure()
    except InvalidOutput as problem:
        return {"status": status.INVALID, "reason": str(problem)}
    except Unavailable as problem:
        return {"status": status.FAILED, "reason": str(problem)}
    finally:
        attempt.notes["seconds"]["remove"] = lock.take_down(task.take_down, environments.known().values())
        attempt.notes["seconds"]["run"] = round(time.monotonic() - begun, 4)
    during = noise.neighbours(task.spans, attempt.machine.processors, apart=task.counted, **attempt.limits)
    attempt.notes["noise"]["during"] = during
    measured["bits"] = {path: known["sha256"] for path, known in attempt.image["files"].items()}
    if during["disturbed"]:
        return {**measured, **noise.disturbed(during)}
    return {**measured, "status": status.VALID, "reason": None}


def refuse_full(cell: NestingCell, environment: Environment) -> None:
    """Outage if what the containers write would not fit where they write it."""
    storage = environment.storage()
    needed = parents(cell) * PARENT_BYTES + total(cell) * CONTAINER_BYTES + SPARE_BYTES
    free = os.statvfs(storage).f_bavail * os.statvfs(storage).f_frsize
    if free < needed:
        raise Outage(
            f"{storage} has {free / 2**30:.1f} GiB free, and {total(cell)} containers need {needed / 2**30:.1f}", "free some"
        )
