"""Hogs of known strength beside real runs: what share of them is found disturbed, and how wrong those are that count.

Each round has every cell once alone, and once beside each hog of each strength, in random order, on the quick profile's
limits, in one attempt. A hog is a process of stress-ng (Debian's package) in a cgroup whose quota is its strength: so much of
one processor, in periods of 20 ms (33 and 100 ms for 3 and 1 %). It starts before the run and ends after it. The look at the
machine before a run is only noted (`found before`): it would have waited for the hog to end.
"""

import contextlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.config import studies
from plimsoll.host import cgroup
from plimsoll.measuring import status

from tests.bench.calibration import CELLS, read, wilson, write
from tests.bench.runs import Runner

ROUNDS = 10
HOGS = {
    "processor": ["--cpu", "1", "--cpu-method", "matrixprod"],
    "cache": ["--cache", "1"],
    "memory bandwidth": ["--stream", "1"],
    "context switches": ["--switch", "1"],
}
# Of one processor.
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
ALONE = "none"
MEASURED = {
    "dgemm_gflops": CELLS[0].format("dgemm"),
    "stream_bandwidth": CELLS[0].format("stream"),
    "fft_gflops": CELLS[1].format("fft"),
    "randomring_bandwidth": "uma/exact/E2/docker/any/default/standard/plain/beff",
}
# Microseconds. The kernel takes no smaller quota.
PERIOD, QUOTA = 20_000, 1_000
GROUP = "bench-noise"
# A run is found before it begins if so much of the machine is busy (quick profile).
IDLE = studies.profile("quick")["idle"]["busy_share"]


def main(rounds: int = ROUNDS) -> None:
    """Measure, and show what was measured."""
    if not shutil.which("stress-ng"):
        raise SystemExit("this bench needs stress-ng (apt-get install stress-ng)")
    random = np.random.default_rng(19)
    arms = [(ALONE, 0.0), *((kind, strength) for kind in HOGS for strength in STRENGTHS)]
    rows = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        runner = Runner(Path(folder))
        runner.limit(attempts=1, idle={"busy_share": 1.0, "window_seconds": 0.1, "wait_seconds": 0})
        for number in range(rounds):
            pairs = [(metric, arm) for metric in MEASURED for arm in arms]
            for place in random.permutation(len(pairs)):
                metric, (kind, strength) = pairs[place]
                with hog(kind, strength):
                    values = runner.run(MEASURED[metric])
                noise = runner.last["noise"]
                rows.append(
                    {
                        **{"round": number, "metric": metric, "hog": kind, "strength": strength},
                        "status": runner.last["status"],
                        "busy_before": noise["before"]["busy_share"],
                        "neighbour_share": noise.get("during", {}).get("neighbour_share"),
                        "value": values[metric] if values else np.nan,
                    }
                )
    write(pd.DataFrame(rows), "noise_runs")
    show(read("noise_runs"))


@contextlib.contextmanager
def hog(kind: str, strength: float) -> Iterator[None]:
    """Something beside what is measured meanwhile: so much of one processor."""
    if kind == ALONE:
        yield
        return
    (group,) = cgroup.make(GROUP, ["hog"], cgroup.mounts())
    period = max(PERIOD, int(QUOTA / strength))
    quota = int(strength * period)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota} {period}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(period))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    words = shlex.join(["stress-ng", "--quiet", "--timeout", "0", *HOGS[kind]])
    process = subprocess.Popen(["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec {words}"], start_new_session=True)
    try:
        yield
    finally:
        for number in (group / "cgroup.procs").read_text().split():
            subprocess.run(["kill", "-KILL", number], capture_output=True)
        process.wait()
        cgroup.remove(GROUP)


def show(table: pd.DataFrame) -> None:
    """Print a table in Markdown with one row per hog and strength, and write it: the share of runs that were found before, and
    while they ran, with its 95 % interval; and of those that count the metric that is most wrong."""
    alone = np.log(table[table["hog"] == ALONE].set_index(["metric", "round"])["value"])
    rows = []
    for (kind, strength), group in table.groupby(["hog", "strength"], sort=False):
        found = (group["status"] == status.DISTURBED).sum()
        low, high = wilson(found, len(group))
        counted = group[group["status"] == status.VALID].set_index(["metric", "round"])["value"]
        wrong = (np.log(counted) - alone).dropna()
        worst = {
            metric: np.expm1(blocks.t_interval(part.to_numpy())) for metric, part in wrong.groupby("metric") if len(part) > 2
        }
        metric = max(worst, key=lambda name: abs(worst[name][0]), default="")
        rows.append(
            {
                **{"hog": kind, "strength": strength, "runs": len(group)},
                "found_before": (group["busy_before"] > IDLE).mean(),
                **{"found": found / len(group), "found_low": low, "found_high": high, "counted": len(counted)},
                **{
                    "worst": metric,
                    **dict(zip(("error", "error_low", "error_high"), worst.get(metric, [np.nan] * 3), strict=True)),
                },
            }
        )
    told = pd.DataFrame(rows).sort_values(["hog", "strength"])
    write(told, "noise")
    print("| hog | of a processor | found before | found during [95 %] | count | most wrong of these |\n|" + " --- |" * 6)
    for row in told.to_dict("records"):
        found = f"{row['found']:.0%} [{row['found_low']:.0%}, {row['found_high']:.0%}]"
        error = (
            f"{row['worst']} {row['error']:+.1%} [{row['error_low']:+.1%}, {row['error_high']:+.1%}]"
            if row["worst"]
            else "none"
        )
        count = f"{row['counted']} of {row['runs']}"
        print(f"| {row['hog']} | {row['strength']:.0%} | {row['found_before']:.0%} | {found} | {count} | {error} |")
