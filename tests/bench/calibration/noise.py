"""Disturbances of known strength beside real runs: the share that is found, and the error of the runs that count.

Each round has every cell once alone, and once under each disturbance of each strength. The order is random; the limits
are those of the quick profile, with one attempt. Hogs are processes of stress-ng (Debian's package) in a cgroup whose
quota is their strength: that share of one processor, in periods of 20 ms (33 and 100 ms for 3 and 1 %). Throttling is a
quota that takes that share of one processor from the run, like the limits of a container or a job around the workflow.
Swapping is a limit of memory into which that share of the run's memory does not fit, with swap space on a disk. It is
only for EP-DGEMM. A disturbance starts before the run and ends after it. The check of the machine before a run is only
noted (`found before`): it would have waited for a hog to end. What a hypervisor steals cannot be made from within a
virtual machine.

It needs root, and cgroups of version 1.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.config import studies
from plimsoll.host import cgroup
from plimsoll.measuring import status

from tests import disks
from tests.bench.calibration import CELLS, read, wilson, write
from tests.bench.runs import Runner

ROUNDS = 3
HOGS = {
    "processor": ["--cpu", "1", "--cpu-method", "matrixprod"],
    "cache": ["--cache", "1"],
    "memory bandwidth": ["--stream", "1"],
    "context switches": ["--switch", "1"],
}
# Shares of one processor, and of the run's memory.
STRENGTHS, OF_MEMORY = (0.01, 0.03, 0.1, 0.3, 1.0), (0.003, 0.01, 0.03, 0.1)
# Only this metric is swapped. The others read all of their memory again and again, and would take minutes.
SWAPPED = "dgemm_gflops"
ALONE, THROTTLING, SWAPPING = "none", "throttling", "swapping"
SWAP_BYTES = 2**30
MEASURED = {
    "dgemm_gflops": CELLS[0].format("dgemm"),
    "stream_bandwidth": CELLS[0].format("stream"),
    "fft_gflops": CELLS[1].format("fft"),
    "randomring_bandwidth": "uma/exact/E2/docker/any/default/standard/plain/beff",
}
# Microseconds. The kernel takes no smaller quota.
PERIOD, QUOTA = 20_000, 1_000
# How often a run's memory is looked at (s).
LOOK_SECONDS = 0.01
GROUP = "bench-noise"
# A run is found before it begins if so much of the machine is busy (quick profile).
IDLE = studies.profile("quick")["idle"]["busy_share"]


def main(rounds: int = ROUNDS) -> None:
    """Measure runs, and show the results."""
    if lacking := [name for name in ("stress-ng", "mkswap", "swapon") if not shutil.which(name)]:
        raise SystemExit(f"this bench needs {', '.join(lacking)} (apt-get install stress-ng util-linux)")
    random = np.random.default_rng(19)
    rows = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, disks.swap(Path(folder, "swap"), SWAP_BYTES):
        runner = Runner(Path(folder))
        runner.limit(attempts=1, idle={"busy_share": 1.0, "window_seconds": 0.1, "wait_seconds": 0})
        memory = taken(runner, MEASURED[SWAPPED])
        arms = [
            *((metric, kind, strength) for metric in MEASURED for kind in (*HOGS, THROTTLING) for strength in STRENGTHS),
            # As many runs as the others have.
            *((SWAPPED, SWAPPING, strength) for strength in OF_MEMORY for _ in MEASURED),
            *((metric, ALONE, 0.0) for metric in MEASURED),
        ]
        for number in range(rounds):
            for place in random.permutation(len(arms)):
                metric, kind, strength = arms[place]
                with disturbance(kind, strength, memory):
                    values = runner.run(MEASURED[metric])
                rows.append({**{"round": number, "metric": metric, "hog": kind, "strength": strength}, **row(runner.last)})
                rows[-1]["value"] = values[metric] if values else np.nan
            write(pd.DataFrame(rows), "noise_runs")
    show(read("noise_runs"))


def row(record: dict) -> dict:
    """Return what a record says of the machine."""
    during = record["noise"].get("during", {})
    seen = ("neighbour_share", "throttled_seconds", "swapped_bytes")
    return {
        **{"status": record["status"], "busy_before": record["noise"]["before"]["busy_share"]},
        **{name: during.get(name) for name in seen},
    }


def disturbance(kind: str, strength: float, memory: int) -> contextlib.AbstractContextManager:
    """Return a context in which runs are disturbed; `memory` is what the run takes (bytes)."""
    if kind == ALONE:
        return contextlib.nullcontext()
    if kind == THROTTLING:
        return throttled(os.cpu_count() - strength)
    if kind == SWAPPING:
        return without_room(int((1 - strength) * memory))
    return hog(kind, strength)


@contextlib.contextmanager
def within(controller: str) -> Iterator[Path]:
    """Put this process, and all that it starts, into a version 1 cgroup of their own."""
    group = cgroup.mounts()[controller] / GROUP
    own = cgroup.of_process(os.getpid(), cgroup.mounts(), controller)
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield group
    finally:
        (own / "cgroup.procs").write_text(str(os.getpid()))
        cgroup.remove(GROUP)


@contextlib.contextmanager
def throttled(processors: float) -> Iterator[None]:
    """Leave so many processors to what the workflow starts, and as many to Docker's containers."""
    with within("cpu") as group:
        folders = (group, cgroup.mounts()["cpu"] / "docker")
        for folder in folders:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(int(processors * PERIOD)))
        try:
            yield
        finally:
            for folder in folders:
                (folder / "cpu.cfs_quota_us").write_text("-1")


