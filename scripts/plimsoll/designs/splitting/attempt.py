"""One launch of a splitting study: ranks of one MPI application in a deployment's containers, for one section or several."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import environments, instruments, workloads
from plimsoll.designs.splitting import ranks
from plimsoll.designs.splitting.factors import SplittingCell
from plimsoll.designs.splitting.misplaced import misplaced
from plimsoll.environments import segments
from plimsoll.environments.base import Environment, Node
from plimsoll.errors import Unavailable, begun
from plimsoll.host import disk, processes, shared
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import lock, noise, status, strays
from plimsoll.measuring.attempt import Attempt, folder_of
from plimsoll.measuring.process import run_bounded
from plimsoll.mpi.job import Job
from plimsoll.workloads import kernels, printed
from plimsoll.workloads.base import Application, InvalidOutput

# Containers have no limits.
LIMITS_MEMORY = False
# All sections of a deployment are measured in one.
LAUNCHES = True
# Objects that a rank maps and that may differ without the benchmark's bits differing: the kernel's own page, and plug-ins, of
# which Open MPI opens others where it finds other devices.
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
# The launcher's own traffic is some 100 kB per rank; what is more than this comes from messages.
MANY_BYTES = 10_000_000
# Lines of a runtime that say nothing about a failure, and characters of what is told of one.
REMARKS = ("INFO:", "WARNING:")
LONGEST = 200


def others(cell) -> list:
    """Nothing."""
    return []


class Ended(NamedTuple):
    """A section that has ended: its `job` with its `instrument` and `benchmark`, the `command`, the `code` that it ended with
    (None at its time limit), the snapshots before and after it, and in words what it has `left` at work."""

    job: Job
    benchmark: Application
    instrument: Instrument
    command: list[str]
    code: int | None
    span: tuple[noise.Snapshot, noise.Snapshot]
    left: str = ""

    @property
    def well(self) -> bool:
        """Whether it has ended as it should, with all that it has started."""
        return self.code == 0 and not self.left


def launch(attempt: Attempt) -> dict[str, dict]:
    """Deploy, run the sections of the deployment one after another, take down, and judge each: by cell what its record says.

    Each section is a program of its own, with an mpirun and processes of its own: what one leaves in the memory of a process or
    of Open MPI changes what another is worth (docs/architecture.md). After one that did not end as it should the launch ends,
    as what it has started may go on in the containers. Cells whose sections it did not come to are left out.
    """
    first = Job.of_cell(attempt.identity, attempt.folder, attempt.temporary, attempt.cell, attempt.image)
    environment = environments.find(attempt.cell["runtime"])
    seconds, begun = attempt.notes["seconds"], time.monotonic()
    try:
        nodes = environment.start(first.specs)
    except Unavailable as problem:
        reason = f"the containers could not be started: {problem}"
        return {cell["path"]: {"status": status.FAILED, "reason": reason} for cell in attempt.cells}
    root = processes.root(nodes[0].groups)
    attempt.watch.room.watch({disk.CONTAINERS: root} if root else {})
    seconds["deploy"] = round(time.monotonic() - begun, 4)
    ended: dict[str, Ended | str] = {}
    try:
        for cell in attempt.cells:
            ended[cell["path"]] = one = _section(attempt, cell, environment, nodes)
            if isinstance(one, str) or not one.well:
                break
    finally:
        seconds["remove"] = lock.take_down(lambda: environment.stop(nodes), environments.known().values())
        if attempt.watch.room.refused and environment.services:
            with contextlib.suppress(Unavailable):
                attempt.watch.room.moved({disk.CONTAINERS: environment.storage()})
        if len(ended) < len(attempt.cells) or any(isinstance(one, str) or not one.well for one in ended.values()):
            # Ranks on this host outlive a launcher that was killed, and strays a program that ended: they would be neighbours
            # of the next attempt.
            lock.kill_run(attempt.identity)
            segments.remove_unused()
    cells = {cell["path"]: cell for cell in attempt.cells}
    return {path: _found(attempt, one, cells[path], nodes) for path, one in ended.items()}


def _section(attempt: Attempt, cell: SplittingCell, environment: Environment, nodes: Sequence[Node]) -> Ended | str:
    """Run a section in the nodes, and wait until it ends; the reason if it could not be run. Outage if what the nodes run in
    fails."""
    job = Job.of_cell(attempt.identity, folder_of(attempt.folder, cell), attempt.temporary, cell, attempt.image)
    benchmark = workloads.find(attempt.plan["benchmark"], Application)
    instrument = instruments.find(cell["instrument"])(job, cell)
    job.preload = instrument.preload
    accounted = not nodes[0].strays
    groups = [group for node in nodes for group in node.groups]
    try:
        if job.folder != attempt.folder:
            shared.new_folder(job.folder)
        shared.new_folder(job.folder / "ranks")
        benchmark.prepare(job.folder, cell["parameters"])
        command = instrument.around(job.command(nodes, [benchmark.program]), nodes, attempt.account)
    except Unavailable as problem:
        return str(problem)
    before, since = attempt.snapshot(groups, environment.daemons, accounted=accounted), processes.now()
    job.launched = time.time()
    try:
        code = run_bounded(command, job.environment, job.folder, cell["time_limit_seconds"], attempt.watch)
    except Unavailable as problem:
        return str(problem)
    after = attempt.snapshot(groups, environment.daemons, accounted=accounted)
    if code != 0:
        # Before they are removed: was it the benchmark that ended, or what it runs in?
        environment.intact(nodes)
        return Ended(job, benchmark, instrument, command, code, (before, after))
    left = strays.left(job.identity, [*groups, *([attempt.account] if attempt.account and accounted else [])], since)
    return Ended(job, benchmark, instrument, command, code, (before, after), left)


def _found(attempt: Attempt, ended: Ended | str, cell: SplittingCell, nodes: Sequence[Node]) -> dict:
    """What the record of a cell says of its section."""
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


def _judge(ended: Ended, cell: SplittingCell, during: dict) -> dict:
    """Status of a run that has ended, with the reason if it does not count, and what the ranks and the benchmark said."""
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
        measured["kernels"] = chosen(measured["ranks"])
    except InvalidOutput as problem:
        return {**measured, "status": status.INVALID, "reason": str(problem)}
    measured["transport"] = transport(measured["ranks"])
    for rank in measured["ranks"]:
        del rank["objects"]
    if during["disturbed"]:
        return {**measured, **noise.disturbed(during)}
    return {**measured, "status": status.VALID, "reason": None}


def _out_of_time(ended: Ended, cell: SplittingCell, during: dict) -> dict:
    """A run that was stopped at its limit: censored where the study keeps such runs, with the time that its ranks had had. One
    whose benchmark had ended is not slow: it hung."""
    job, limit = ended.job, f"the run took longer than its limit of {cell['time_limit_seconds']:g} s"
    if _whole(ended, cell):
        return {"status": status.TIMEOUT, "reason": f"{limit}, although its benchmark had ended"}
    begun = ranks.begun(job.folder, cell["ranks"]) if cell.get("keep_timeouts") else None
    if begun is None:
        return {"status": status.TIMEOUT, "reason": limit}
    if during["disturbed"]:
        return noise.disturbed(during)
    return {
        "status": status.CENSORED,
        "reason": limit,
        "values": {"benchmark_seconds": job.launched + cell["time_limit_seconds"] - begun},
    }


def _whole(ended: Ended, cell: SplittingCell) -> bool:
    """Whether a benchmark has printed all that it prints, and every rank has reported, which each does at its end."""
    with contextlib.suppress(InvalidOutput):
        ended.benchmark.results(ended.job.folder, cell["parameters"])
        ranks.read(ended.job.folder, cell["ranks"])
        return True
    return False


def _ranks(folder: Path, cell: SplittingCell) -> list[dict]:
    """What each rank saw (containers/hpcc/rank_report.c)."""
    reports = ranks.read(folder, cell["ranks"])
    containers = len({(rank["namespaces"].get("mnt"), rank["hostname"]) for rank in reports})
    environment = environments.find(cell["runtime"])
    if environment.merged and containers != 1:
        raise InvalidOutput(f"the ranks ran in {containers} containers, and not in one that they share")
    if environment.containers and not environment.merged and containers < cell["containers"]:
        raise InvalidOutput(f"the ranks ran in {containers} containers, not in {cell['containers']}")
    return reports


def bits(ranks: list[dict]) -> dict[str, str]:
    """Build identifier of each object that the ranks mapped; InvalidOutput if two ranks mapped different ones."""
    mapped: dict[str, str] = {}
    for rank in ranks:
        for name, build_id in rank["objects"]:
            if not name or name.startswith(NOT_COMPARED):
                continue
            if mapped.setdefault(name, build_id) != build_id:
                raise InvalidOutput(f"the ranks did not all run the same {name}")
    return mapped


def chosen(ranks: list[dict]) -> dict[str, str]:
    """Return the kernels of the ranks' BLAS. InvalidOutput if two ranks had different ones, or one more than one thread.
    Lasting if the processor has wider vector instructions."""
    of_ranks = [rank["blas"] for rank in ranks]
    for one in of_ranks:
        kernels.refuse_narrow(one["kernels"], one["processor"])
    if len(named := {one["kernels"] for one in of_ranks}) > 1:
        raise InvalidOutput(f"the ranks did not all run the same kernels of {kernels.LIBRARY}, but {', '.join(sorted(named))}")
    if (most := max(one["threads"] for one in of_ranks)) > 1:
        raise InvalidOutput(f"{kernels.LIBRARY} had {most} threads in a rank, not one")
    return {kernels.LIBRARY: named.pop()}


def transport(ranks: list[dict]) -> dict:
    """What carried the messages, by Open MPI's shared-memory segments: a rank maps its own and that of each peer it shares
    memory with; every other peer is reached over TCP, the only other transport in the image's configuration.

    The bytes that crossed the network interfaces are evidence for it, and override it where they are many.
    """
    segments = [rank["shared_memory_segments"] for rank in ranks]
    network = sum(sum(rank["network_bytes"].values()) for rank in ranks)
    shared = max(segments) > 1
    tcp = min(segments) < len(ranks) or network > MANY_BYTES * len(ranks)
    names = [name for name, used in (("shared memory", shared), ("TCP", tcp and len(ranks) > 1)) if used]
    return {
        "carried_by": " and ".join(names) or "nothing",
        "shared_memory_segments": segments,
        "network_bytes": network,
        "single_copy": ranks[0]["single_copy"],
    }


def first_words(folder: Path) -> str:
    """The first paragraph that says what went wrong, each line once: what comes after it often only follows from it."""
    said = []
    for line in printed.lines(folder / "stderr.txt"):
        if line and not line.startswith(("---", *REMARKS)):
            said.append(line)
        elif said:
            break
    return begun(" ".join(dict.fromkeys(said)), LONGEST) or "it printed nothing"
