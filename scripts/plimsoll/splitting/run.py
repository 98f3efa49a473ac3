"""One attempt at a run of a splitting study: ranks of one MPI application in the cell's containers."""

import json
import sys
import time
from pathlib import Path

from plimsoll import benchmarks, instruments, lock, noise, runtimes
from plimsoll.benchmarks.base import InvalidOutput
from plimsoll.designs.base import Attempt
from plimsoll.errors import Unavailable
from plimsoll.processes import run_bounded
from plimsoll.runtimes.base import Job
from plimsoll.splitting import affinity

# Objects that a rank maps and that may differ without the benchmark's bits differing: the kernel's own page, and plug-ins,
# of which Open MPI opens other ones where it finds other devices.
NOT_COMPARED = (
    "linux-vdso",
    "mca_",
    "pmix_mca_",
    "hwloc_",
    "libOpenCL",
    "libXNVCtrl",
    "libX",
    "libxcb",
    "libbsd",
    "libmd.",
)
# The launcher's own traffic is some 100 kB a rank; more than this a rank is messages.
MANY_BYTES = 10_000_000


def attempt(attempt: Attempt) -> dict:
    """Deploy, run, take down, and judge."""
    job = Job(attempt.identity, attempt.folder, attempt.temporary, attempt.cell, attempt.image)
    benchmark = benchmarks.find(attempt.plan["benchmark"])
    benchmark.prepare(job.folder, job.cell["parameters"])
    (job.folder / "ranks").mkdir()
    instrument = instruments.find(job.cell["instrument"])(job)
    job.preload = instrument.preload
    runtime = runtimes.find(job.cell["runtime"])
    account, machine = attempt.account, attempt.machine
    seconds, begun = attempt.notes["seconds"], time.monotonic()
    try:
        deployment = runtime.deploy(job)
    except Unavailable as problem:
        return {"status": "failed", "reason": f"the containers could not be started: {problem}"}
    seconds["deploy"] = round(time.monotonic() - begun, 4)
    try:
        command = instrument.around(deployment.launch([benchmark.program]), deployment, account)
        environment = {**deployment.environment(), lock.VARIABLE: job.identity}
        account = None if deployment.strays else account
        before = noise.snapshot(machine, account, deployment.groups, runtime.daemons)
        job.launched = time.time()
        code = run_bounded(command, environment, job.folder, job.cell["time_limit_seconds"])
        after = noise.snapshot(machine, account, deployment.groups, runtime.daemons)
    except Unavailable as problem:
        return {"status": "failed", "reason": str(problem)}
    finally:
        begun = time.monotonic()
        try:
            deployment.remove()
        except Unavailable as problem:
            print(f"plimsoll: {problem}; the next run removes what is left.", file=sys.stderr, flush=True)
            lock.sweep()
        seconds["remove"] = round(time.monotonic() - begun, 4)
    seconds["run"] = round(after.when - before.when, 4)
    during = noise.neighbours(before, after, machine.processors, **attempt.limits)
    attempt.notes["noise"]["during"] = during
    return {"command": command, "exit_code": code, **_judge(job, benchmark, instrument, code, during)}


def _judge(job: Job, benchmark, instrument, code: int | None, during: dict) -> dict:
    """Status of a run that has ended, with the reason if it does not count, and what the ranks and the benchmark said."""
    found: dict = {}
    if code is None:
        return _out_of_time(job, during)
    if code:
        return {"status": "failed", "reason": f"mpirun ended with {code}: {_last_words(job.folder)}"}
    try:
        found["ranks"] = _ranks(job)
        seconds = max(rank["benchmark_seconds"] for rank in found["ranks"])
        parameters = job.cell["parameters"]
        watched = instrument.values(found["ranks"], benchmark.region(parameters))
        found["values"] = {**benchmark.results(job.folder, parameters), "benchmark_seconds": seconds, **watched}
        if problem := affinity.misplaced(job.cell, found["ranks"]):
            raise InvalidOutput(problem)
    except InvalidOutput as problem:
        return {**found, "status": "invalid", "reason": str(problem)}
    found["bits"] = bits(found["ranks"])
    found["transport"] = transport(found["ranks"])
    for rank in found["ranks"]:
        del rank["objects"]
    if during["disturbed"]:
        return {**found, **noise.disturbed(during)}
    return {**found, "status": "valid", "reason": None}


def _out_of_time(job: Job, during: dict) -> dict:
    """A run that was stopped at its limit: censored where the study keeps such runs, with the time that its ranks had had."""
    limit = f"the run took longer than its limit of {job.cell['time_limit_seconds']:g} s"
    begun = [path.stat().st_mtime for path in (job.folder / "ranks").glob("*.begun")]
    if not job.cell.get("keep_timeouts") or len(begun) < job.cell["ranks"]:
        return {"status": "timeout", "reason": limit}
    if during["disturbed"]:
        return noise.disturbed(during)
    return {
        "status": "censored",
        "reason": limit,
        "values": {"benchmark_seconds": job.launched + job.cell["time_limit_seconds"] - max(begun)},
    }


def _ranks(job: Job) -> list[dict]:
    """What each rank saw (containers/hpcc/rank_report.c)."""
    reports = []
    for number in range(job.cell["ranks"]):
        try:
            reports.append(json.loads((job.folder / f"ranks/{number}.json").read_text()))
        except (OSError, ValueError) as error:
            raise InvalidOutput(f"rank {number} left no report") from error
    containers = len({(rank["namespaces"].get("mnt"), rank["hostname"]) for rank in reports})
    if runtimes.find(job.cell["runtime"]).containers and containers < job.cell["containers"]:
        raise InvalidOutput(f"the ranks ran in {containers} containers, not in {job.cell['containers']}")
    return reports


def bits(ranks: list[dict]) -> dict[str, str]:
    """Build identifier of each object that the ranks mapped; InvalidOutput if two ranks mapped different ones."""
    found: dict[str, str] = {}
    for rank in ranks:
        for name, build_id in rank["objects"]:
            if not name or name.startswith(NOT_COMPARED):
                continue
            if found.setdefault(name, build_id) != build_id:
                raise InvalidOutput(f"the ranks did not all run the same {name}")
    return found


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
