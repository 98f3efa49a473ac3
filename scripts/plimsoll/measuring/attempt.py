"""What a design is given to make one attempt at a run, or at the runs of one launch."""

from pathlib import Path
from typing import NamedTuple

from plimsoll.host.disk import Room
from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import noise


class Attempt(NamedTuple):
    """One attempt at a run: everything that a design needs to make it.

    `cells` are those of the launch, in their order; most designs have one for each run. `folder` takes the launch's
    raw output, `temporary` is a short path for sockets, `account` the group that counts the processor time of this process and
    its children, `limits` what neighbours may use, `room` the disks that the runs may not fill, `notes` the part of the records
    that is written so far.
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
    room: Room
    notes: dict

    @property
    def cell(self) -> Cell:
        """The cell of a run that is a launch of its own; of several the first, which has its deployment in common with the
        others."""
        return self.cells[0]


def folder_of(folder: Path, cell: Cell) -> Path:
    """Where the raw output of a cell lies in its launch's folder."""
    return folder / cell["part"] if "part" in cell else folder
