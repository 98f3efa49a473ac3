"""The base class of all tasks: its instances, and snapshots of the machine before and after what is measured."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingCell, total
from plimsoll.host import run_files
from plimsoll.measuring import lock, noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.runtimes.base import Runtime, Spec
from plimsoll.services.attempts import Run
from plimsoll.services.containers import Services, all_counted
from plimsoll.workloads import find
from plimsoll.workloads.sysbench import Sysbench


class Task(Run):
    """A task in progress.

    `services` manages the task's containers; it is None for a runtime without services. `spans` are pairs of snapshots
    of the machine, taken before and after what is measured. What a task measures has `values`, from which metrics are
    made, and may have `apart` and `each`.
    """

    def __init__(self, attempt: Attempt, runtime: Runtime, services: Services | None):
        self.attempt, self.runtime, self.services = attempt, runtime, services
        self.cell: NestingCell = attempt.cell
        self.sysbench = find(Sysbench.name, Sysbench)
        self.spans: noise.Spans = []

    @property
    def counted(self) -> bool:
        """Whether the processor time of all containers is counted."""
        return all_counted(self.services)

    def take_down(self) -> None:
        """Remove everything that the task started."""
        if self.services:
            self.services.take_down()
        else:
            # No container takes down a program that hangs or has outlived its loop: it has to be killed here.
            lock.kill_run(self.attempt.identity)

    def specs(self) -> list[Spec]:
        """Return the specification of a node for each instance."""
        image, folder = self.attempt.image, self.attempt.folder
        if self.services:
            return [self.services.spec(f"c{number}", image) for number in range(self.instances)]
        return [Spec(self.attempt.identity, f"c{number}", image, folder) for number in range(self.instances)]

    def folder_of(self, name: str) -> Path:
        """Make a folder of this name for output in the attempt's folder, and return its path."""
        return run_files.new_folder(self.attempt.folder / name)

    def snapshot(self) -> noise.Snapshot:
        """Return a snapshot of what the machine has used until now."""
        groups = self.services.groups() if self.services else []
        return self.attempt.snapshot(groups, self.runtime.daemons)

    @property
    def instances(self) -> int:
        """Number of programs, containers or parents."""
        return int(self.cell["instances"])

    @property
    def children(self) -> int:
        """Number of containers in each parent; 0 if nothing is nested."""
        return int(self.cell["children"])

    @property
    def number(self) -> int:
        """Number of nodes in which a program runs: children, or instances if nothing is nested."""
        return total(self.cell)
