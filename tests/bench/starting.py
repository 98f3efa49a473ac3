"""Time of a start: a dry run of a large study beside a bare workflow of as many jobs, and a start with nothing to do.

The bare workflow shows what Snakemake itself needs: one rule whose jobs write one file each, and `all` that wants them.
Both are dry runs, in turn, so that drift of the machine affects both.

`python -m tests.bench starting` prints them. `python -m tests.bench.starting FOLDER [SETTING...]` prints how long a
start with nothing to do takes. FOLDER is a checkout in which the workflow has run to its end with these settings.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.project import Project

BARE = """
rule all:
    input: [f"out/{{number}}.txt" for number in range({jobs})]

rule one:
    output: "out/{{number}}.txt"
    shell: "touch {{output}}"
"""
SETTINGS = ("profile=paper", "host_file=config/hosts/xeon-e5-2697v4.yaml", "studies=liu2020")
ROUNDS = 3


def main() -> None:
    """Print the times of both dry runs, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        jobs = project.jobs("all", config=SETTINGS)["measure"]
        bare = Path(folder) / "bare"
        bare.mkdir()
        (bare / "Snakefile").write_text(BARE.format(jobs=jobs))
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--quiet", "all"]
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(_seconds([*command, "all", "--config", *SETTINGS], project.folder, project.environment))
            theirs.append(_seconds([*command, "all"], bare, dict(os.environ)))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    print(f"dry run of {jobs} runs, seconds: {_all(ours)}")
    print(f"bare workflow of {jobs} jobs, seconds: {_all(theirs)}")
    print(f"ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def nothing_to_do(folder: Path, settings: list[str]) -> None:
    """Print how long a start takes in a checkout that has everything."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "all", *(["--config", *settings] if settings else [])]
    environment = {**os.environ, "PYTHONPATH": str(folder / "scripts")}
    print(f"start with nothing to do, seconds: {_all([_seconds(command, folder, environment) for _ in range(ROUNDS)])}")


def _seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return time.perf_counter() - begun


def _all(seconds: list[float]) -> str:
    return f"{', '.join(f'{number:.1f}' for number in seconds)} (median {statistics.median(seconds):.1f})"


if __name__ == "__main__":
    nothing_to_do(Path(sys.argv[1]).resolve(), sys.argv[2:])
