"""A run to measure, and what a design needs to make one attempt at it, or at the runs of one launch."""

from pathlib import Path
from typing import NamedTuple

from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import noise
from plimsoll.measuring.watch import Watch


class Run(NamedTuple):
    """A run to measure: a repetition of a cell of the plan, with the description of its image."""

    plan: Plan
    cell: Cell
    repetition: int
    study_folder: Path
    image: Image

    @property
    def name(self) -> str:
        """Name of the run: the path of its record below runs/, without the ending."""
        return f"{self.cell['path']}/{self.repetition}"


class Attempt(NamedTuple):
    """One attempt at a run, or at the runs of one launch: everything that a design needs to make it.

    `cells` are the cells of the launch, in their order. Most designs have one cell in a launch. `folder` takes the
    launch's raw output, and `temporary` is a short path for sockets. `account` is the cgroup that counts the processor
    time of this process and its children. `limits` says what neighbours may use. `watch` looks at the run now and then.
    `notes` is the part of the records that is written so far.
    """

    identity: str
    plan: Plan
    cells: tuple[Cell, ...]
    image: Image
    folder: Path
    temporary: Path
    machine: noise.Machine
    account: Path | None
    limits: dict
    watch: Watch
    notes: dict

    @property
    def cell(self) -> Cell:
        """Return the run's cell. In a launch of several cells it is the first one, whose deployment is that of all."""
        return self.cells[0]

    def snapshot(
        self, groups: list[Path], daemons: tuple[str, ...], *, accounted: bool = True, programs: list[Path] | None = None
    ) -> noise.Snapshot:
        """Return a Snapshot of this moment, with the containers' cgroups, and watch the programs in these from then on.

        If `programs` is given, programs in those groups are watched instead. With `accounted` false the group of this
        process and its children is not used, because what they started has left it.
        """
        account = self.account if accounted else None
        self.watch.stops.of(groups if programs is None else programs, account)
        return noise.snapshot(self.machine, account, groups, daemons)

    def beside(self, spans: noise.Spans, *, apart: bool) -> dict:
        """Return what else the machine did in spans of the attempt (noise.neighbours)."""
        stopped = self.watch.stops.within((before.when, after.when) for before, after in spans)
        return noise.neighbours(spans, self.machine.processors, apart=apart, stopped=stopped, **self.limits)


def folder_of(folder: Path, cell: Cell) -> Path:
    """Return the folder of a cell's raw output in its launch's folder."""
    return folder / cell["part"] if "part" in cell else folder
