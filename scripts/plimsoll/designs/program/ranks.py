"""Attempt at a run of MPI ranks: mpirun starts them in one node, or split over several, and each rank is timed where it runs.

With all ranks in one node mpirun runs in that node, as a user would type it. Split ranks are started by the image's own
mpirun on this host (mpi.job). A run's time is from the last rank's start to the last rank's end. The start of containers,
of mpirun and of its daemons is not in it.
"""

import os
import shutil
import time
from itertools import permutations
from pathlib import Path

from plimsoll.designs.program import ladder, outputs, watched_run
from plimsoll.designs.program.factors import HOST
from plimsoll.errors import Unavailable
from plimsoll.host import disk, topology
from plimsoll.measuring import lock
from plimsoll.measuring.process import run_bounded
from plimsoll.mpi import launch, reports
from plimsoll.mpi.job import Job
from plimsoll.runtimes import segments
from plimsoll.runtimes.base import Node, Spec
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# Limit for what is around the ranks (s): mpirun, and its daemon in each container.
AROUND = 30.0
# Decimal places of the times in a rank's report (timed.c).
DIGITS = 6
MPIRUN = "mpirun"
# Each rank waits with its processor, because it has one: in every level, whatever Open MPI sees of slots there.
PARAMETERS = {"mpi_yield_when_idle": 0}
AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
SUMS = ("user", "system", "minor_faults", "major_faults", "waits", "preempted")


def in_one_node(mpirun: str, ranks: int, temporary: Path | None = None) -> list[str]:
    """Return the command line of mpirun, up to the program, that starts all ranks where it runs itself."""
    given = {**PARAMETERS, **({"orte_tmpdir_base": temporary} if temporary else {})}
    parameters = [word for name, value in given.items() for word in ("--mca", name, str(value))]
    where = ["--host", f"localhost:{ranks}", "--map-by", "slot", "--bind-to", "none"]
    return ["env", *AS_ROOT, mpirun, *where, *parameters, "-np", str(ranks)]


