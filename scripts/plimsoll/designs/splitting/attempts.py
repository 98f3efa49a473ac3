"""Launch of a splitting study: the ranks of one MPI application in a deployment's containers, for one or more sections."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import design, instruments, runtimes, workloads
from plimsoll.designs.splitting import ranks
from plimsoll.designs.splitting.factors import SplittingCell
from plimsoll.errors import Unavailable
from plimsoll.host import cpulist, disk, processes, run_files
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import lock, noise, status, strays
from plimsoll.measuring.attempt import Attempt, folder_of
from plimsoll.measuring.process import run_bounded
from plimsoll.mpi.job import Job
from plimsoll.mpi.reports import first_words, transport
from plimsoll.runtimes import segments
from plimsoll.runtimes.base import Node, Runtime
from plimsoll.workloads import kernels
from plimsoll.workloads.base import Application, InvalidOutput

# Objects that may differ between ranks although the benchmark's bits are the same: the kernel's own page (vDSO), and plug-ins.
# Open MPI opens other plug-ins where it finds other devices.
NOT_COMPARED = (
    "linux-vdso",
    "mca_",
    "pmix_mca_",
    "hwloc_",
    "libOpenCL",
    "libX",
    "libxcb",
    "libbsd",
    "libmd.",
)


class Attempts(design.Attempts):
    """Attempts at runs of a splitting study."""

    def launch(self, attempt: Attempt) -> dict[str, dict]:
        """Start the containers, run the sections one after another, remove the containers, and judge each section.

        Return each section's part of the record, by cell. Each section is a separate mpirun with processes of its own. If
        sections shared processes, what one leaves in memory or in Open MPI would change the values of the next
        (docs/explanation/architecture.md).

        The launch ends after a section that failed or left processes, because these may still run in the containers. Cells
        whose sections were not reached are left out.
        """
        first = Job.of_cell(attempt.identity, attempt.folder, attempt.temporary, attempt.cell, attempt.image)
        runtime = runtimes.find(attempt.cell["runtime"])
        seconds, begun = attempt.notes["seconds"], time.monotonic()
        try:
            nodes = runtime.start(first.specs)
        except Unavailable as problem:
            reason = f"the containers could not be started: {problem}"
            return {cell["path"]: {"status": status.FAILED, "reason": reason} for cell in attempt.cells}
        root = processes.root(nodes[0].groups)
        attempt.watch.room.watch({disk.CONTAINERS: root} if root else {})
        seconds["deploy"] = round(time.monotonic() - begun, 4)
        ended: dict[str, SectionEnd | str] = {}
        try:
            for cell in attempt.cells:
                ended[cell["path"]] = one = _section(attempt, cell, runtime, nodes)
                if isinstance(one, str) or not one.well:
                    break
        finally:
            seconds["remove"] = lock.take_down(lambda: runtime.stop(nodes), runtimes.known)
            if attempt.watch.room.refused and runtime.services:
                with contextlib.suppress(Unavailable):
                    attempt.watch.room.moved({disk.CONTAINERS: runtime.storage()})
            if len(ended) < len(attempt.cells) or any(isinstance(one, str) or not one.well for one in ended.values()):
                # Ranks on this host outlive a killed launcher, and leftover processes outlive their program. Both would disturb
                # the next attempt.
                lock.kill_run(attempt.identity)
                segments.remove_unused()
        cells = {cell["path"]: cell for cell in attempt.cells}
        return {path: _found(attempt, one, cells[path], nodes) for path, one in ended.items()}


class SectionEnd(NamedTuple):
    """A section that has ended.

    `job` ran `benchmark` under `instrument`. `command` is what was run, and `code` its exit code (None if it was stopped at
    its time limit). `span` holds the snapshots before and after it. `left` names the processes that it left running, in
    words; it is empty if no process is left.
    """

    job: Job
    benchmark: Application
    instrument: Instrument
    command: list[str]
    code: int | None
    span: tuple[noise.Snapshot, noise.Snapshot]
    left: str = ""

    @property
    def well(self) -> bool:
        """Whether the section exited with 0 and left no process running."""
        return self.code == 0 and not self.left


def _section(attempt: Attempt, cell: SplittingCell, runtime: Runtime, nodes: Sequence[Node]) -> SectionEnd | str:
    """Run a section in the nodes and wait until it ends. Return a reason if it could not be run.

    Raises Outage if a node is no longer up when the section has failed.
    """
    job = Job.of_cell(attempt.identity, folder_of(attempt.folder, cell), attempt.temporary, cell, attempt.image)
    benchmark = workloads.find(attempt.plan["benchmark"], Application)
    instrument = instruments.find(cell["instrument"])(job, cell)
    job.preload = instrument.preload
    accounted = not nodes[0].strays
    groups = [group for node in nodes for group in node.groups]
    try:
        if job.folder != attempt.folder:
            run_files.new_folder(job.folder)
        run_files.new_folder(job.folder / "ranks")
        benchmark.prepare(job.folder, cell["parameters"])
        command = instrument.around(job.command(nodes, [benchmark.program]), nodes, attempt.account)
    except Unavailable as problem:
        return str(problem)
    before, since = attempt.snapshot(groups, runtime.daemons, accounted=accounted), processes.now()
    job.launched = time.time()
    try:
        code = run_bounded(command, job.environment, job.folder, cell["time_limit_seconds"], attempt.watch)
    except Unavailable as problem:
        return str(problem)
    after = attempt.snapshot(groups, runtime.daemons, accounted=accounted)
    if code != 0:
        # While the nodes are still there: if one of them has ended, the failure is an Outage and not the benchmark's.
        runtime.intact(nodes)
        return SectionEnd(job, benchmark, instrument, command, code, (before, after))
    left = strays.describe(job.identity, [*groups, *([attempt.account] if attempt.account and accounted else [])], since)
    return SectionEnd(job, benchmark, instrument, command, code, (before, after), left)


def _found(attempt: Attempt, ended: SectionEnd | str, cell: SplittingCell, nodes: Sequence[Node]) -> dict:
    """Return a cell's part of the record, from its section or from the reason why that could not be run."""
    if isinstance(ended, str):
        return {"status": status.FAILED, "reason": ended}
    before, after = ended.span
    apart = not any(node.uncounted for node in nodes)
    during = attempt.beside([ended.span], apart=apart)
    return {
        "command": ended.command,
        "exit_code": ended.code,
        "seconds": {**attempt.notes["seconds"], "run": round(after.when - before.when, 4)},
        "noise": {**attempt.notes["noise"], "during": during},
        **_judge(ended, cell, during),
    }


