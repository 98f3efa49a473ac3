"""One launch of a splitting study: ranks of one MPI application in a deployment's containers, for one section or several."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from plimsoll import environments, instruments, workloads
from plimsoll.designs.splitting.factors import SplittingCell
from plimsoll.designs.splitting.misplaced import misplaced
from plimsoll.environments.base import Node
from plimsoll.errors import Unavailable
from plimsoll.instruments.base import Instrument
from plimsoll.measuring import lock, noise, status
from plimsoll.measuring.attempt import Attempt, folder_of
from plimsoll.measuring.parts import Parts, Span
from plimsoll.measuring.process import run_bounded
from plimsoll.mpi.job import Job
from plimsoll.workloads.base import Application, InvalidOutput

# Containers have no limits.
LIMITS_MEMORY = False
# Of a deployment all sections are measured in one.
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


def others(cell) -> list:
    """Nothing."""
    return []


class Launch(NamedTuple):
    """A launch that has ended: the `job` with its `instrument` and `benchmark`, the `code` that mpirun ended with (None at a
    time limit), what was seen before and after it, and the `parts` that it had (None for a launch of one cell alone)."""

    job: Job
    benchmark: Application
    instrument: Instrument
    command: list[str]
    code: int | None
    whole: Span
    parts: Parts | None


def launch(attempt: Attempt) -> dict[str, dict]:
    """Deploy, run the sections of the deployment one after another, take down, and judge each: by cell what its record says.

    A cell whose section never began, because the launch ended in one before, is left out: nothing is known of it.
    """
    cell = attempt.cell
    job = Job.of_cell(attempt.identity, attempt.folder, attempt.temporary, cell, attempt.image)
    benchmark = workloads.find(attempt.plan["benchmark"], Application)
    for one in attempt.cells:
        folder = folder_of(job.folder, one)
        (folder / "ranks").mkdir(parents=True)
        benchmark.prepare(folder, one["parameters"])
    instrument = instruments.find(cell["instrument"])(job, cell)
    job.preload = instrument.preload
    environment = environments.find(cell["runtime"])
    seconds, begun = attempt.notes["seconds"], time.monotonic()
    try:
        nodes = environment.start(job.specs)
    except Unavailable as problem:
        return _failed(attempt, f"the containers could not be started: {problem}")
    seconds["deploy"] = round(time.monotonic() - begun, 4)
    try:
        ended = _run(attempt, job, benchmark, instrument, nodes)
    except Unavailable as problem:
        return _failed(attempt, str(problem))
    finally:
        seconds["remove"] = lock.take_down(lambda: environment.stop(nodes), environments.known().values())
    return {one["path"]: found for one in attempt.cells if (found := _found(attempt, ended, one, nodes))}


def _failed(attempt: Attempt, reason: str) -> dict[str, dict]:
    return {cell["path"]: {"status": status.FAILED, "reason": reason} for cell in attempt.cells}


def _run(attempt: Attempt, job: Job, benchmark: Application, instrument: Instrument, nodes: Sequence[Node]) -> Launch:
    """Launch the ranks in the nodes, and wait until they end. Unavailable if they cannot be launched, or if what the nodes run
    in fails."""
    environment, limits = environments.find(attempt.cell["runtime"]), [cell["time_limit_seconds"] for cell in attempt.cells]
    command = instrument.around(job.command(nodes, [benchmark.program]), nodes, attempt.account)
    variables = {**job.environment(nodes), lock.VARIABLE: job.identity}
    account = None if nodes[0].strays else attempt.account
    groups = [group for node in nodes for group in node.groups]

    def look() -> noise.Snapshot:
        return noise.snapshot(attempt.machine, account, groups, environment.daemons)

    names = [cell["part"] for cell in attempt.cells if "part" in cell]
    parts = Parts(job.folder, dict(zip(names, limits, strict=True)), look) if names else None
    try:
        before = look()
        job.launched = time.time()
        code = run_bounded(command, variables, job.folder, max(limits), parts.wait if parts else None)
        whole = Span(before, look())
    finally:
        if parts:
            parts.close()
    if code != 0:
        # Before they are removed: was it the benchmark that ended, or what it runs in?
        environment.intact(nodes)
    return Launch(job, benchmark, instrument, command, code, whole, parts)


def _found(attempt: Attempt, ended: Launch, cell: SplittingCell, nodes: Sequence[Node]) -> dict | None:
    """What the record of a cell says of a launch that has ended; None if the cell's section did not begin in it, although
    another one did."""
    parts, span, code = ended.parts, ended.whole, ended.code
    seconds: dict[str, float] = {}
    if parts and cell["part"] in parts.begun:
        span = parts.span(cell["part"], span.after)
        seconds["start"] = round(parts.span(parts.begun[0], span.after).before.when - ended.whole.before.when, 4)
        # What ended the launch is the fault of the part that it ended in: the others had ended before.
        code = code if cell["part"] == (parts.running() or parts.begun[-1]) else 0
    elif parts and parts.begun:
        return None
    seconds["run"] = round(span.after.when - span.before.when, 4)
    apart = not any(node.uncounted for node in nodes)
    during = noise.neighbours([span], attempt.machine.processors, apart=apart, **attempt.limits)
    return {
        "command": ended.command,
        "exit_code": code,
        "seconds": {**attempt.notes["seconds"], **seconds},
        "noise": {**attempt.notes["noise"], "during": during},
        **_judge(ended, cell, code, during),
    }


def _judge(ended: Launch, cell: SplittingCell, code: int | None, during: dict) -> dict:
    """Status of a run that has ended, with the reason if it does not count, and what the ranks and the benchmark said."""
    measured: dict = {}
    folder = folder_of(ended.job.folder, cell)
    if code is None:
        return _out_of_time(ended, cell, during)
    if code:
        return {"status": status.FAILED, "reason": f"mpirun ended with {code}: {_last_words(ended.job.folder)}"}
    try:
        measured["ranks"] = _ranks(folder, cell)
        seconds = max(rank["benchmark_seconds"] for rank in measured["ranks"])
        parameters = cell["parameters"]
        watched = ended.instrument.values(measured["ranks"], ended.benchmark.region(parameters))
        measured["values"] = {**ended.benchmark.results(folder, parameters), "benchmark_seconds": seconds, **watched}
        if problem := misplaced(cell, measured["ranks"]):
            raise InvalidOutput(problem)
    except InvalidOutput as problem:
        return {**measured, "status": status.INVALID, "reason": str(problem)}
    measured["bits"] = bits(measured["ranks"])
    measured["transport"] = transport(measured["ranks"])
    for rank in measured["ranks"]:
        del rank["objects"]
    if during["disturbed"]:
        return {**measured, **noise.disturbed(during)}
    return {**measured, "status": status.VALID, "reason": None}


def _out_of_time(ended: Launch, cell: SplittingCell, during: dict) -> dict:
    """A run that was stopped at its limit: censored where the study keeps such runs, with the time that its ranks had had."""
    limit = f"the run took longer than its limit of {cell['time_limit_seconds']:g} s"
    begun = [path.stat().st_mtime for path in (folder_of(ended.job.folder, cell) / "ranks").glob("*.begun")]
    if not cell.get("keep_timeouts") or len(begun) < cell["ranks"]:
        return {"status": status.TIMEOUT, "reason": limit}
    if during["disturbed"]:
        return noise.disturbed(during)
    had = cell["time_limit_seconds"]
    if not ended.parts:
        had += ended.job.launched - max(begun)
    return {"status": status.CENSORED, "reason": limit, "values": {"benchmark_seconds": had}}


def _ranks(folder: Path, cell: SplittingCell) -> list[dict]:
    """What each rank saw (containers/hpcc/rank_report.c)."""
    reports = []
    for number in range(cell["ranks"]):
        try:
            reports.append(json.loads((folder / f"ranks/{number}.json").read_text()))
        except (OSError, ValueError) as error:
            raise InvalidOutput(f"rank {number} left no report") from error
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


def _last_words(folder: Path) -> str:
    lines = (folder / "stderr.txt").read_text(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip() and not line.startswith("---")]
    return said[-1][:200] if said else "it printed nothing"