class OfRanks:
    """The part of an attempt (attempts.ProgramRun) that starts ranks. Each run of the program is an mpirun of its own."""

    well = False

    @property
    def noted(self) -> Path:
        """Folder with what rank 0 saw of the machine in the run that warms up."""
        return self.folder / "0"

    @property
    def watched(self) -> list[Path]:
        """Folders with what the timer wrote of each rank that it watched."""
        return [self.noted, *(self.noted / f"ranks/{rank}" for rank in range(1, self.ranks))]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.cell["parameters"]["ranks"]

    def take_down(self) -> None:
        """Stop the nodes, and the ranks on this host that a failed launcher has left, with their shared memory."""
        super().take_down()
        if not self.well:
            lock.kill_run(self.attempt.identity)
            segments.remove_unused()
            # Of containers with this host's IPC namespace.
            segments.remove([node.name for node in self.nodes])
            # Ranks on this host may have written until now.
            self._clean()

    def _node(self) -> Node:
        """Start all nodes, and return the first one."""
        if self.cell["runtime"] not in ladder.SPLIT:
            node = super()._node()
            self.nodes = [node]
            return node
        names = [f"c{number}" for number in range(self.cell["parameters"]["containers"])]
        more = {"temporary": self.attempt.temporary, "user": f"{os.geteuid()}:{os.getegid()}" if os.geteuid() else None}
        if self.services:
            self.attempt.watch.room.watch({disk.CONTAINERS: self.runtime.storage()})
            self.nodes = self.services.start([self.services.spec(name, self.image, **more) for name in names])
        else:
            specs = [Spec(self.attempt.identity, name, self.image, self.folder, **more) for name in names]
            self.nodes = self.runtime.start(specs)
        return self.nodes[0]

    def _timed(self, node: Node, snapshot) -> float:
        """Run the program as often as the cell says. Return the seconds that all of it took."""
        before, begun = snapshot(), time.monotonic()
        try:
            for run in range(self.number):
                self._launch(run)
        finally:
            took = time.monotonic() - begun
            self._note_span(before, snapshot)
        return took

    def _launch(self, run: int) -> None:
        folder, limit = self.folder / str(run), self.cell["parameters"]["limit_seconds"]
        (folder / "ranks").mkdir()
        if self.looks:
            # Made here, because a container's root would make folders that an ordinary user cannot remove.
            for place in self.watched[1:]:
                place.mkdir()
        command, more = self._command(run, folder)
        code = run_bounded(command, more, folder, limit + AROUND, self.attempt.watch)
        if code is None:
            raise InvalidOutput(f"the program did not end within {limit + AROUND:g} s")
        if code:
            self.runtime.intact(self.nodes)
            raise InvalidOutput(f"mpirun ended with {code}: {reports.first_words(folder)}")

    def _command(self, run: int, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command on this host that starts the ranks, and its variables besides those of the run."""
        first = self.nodes[0]
        which = watched_run.COUNT if self.looks else str(run)
        program = [self.timer(first), "--rank", str(self.folder), which, *self.cell["command"]]
        if self.cell["runtime"] in ladder.SPLIT:
            everywhere = {**topology.everything_here(), "cores": [], "slots": []}
            places = [everywhere] * len(self.nodes)
            temporary = self.attempt.temporary
            job = Job(self.attempt.identity, folder, temporary, self.image, places, self.ranks, False, PARAMETERS)
            return job.command(self.nodes, program), job.environment
        mpirun = self._of_host() if self.cell["runtime"] == HOST else launch.MPIRUN
        return first.inside([*in_one_node(mpirun, self.ranks, self.attempt.temporary), *program]), {}

    def _of_host(self) -> str:
        """Return the path of this host's mpirun. Raise Unavailable if it has none."""
        if not (found := shutil.which(MPIRUN, path=self.path)):
            raise Unavailable(f"this host has no {MPIRUN}")
        return found

    def _made(self) -> list[dict]:
        """Return what was logged of each run, over its ranks. InvalidOutput if one of them went wrong."""
        made = [whole(run, reports_of(self.folder / str(run), self.ranks)) for run in range(self.number)]
        self.well = True
        return made

    def _looked(self, node: Node) -> dict:
        """Return what the watched ranks showed."""
        self.well = True
        return super()._looked(node)

    def _around(self, took: float, made: list[dict]) -> float:
        """Return the seconds that an mpirun took beside the program, in the mean."""
        return super()._around(took, made) / len(made)

    def _more(self, made: list[dict]) -> dict:
        """Return how the messages of the warm-up travelled."""
        return {"transport": transport(reports_of(self.folder / "0", self.ranks))}


def transport(ranks: list[dict]) -> dict:
    """Return how messages travelled, as it was seen: `carried_by` in words, and what it follows from.

    Ranks share memory if one of them maps the segment of another. They use TCP if two of them hold the two ends of a
    connection. The bytes of network interfaces would not show it, because every program on this host adds to them.
    """
    segments = [rank["shared_memory_segments"] for rank in ranks]
    return {
        "carried_by": reports.carried_by(max(segments) > 1, connected(ranks)),
        "shared_memory_segments": segments,
        "single_copy": ranks[0]["single_copy"],
    }


def connected(ranks: list[dict]) -> bool:
    """Whether two ranks hold the two ends of a TCP connection."""
    held = [{(local, remote) for local, remote in rank["connections"]} for rank in ranks]
    return any((remote, local) in other for one, other in permutations(held, 2) for local, remote in one)


def reports_of(folder: Path, ranks: int) -> list[dict]:
    """Return the reports of a run's ranks, in order. InvalidOutput if one is missing."""
    found = []
    for rank in range(ranks):
        try:
            found.append(program_output.document(folder / f"ranks/{rank}.json", DIGITS))
        except InvalidOutput as problem:
            raise InvalidOutput(f"rank {rank} left no report: mpirun started other ranks than {ranks}") from problem
    return found


def whole(run: int, ranks: list[dict]) -> dict:
    """Return what a run took over all its ranks, as the log of a single program has it.

    InvalidOutput if ranks left processes running, or did not run at the same time. `memory` is the largest rank's.
    """
    if any(rank["left"] for rank in ranks):
        raise InvalidOutput(outputs.LEFT)
    wall = max(rank["ended"] for rank in ranks) - max(rank["begun"] for rank in ranks)
    if min(rank["ended"] for rank in ranks) <= max(rank["begun"] for rank in ranks):
        raise InvalidOutput("a rank ended before the last one began, so they are no MPI program of that many ranks")
    sums = {name: sum(rank[name] for rank in ranks) for name in SUMS}
    return {"run": run, "wall": wall, "memory": max(rank["memory"] for rank in ranks), **sums}
