"""Interface of an instrument, and the instrument that watches nothing."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.interchange import Cell, Topology
from plimsoll.mpi.job import Job
from plimsoll.runtimes.base import Node


class Instrument:
    """Watches one run. This base class is the instrument that watches nothing.

    Runs under an instrument are separate runs: none of their values stands for a run without it. `cell` is the run's
    cell of the plan, with what `settings` added to it. `preload` is a library of the image that every rank loads first.
    """

    name = "plain"
    preload: str | None = None

    def __init__(self, job: Job, cell: Cell):
        self.job, self.cell = job, cell

    @staticmethod
    def settings(host: Topology) -> dict:
        """Return what a cell of the plan says of the instrument on this host. It has a `reason` if nothing can be
        watched here."""
        return {}

    @staticmethod
    def missing(source: str, settings: dict) -> str | None:
        """Return why a value is unavailable with these settings; None if it is available."""
        return None

    def around(self, command: list[str], nodes: Sequence[Node], account: Path | None) -> list[str]:
        """Return the command that launches the ranks in the nodes, with what is needed to watch it.

        `account` is the cgroup of this process.
        """
        return command

    def values(self, ranks: list[dict], region: str) -> dict[str, float]:
        """Return what was seen, by name. Raise InvalidOutput if that is inconsistent.

        `ranks` are the ranks' own reports. `region` is the benchmark's name for the part of itself that is measured.
        """
        return {}


INSTRUMENTS = (Instrument,)
