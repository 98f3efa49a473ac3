"""Measures one run of one cell and leaves one record, whatever happens.

Imports nothing but the standard library and the measuring modules: its start-up is part of every run's cost.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from plimsoll import affinity, benchmarks, cgroup, instruments, lock, noise, progress, record, runtimes
from plimsoll.benchmarks.base import InvalidOutput
from plimsoll.errors import PlimsollError, Unavailable, guarded
from plimsoll.runtimes.base import Job

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


def measure(plan_path: Path, cell_path: str, repetition: int, target: Path, image_path: Path) -> dict:
    """Measure one run and write its record to `target`.

    A record with the same fingerprint that is there already, or in the archive, is kept instead; one with another
    fingerprint is moved to the archive first. Raises PlimsollError for a cell that is not in the plan.
    """
    plan = json.loads(plan_path.read_text())
    study_folder = plan_path.parent
    try:
        cell = plan["cells"][cell_path]
    except KeyError:
        raise PlimsollError(f"{plan_path} has no cell {cell_path}.") from None
    if cell["reason"]:
        raise PlimsollError(f"The cell {cell_path} cannot be measured here: {cell['reason']}.")
    kept = _kept(study_folder, cell, repetition, target)
    if kept:
        return kept
    image = json.loads(image_path.read_text())
    with lock.machine():
        begun = time.monotonic()
        result = _until_valid(plan, cell, repetition, study_folder, image)
        record.write(target, result)
    headline = _headline(result)
    progress.finish(
        study_folder / "progress",
        f"{cell_path}/{repetition}",
        time.monotonic() - begun,
        result["status"],
        headline,
    )
    return result


def _kept(study_folder: Path, cell: dict, repetition: int, target: Path) -> dict | None:
    """The record that makes measuring unnecessary; moves one of another fingerprint, or a damaged one, out of the way."""
    archive = study_folder / "archive"
    if target.exists():
        try:
            old = record.read(target)
            if old["fingerprint"] == cell["fingerprint"]:
                os.utime(target)
                return old
            place = archive / old["fingerprint"]
        except record.Damaged as damage:
            print(f"plimsoll: {damage}; it is set aside and measured again.", file=sys.stderr, flush=True)
            place = archive / "damaged"
        record.set_aside(target, place)
    # A profile that was measured before is not measured again.
    for path in sorted((archive / cell["fingerprint"]).glob(f"{repetition}-*.json"), reverse=True):
        try:
            old = record.read(path)
        except record.Damaged:
            continue
        if old["status"] in record.COUNTED:
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            return old
    return None


def _until_valid(plan: dict, cell: dict, repetition: int, study_folder: Path, image: dict) -> dict:
    """Attempts until one is valid or the profile's number is used up; all but the last are kept inside the record."""
    earlier: list[dict] = []
    for number in range(1, plan["limits"]["attempts"] + 1):
        attempt = _attempt(plan, cell, repetition, study_folder, image)
        if attempt["status"] in record.COUNTED or number == plan["limits"]["attempts"]:
            break
        earlier.append(attempt)
    return {
        "format": record.FORMAT,
        "study": plan["study"],
        "cell": {key: value for key, value in cell.items() if key != "reason"},
        "repetition": repetition,
        "block": repetition,
        "place_in_order": plan["order"].index([cell["path"], repetition]) + 1,
        "seed": plan["seed"],
        "profile": plan["profile"],
        "fingerprint": cell["fingerprint"],
        "image": {"tag": image["tag"], "id": image["id"]},
        "attempts": len(earlier) + 1,
        "invalid_attempts": earlier,
        **attempt,
    }


def _raw_folder(study_folder: Path, cell: dict, repetition: int) -> Path:
    """A new folder for the raw output of one attempt."""
    parent = study_folder / "raw" / cell["path"]
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / f"{repetition}-{number}"
        try:
            folder.mkdir()
            return folder.resolve()
        except FileExistsError:
            number += 1