def taken(runner: Runner, cell: str) -> int:
    """Return the most memory that a run takes for its data (bytes). What it reads of files never goes to swap space."""
    for _ in range(10):  # other programs may have been running
        with within("memory") as group, looked_at(group) as seen:
            if runner.run(cell):
                return max(seen)
    raise SystemExit(f"{cell} cannot be measured here: {runner.last['reason']}")


@contextlib.contextmanager
def looked_at(group: Path) -> Iterator[list[int]]:
    """Yield a list of the memory that the processes of a group have for their data (bytes), read every LOOK_SECONDS."""
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_SECONDS):
            told = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            seen.append(int(told["total_rss"]) + int(told.get("total_shmem", 0)))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def without_room(limit: int) -> Iterator[None]:
    """Limit the memory of what this process starts to so many bytes. The rest has to be on the disk."""
    with within("memory") as group:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        yield


@contextlib.contextmanager
def hog(kind: str, strength: float) -> Iterator[None]:
    """Run a program beside the measurement that uses so much of one processor."""
    (group,) = cgroup.make(GROUP, ["hog"], cgroup.mounts())
    period = max(PERIOD, int(QUOTA / strength))
    (group / "cpu.cfs_period_us").write_text(str(period))
    (group / "cpu.cfs_quota_us").write_text(str(max(QUOTA, round(strength * period))))
    words = shlex.join(["stress-ng", "--quiet", "--timeout", "0", *HOGS[kind]])
    # This process is in the group that counts what runs use themselves. The hog must not be in it.
    others = cgroup.mounts().get("unified", group)
    enter = f"echo $$ >{group}/cgroup.procs && echo $$ >{others}/cgroup.procs"
    process = subprocess.Popen(["sh", "-c", f"{enter} && exec {words}"], start_new_session=True)
    try:
        yield
    finally:
        # A killed process may just have started another one.
        while there := (group / "cgroup.procs").read_text().split():
            subprocess.run(["kill", "-KILL", *there], capture_output=True)
            time.sleep(0.01)
        process.wait()
        cgroup.remove(GROUP)


def show(table: pd.DataFrame) -> None:
    """Print a table in Markdown with one row per disturbance and strength, and write it.

    It has the share of runs that were found before they began, and while they ran with its 95 % interval. For runs that
    count it has the difference of their values from those alone: the mean over all benchmarks with its 95 % interval.
    """
    alone = np.log(table[table["hog"] == ALONE].set_index(["metric", "round"])["value"])
    told = []
    for (kind, strength), group in table[table["hog"] != ALONE].groupby(["hog", "strength"]):
        found = (group["status"] == status.DISTURBED).sum()
        counted = group[group["status"] == status.VALID].set_index(["metric", "round"])["value"]
        wrong = (np.log(counted) - alone).dropna().to_numpy()
        error = np.expm1(blocks.t_interval(wrong)) if len(wrong) > 2 else [np.nan] * 3
        told.append(
            {
                **{"disturbance": kind, "strength": strength, "runs": len(group)},
                "found_before": (group["busy_before"] > IDLE).mean(),
                **named("found", (found / len(group), *wilson(found, len(group)))),
                "counted": len(counted),
                **named("error", error),
            }
        )
    write(pd.DataFrame(told), "noise")
    print("| disturbance | strength | found before | found during [95 %] | count | their error [95 %] |\n|" + " --- |" * 6)
    for row in told:
        found = f"{row['found']:.0%} [{row['found_low']:.0%}, {row['found_high']:.0%}]"
        error = "" if np.isnan(row["error"]) else f"{row['error']:+.0%} [{row['error_low']:+.0%}, {row['error_high']:+.0%}]"
        count = f"{row['counted']} of {row['runs']}"
        print(
            f"| {row['disturbance']} | {100 * row['strength']:g}% | {row['found_before']:.0%} | {found} | {count} | {error} |"
        )


def named(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return an estimate and the ends of its interval, each with its name."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
