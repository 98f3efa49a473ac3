"""What the workflow asks of an instrument, and the instrument that watches nothing."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.environments.base import Node
from plimsoll.interchange import Cell, Topology
from plimsoll.mpi.job import Job


class Instrument:
    """Watches one run. Runs under an instrument are runs of their own: none of their values stands for a run without it.

    `cell` is the run's cell of the plan, with what `settings` added to it. `preload` is a library of the image that every rank
    loads first.
    """

    name = "plain"
    preload: str | None = None

    def __init__(self, job: Job, cell: Cell):
        self.job, self.cell = job, cell

    @staticmethod
    def settings(host: Topology) -> dict:
        """What a cell of the plan says of the instrument on this host; with a `reason` if it cannot watch anything here."""
        return {}

    @staticmethod
    def missing(source: str, settings: dict) -> str | None:
        """Why a value cannot be had with these settings; None if it can."""
        return None

    def around(self, command: list[str], nodes: Sequence[Node], account: Path | None) -> list[str]:
        """The command that launches the ranks in the nodes, with what it takes to watch it. `account` is the cgroup of this
        process."""
        return command

    def values(self, ranks: list[dict], region: str) -> dict[str, float]:
        """What was seen, by name; InvalidOutput if that does not fit together.

        `ranks` are the ranks' own reports, `region` is what the benchmark calls the part of itself that is measured.
        """
        return {}


INSTRUMENTS = (Instrument,)