def _attempt(plan: dict, cell: dict, repetition: int, study_folder: Path, image: dict) -> dict:
    """One attempt: the part of the record that is its own."""
    folder = _raw_folder(study_folder, cell, repetition)
    identity = f"{os.getpid():x}{time.time_ns() >> 20 & 0xFFFFFF:06x}"
    os.environ[lock.VARIABLE] = identity
    benchmark = benchmarks.find(plan["benchmark"])
    benchmark.prepare(folder, cell["parameters"])
    (folder / "ranks").mkdir()
    attempt: dict = {
        "started": time.time(),
        "raw": str(folder.relative_to(study_folder.resolve())),
        "seconds": {},
    }
    found = cgroup.mounts()
    machine = noise.Machine(found)
    # Entering a cgroup waits some 10 ms in the kernel and uses no processor: it goes on beside the look at the machine.
    entering = threading.Thread(target=lambda: accounts.append(cgroup.account(found)))
    accounts: list = []
    entering.start()
    attempt["noise"] = {"before": noise.wait_until_idle(machine, **plan["limits"]["idle"])}
    entering.join()
    attempt["seconds"]["idle"] = attempt["noise"]["before"]["waited_seconds"]
    if not attempt["noise"]["before"]["idle"]:
        waited = attempt["noise"]["before"]["waited_seconds"]
        return {**attempt, "status": "invalid", "reason": f"the machine was not idle within {waited:.0f} s"}
    temporary = Path(f"/tmp/plimsoll-{identity}")
    temporary.mkdir(mode=0o700)
    try:
        job = Job(identity, folder, temporary, cell, image)
        instrument = instruments.find(cell["instrument"])(job)
        job.preload = instrument.preload
        attempt.update(_run(job, benchmark, instrument, machine, accounts[0], plan["limits"]["neighbours"], attempt))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return attempt


def _run(job: Job, benchmark, instrument, machine: noise.Machine, account: Path | None, limits: dict, attempt: dict) -> dict:
    """Deploy, run, take down, and judge."""
    runtime = runtimes.find(job.cell["runtime"])
    seconds, begun = attempt["seconds"], time.monotonic()
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
    attempt["noise"]["during"] = noise.neighbours(before, after, machine.processors, **limits)
    return {"command": command, "exit_code": code, **_judge(job, benchmark, instrument, code, attempt["noise"]["during"])}


def run_bounded(command: list[str], environment: dict, folder: Path, limit: float) -> int | None:
    """Run a command in a process group of its own with its output in the folder; its exit code, None at the time limit."""
    with open(folder / "stdout.txt", "wb") as out, open(folder / "stderr.txt", "wb") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
        )
        try:
            # Popen.wait() with a time limit polls, up to 50 ms late.
            return process.wait() if ended_within(process.pid, limit) else None
        finally:
            if process.poll() is None:
                # mpirun takes its ranks and remote daemons down on SIGTERM; what does not listen is killed.
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


def ended_within(pid: int, seconds: float) -> bool:
    """Whether a child ends within so many seconds; returns at the moment it does."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


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
        return {**found, **_disturbed(during)}
    return {**found, "status": "valid", "reason": None}


def _disturbed(during: dict) -> dict:
    used, stolen = during["neighbour_seconds"], during["stolen_seconds"]
    reason = f"others used {used:.2f} s of processor time during the run, and a hypervisor {stolen:.2f} s"
    return {"status": "disturbed", "reason": reason}


def _out_of_time(job: Job, during: dict) -> dict:
    """A run that was stopped at its limit: censored where the study keeps such runs, with the time that its ranks had had."""
    limit = f"the run took longer than its limit of {job.cell['time_limit_seconds']:g} s"
    begun = [path.stat().st_mtime for path in (job.folder / "ranks").glob("*.begun")]
    if not job.cell.get("keep_timeouts") or len(begun) < job.cell["ranks"]:
        return {"status": "timeout", "reason": limit}
    if during["disturbed"]:
        return _disturbed(during)
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


def _headline(result: dict) -> str:
    """A value or the reason, for the progress line."""
    if result["status"] != "valid":
        return result["reason"]
    return f"on the {result['attempts']}. attempt" if result["attempts"] > 1 else ""


def main(arguments: list[str]) -> int:
    """Command line of one run, kept apart from the other stages': it is called for every run, and argparse alone would take
    longer to import than all of this."""
    if len(arguments) != 5:
        print("usage: python -m plimsoll.measure PLAN IMAGE CELL REPETITION RECORD", file=sys.stderr)
        return 2
    plan, image, cell, repetition, target = arguments
    return guarded(lambda: measure(Path(plan), cell, int(repetition), Path(target), Path(image)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