def _judge(ended: SectionEnd, cell: SplittingCell, during: dict) -> dict:
    """Return the status of a section's run, the reason if it does not count, and what the ranks and the benchmark reported."""
    measured: dict = {}
    folder = ended.job.folder
    if ended.code is None:
        return _out_of_time(ended, cell, during)
    if ended.code:
        return {"status": status.FAILED, "reason": f"mpirun ended with {ended.code}: {first_words(folder)}"}
    if ended.left:
        return {"status": status.INVALID, "reason": strays.reason(ended.left)}
    try:
        measured["ranks"] = _ranks(folder, cell)
        seconds = max(rank["benchmark_seconds"] for rank in measured["ranks"])
        parameters = cell["parameters"]
        watched = ended.instrument.values(measured["ranks"], ended.benchmark.region(parameters))
        values = ended.benchmark.results(folder, parameters)
        rates = ended.benchmark.rates(parameters, values, [rank["work"] for rank in measured["ranks"]])
        measured["values"] = {**values, **rates, "benchmark_seconds": seconds, **watched}
        if problem := misplaced(cell, measured["ranks"]):
            raise InvalidOutput(problem)
        measured["bits"] = bits(measured["ranks"])
        measured["kernels"] = library_kernels(measured["ranks"])
    except InvalidOutput as problem:
        return {**measured, "status": status.INVALID, "reason": str(problem)}
    measured["transport"] = transport(measured["ranks"])
    for rank in measured["ranks"]:
        del rank["objects"]
    if during["disturbed"]:
        return {**measured, **noise.disturbance(during)}
    return {**measured, "status": status.VALID, "reason": None}


