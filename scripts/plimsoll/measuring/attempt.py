"""What a design is given to make one attempt at a run."""

from pathlib import Path
from typing import NamedTuple

from plimsoll.interchange import Cell, Image, Plan
from plimsoll.measuring import noise


class Attempt(NamedTuple):
    """One attempt at a run: everything that a design needs to make it.

    `folder` takes its raw output, `temporary` is a short path for sockets, `account` the group that counts the processor time
    of this process and its children, `limits` what neighbours may use, `notes` the part of the record that is written so far.
    """

    identity: str
    plan: Plan
    cell: Cell
    image: Image
    folder: Path
    temporary: Path
    machine: noise.Machine
    account: Path | None
    limits: dict
    notes: dict
