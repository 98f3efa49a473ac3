"""Make one attempt at a run: a program in several instances, the creation of instances, or a network."""

from pathlib import Path

from plimsoll import paths, runtimes
from plimsoll.designs.nesting import cpu, creation, network
from plimsoll.designs.nesting.factors import CPU, NETWORK, NestingCell, nested_containers, parents, total
from plimsoll.designs.nesting.task import Task
from plimsoll.host import disk
from plimsoll.interchange import ABSENT
from plimsoll.measuring.attempt import Attempt
from plimsoll.runtimes.docker_nested import GIVEN, USUAL, privileges
from plimsoll.runtimes.networks import second_host
from plimsoll.services.attempts import ServiceAttempts
from plimsoll.services.containers import Services
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# Bytes in an engine's storage: of a parent (its own engine's copy of the child's image), and of a container.
PARENT_BYTES, CONTAINER_BYTES = 400 * 2**20, 2**20
# What parents and children may do beyond other containers, and the end of the name of a parent's notes.
KINDS = {"parent": GIVEN, "child": USUAL}
PARENT = "-parent.status"
PLURAL = {"parent": "parents", "child": "children"}
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
        return {**run.measure(), **privileges_of(run.attempt.folder, run.cell)}


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


def privileges_of(folder: Path, cell: NestingCell) -> dict[str, dict]:
    """Return the record's part about the privileges of a run's parents and children; empty if nothing is nested.

    Each noted, when it began, what it may do. The part has, for both, the `capabilities` beyond Docker's default ones, and
    `seccomp`. Raise InvalidOutput if one may do more or less than planned, or has noted nothing.
    """
    if not (children := nested_containers(cell)):
        return {}
    notes = sorted(folder.glob("*.status"))
    for kind, least in (("parent", parents(cell)), ("child", children)):
        own = [path for path in notes if path.name.endswith(PARENT) == (kind == "parent")]
        # There may be more parents than the cell has: those that only loaded the child's image left notes too.
        if len(own) < least:
            raise InvalidOutput(f"{len(own)} of {least} {PLURAL[kind]} told what they may do")
        for path in own:
            _refuse(kind, path)
    return {"privileges": {kind: {**known, "capabilities": sorted(known["capabilities"])} for kind, known in KINDS.items()}}


def _refuse(kind: str, noted: Path) -> None:
    """Raise InvalidOutput if the privileges that one parent or child noted are not those of its kind."""
    try:
        seen = privileges(program_output.text_of(noted))
    except ValueError as problem:
        raise InvalidOutput(f"the {kind} {noted.stem} did not note what it may do: {problem}") from problem
    if seen != KINDS[kind]:
        raise InvalidOutput(f"the {kind} {noted.stem} has {_words(seen)}, and should have {_words(KINDS[kind])}")


def _words(known: dict) -> str:
    more = ", ".join(sorted(known["capabilities"])) or "no capability more than other containers"
    return f"{more}, seccomp {known['seccomp']}"