def _out_of_time(ended: SectionEnd, cell: SplittingCell, during: dict) -> dict:
    """Return the status of a run that was stopped at its time limit.

    The run is censored if the study keeps such runs (`keep_timeouts`) and nothing disturbed it. Its value is then the time from
    the last rank's start to the limit. A run whose benchmark had ended is not slow but hung: it is a timeout.
    """
    job, limit = ended.job, f"the run took longer than its limit of {cell['time_limit_seconds']:g} s"
    if _whole(ended, cell):
        return {"status": status.TIMEOUT, "reason": f"{limit}, although its benchmark had ended"}
    begun = ranks.begin_moment(job.folder, cell["ranks"]) if cell.get("keep_timeouts") else None
    if begun is None:
        return {"status": status.TIMEOUT, "reason": limit}
    if during["disturbed"]:
        return noise.disturbance(during)
    return {
        "status": status.CENSORED,
        "reason": limit,
        "values": {"benchmark_seconds": job.launched + cell["time_limit_seconds"] - begun},
    }


def _whole(ended: SectionEnd, cell: SplittingCell) -> bool:
    """Return whether the benchmark's output is complete and every rank has reported, which each does at its end."""
    with contextlib.suppress(InvalidOutput):
        ended.benchmark.results(ended.job.folder, cell["parameters"])
        ranks.read(ended.job.folder, cell["ranks"])
        return True
    return False


def _ranks(folder: Path, cell: SplittingCell) -> list[dict]:
    """Return the reports of all ranks (containers/hpcc/rank_report.c).

    InvalidOutput if the ranks ran in fewer containers than the cell says. Where the runtime merges a run's nodes into one
    container, InvalidOutput if they ran in several.
    """
    reports = ranks.read(folder, cell["ranks"])
    containers = len({(rank["namespaces"].get("mnt"), rank["hostname"]) for rank in reports})
    runtime = runtimes.find(cell["runtime"])
    if runtime.merged and containers != 1:
        raise InvalidOutput(f"the ranks ran in {containers} containers, and not in one that they share")
    if runtime.has_containers and not runtime.merged and containers < cell["containers"]:
        raise InvalidOutput(f"the ranks ran in {containers} containers, not in {cell['containers']}")
    return reports


def bits(ranks: list[dict]) -> dict[str, str]:
    """Return the build identifier of each object that the ranks mapped. InvalidOutput if two ranks mapped different ones."""
    mapped: dict[str, str] = {}
    for rank in ranks:
        for name, build_id in rank["objects"]:
            if not name or name.startswith(NOT_COMPARED):
                continue
            if mapped.setdefault(name, build_id) != build_id:
                raise InvalidOutput(f"the ranks did not all run the same {name}")
    return mapped


def library_kernels(ranks: list[dict]) -> dict[str, str]:
    """Return the kernels that the ranks' BLAS library chose for the processor.

    InvalidOutput if two ranks chose different kernels, or if a rank had more than one thread. Lasting if the processor has
    wider vector instructions than the kernels use.
    """
    of_ranks = [rank["blas"] for rank in ranks]
    for one in of_ranks:
        kernels.refuse_narrow(one["kernels"], one["processor"])
    if len(named := {one["kernels"] for one in of_ranks}) > 1:
        raise InvalidOutput(f"the ranks did not all run the same kernels of {kernels.LIBRARY}, but {', '.join(sorted(named))}")
    if (most := max(one["threads"] for one in of_ranks)) > 1:
        raise InvalidOutput(f"{kernels.LIBRARY} had {most} threads in a rank, not one")
    return {kernels.LIBRARY: named.pop()}


def misplaced(cell: SplittingCell, ranks: Sequence[dict]) -> str | None:
    """Return why the ranks of a run were not where their cell places them; None if they were.

    `ranks` are the ranks' own reports in order of rank, with the kernel's lists `cpus_allowed` and `mems_allowed`. The kernel
    may list processors and nodes that the host could have but does not have. These are ignored.
    """
    each = cell["ranks_per_container"]
    for number, rank in enumerate(ranks):
        place = cell["places"][number // each]
        core = str(place["cores"][number % each]) if place["cores"] else place["cpus"]
        for what, allowed, wanted, there in (
            ("processors", rank["cpus_allowed"], core, cell["everything"]["cpus"]),
            ("memory nodes", rank["mems_allowed"], place["nodes"], cell["everything"]["nodes"]),
        ):
            seen = cpulist.format(set(cpulist.parse(allowed)) & set(cpulist.parse(there)))
            if seen != wanted:
                return f"rank {number} was allowed the {what} {seen or 'none'}, where the design has {wanted}"
    return None
