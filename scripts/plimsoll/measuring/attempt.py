"""What a design is given to make one attempt at a run, or at the runs of one launch."""

from pathlib import Path
from typing import NamedTuple

from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import noise
from plimsoll.measuring.watch import Watch


class Attempt(NamedTuple):
    """One attempt at a run: everything that a design needs to make it.

    `cells` are those of the launch, in their order; most designs have one for each run. `folder` takes the launch's
    raw output, `temporary` is a short path for sockets, `account` the group that counts the processor time of this process and
    its children, `limits` what neighbours may use, `watch` is what looks at the run now and then, `notes` the part of
    the records that is written so far.
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
        """The cell of a run that is a launch of its own; of several the first, which has its deployment in common with the
        others."""
        return self.cells[0]

    def snapshot(
        self, groups: list[Path], daemons: tuple[str, ...], *, accounted: bool = True, programs: list[Path] | None = None
    ) -> noise.Snapshot:
        """The moment's Snapshot, with the containers' cgroups, whose programs are watched from then on (or those of the groups
        `programs`). What has left the group of this process and its children is not `accounted` there."""
        account = self.account if accounted else None
        self.watch.stops.of(groups if programs is None else programs, account)
        return noise.snapshot(self.machine, account, groups, daemons)

    def beside(self, spans: noise.Spans, *, apart: bool) -> dict:
        """What else the machine did in spans of the attempt (noise.neighbours)."""
        stopped = self.watch.stops.within((before.when, after.when) for before, after in spans)
        return noise.neighbours(spans, self.machine.processors, apart=apart, stopped=stopped, **self.limits)


def folder_of(folder: Path, cell: Cell) -> Path:
    """Where the raw output of a cell lies in its launch's folder."""
    return folder / cell["part"] if "part" in cell else folder
