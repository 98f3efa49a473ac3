"""Cost of a run beyond creating containers and the benchmark itself, beside ReFrame's cost of running `echo`.

Ours: a figure's runs through Snakemake, one repetition, on the ci profile. A run's wall time is the time from the end
of the previous run to its own end. What the record says of deploying, running and removing is subtracted. The remainder
is our cost: Snakemake, our start-up, the check that the machine is idle, reading and writing.

ReFrame: a check that runs `echo`, in a session with one and in a session with N, so that the start-up cancels. It is
installed into its own folder from PyPI.
"""

import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.project import Project

REFRAME = "reframe-hpc==4.10.*"
# What the process of a run imports before it measures.
START = (
    "import plimsoll.measure; from plimsoll import designs, runtimes; "
    "runtimes.find('docker'); designs.find('splitting').attempts"
)
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Echo(rfm.RunOnlyRegressionTest):
    number = parameter(range({count}))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["hello"]

    @sanity_function
    def said(self):
        return sn.assert_found("hello", self.stdout)
"""


def main() -> None:
    """Print both costs, and the parts of ours."""
    ours()
    start_up()
    reframe()


def ours() -> None:
    """Print the parts of the time of a figure's runs."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        target = "results/liu2020/figures/fig06.pdf"
        # What is done once, before the first run, is not a run's cost.
        assert project.snakemake("results/liu2020/plan.json", "results/images/hpcc.runtimes.json").returncode == 0
        done = project.snakemake(target)
        assert done.returncode == 0, done.stderr
        records = [json.loads((project.folder / p).read_text()) for p in project.files("results/liu2020/runs/**/*.json")]
        ends = {p: (project.folder / p).stat().st_mtime for p in project.files("results/liu2020/runs/**/*.json")}
    # One attempt each: a repeated run would be counted twice.
    order = sorted(zip(ends.values(), records, strict=True), key=lambda pair: pair[0])
    rows = []
    for (previous, _), (end, found) in itertools.pairwise(order):
        if found["attempts"] > 1:
            continue
        parts = dict(found["seconds"])
        parts["before the measuring begins (Snakemake, our start-up)"] = found["started"] - previous
        wall = end - previous
        parts["the rest (records, snapshots)"] = wall - sum(parts.values())
        own = wall - sum(parts[name] for name in ("deploy", "run", "remove"))
        rows.append({**parts, "wall": wall, "our own cost": own})
    names = {
        "deploy": "container start",
        "run": "benchmark",
        "remove": "tear-down",
        "idle": "looking whether the machine is idle",
    }
    print(f"{'ours, seconds per run':<58} {'median':>8} {'90th':>8}   n = {len(rows)}")
    for key in rows[0]:
        values = sorted(row[key] for row in rows)
        print(f"  {names.get(key, key):<56} {statistics.median(values):8.3f} {values[int(0.9 * (len(values) - 1))]:8.3f}")


def start_up() -> None:
    """Print the time to start the interpreter with our modules alone."""
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", START], check=True)
        times.append(time.perf_counter() - begun)
    print(f"  {'of which our start-up':<56} {statistics.median(times):8.3f} {sorted(times)[17]:8.3f}")


def reframe(count: int = 30) -> None:
    """Print ReFrame's cost of running an `echo`, from two sessions of different length, so that its start-up cancels."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        installed = subprocess.run([f"{folder}/venv/bin/pip", "-q", "install", REFRAME])
        if installed.returncode:
            print("ReFrame could not be installed: no comparison")
            return
        seconds = {}
        for number in (1, count):
            check = Path(folder) / f"echo{number}.py"
            check.write_text(CHECK.format(count=number))
            command = [
                f"{folder}/venv/bin/reframe",
                "-c",
                str(check),
                "-r",
                "--exec-policy=serial",
                "--prefix",
                f"{folder}/out",
            ]
            begun = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            seconds[number] = time.perf_counter() - begun
            passed = re.search(r"Ran (\d+)/\d+ test case", done.stdout)
            if not passed or int(passed.group(1)) != number:
                print(f"ReFrame did not run: {done.stdout[-300:]}{done.stderr[-300:]}")
                return
        print(f"{'ReFrame 4.10, seconds an echo':<58} {(seconds[count] - seconds[1]) / (count - 1):8.3f}   n = {count}")


if __name__ == "__main__":
    main()
