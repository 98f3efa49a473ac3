"""What both tasks have: the instances, and snapshots of the machine before and after what is measured."""

from pathlib import Path

from plimsoll.designs.nesting.factors import NestingCell, total
from plimsoll.environments.base import Environment, Spec
from plimsoll.host import shared
from plimsoll.measuring import lock, noise
from plimsoll.measuring.attempt import Attempt
from plimsoll.services.kept import Services, all_counted
from plimsoll.workloads import find
from plimsoll.workloads.sysbench import Sysbench


class Task:
    """A task in progress; `services` is None where nothing is contained. `spans` are the snapshots of the machine."""

    def __init__(self, attempt: Attempt, environment: Environment, services: Services | None):
        self.attempt, self.environment, self.services = attempt, environment, services
        self.cell: NestingCell = attempt.cell
        self.sysbench = find(Sysbench.name, Sysbench)
        self.spans: noise.Spans = []

    def measure(self) -> dict:
        """The record's part: `values` (metrics are made of them), `apart` and `each`. InvalidOutput if what was measured does
        not count, Unavailable if it could not be."""
        raise NotImplementedError

    @property
    def counted(self) -> bool:
        """Whether somebody counts the time of all containers."""
        return all_counted(self.services)

    def take_down(self) -> None:
        """Remove what the task started."""
        if self.services:
            self.services.take_down()
        else:
            # What hangs, or whose loop was killed, goes on by itself.
            lock.kill_run(self.attempt.identity)

    def specs(self) -> list[Spec]:
        """Each instance as a node."""
        image, folder = self.attempt.image, self.attempt.folder
        if self.services:
            return [self.services.spec(f"c{number}", image) for number in range(self.instances)]
        return [Spec(self.attempt.identity, f"c{number}", image, folder) for number in range(self.instances)]

    def folder_of(self, name: str) -> Path:
        """A new folder for the output of what is called so."""
        return shared.new_folder(self.attempt.folder / name)

    def snapshot(self) -> noise.Snapshot:
        """What the machine has used until now."""
        groups = self.services.groups() if self.services else []
        return self.attempt.snapshot(groups, self.environment.daemons)

    @property
    def instances(self) -> int:
        """Programs, containers or parents."""
        return int(self.cell["instances"])

    @property
    def children(self) -> int:
        """Containers in each parent."""
        return int(self.cell["children"])

    @property
    def number(self) -> int:
        """Containers in which something runs, or instances that are none."""
        return total(self.cell)
