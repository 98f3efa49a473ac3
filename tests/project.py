"""A copy of the project in an empty folder, and Snakemake on the command line: the workflow as a user runs it."""

import compileall
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[1]
# Snakemake's plugin for Slurm. It is not in .venv: a Snakemake that has it does not start where Slurm's commands are missing.
PLUGIN = PROJECT / ".cache/slurm"
RUNS = "results/liu2020/runs/**/*.json"
# For a study that is small.
BARE_AND_DOCKER = "runtimes={singularity: off, singularity-instance: off, singularity-cgroup: off}"


class Project:
    """A copy of the project; `snakemake` runs it on the ci profile with one repetition.

    Singularity's runtimes are off, for time: tests/containers has all of them, and tests/users plain Singularity in a workflow.
    """

    settings = ("profile=ci", "repetitions=1", BARE_AND_DOCKER)

    def __init__(self, folder: Path):
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.splitlines():
            if (PROJECT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, folder / name)
        # As set-up does.
        compileall.compile_dir(folder / "scripts", quiet=1)

    def command(self, *arguments: str, config: tuple[str, ...] | None = None) -> list[str]:
        settings = self.settings if config is None else config
        return [sys.executable, "-m", "snakemake", "--cores", "1", *arguments, "--config", *settings]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder / "scripts")}

    def snakemake(
        self, *arguments: str, config: tuple[str, ...] | None = None, **environment: str
    ) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*arguments, config=config),
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=1500,
        )

    def precise(self, width: float, maximum: int, *settings: str) -> subprocess.CompletedProcess:
        """What `make precise` runs first."""
        command = [sys.executable, "-m", "plimsoll", "precise", "--study", "liu2020", "--width", str(width)]
        return subprocess.run(
            [*command, "--maximum", str(maximum), *settings],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    @contextlib.contextmanager
    def edited(self, file: str) -> Iterator[dict]:
        """What a YAML file of the copy holds; with what the block has changed in it, it is written."""
        path = self.folder / file
        content = yaml.safe_load(path.read_text())
        yield content
        path.write_text(yaml.safe_dump(content, sort_keys=False))

    def change(self, file: str, usual: str, other: str) -> None:
        """Change a line of a file."""
        path = self.folder / file
        lines = path.read_text().splitlines()
        assert lines.count(usual) == 1
        path.write_text("\n".join([other if line == usual else line for line in lines]) + "\n")

    def keep_experiment(self, name: str, section: str, **factors: object) -> None:
        """Cut liu2020 down to one section of one experiment, with some of its factors' levels changed, without figures."""
        with self.edited("config/studies/liu2020.yaml") as study:
            study["experiments"] = {name: {**study["experiments"][name], "sections": [section], **factors}}
            study["figures"] = {}
            study["tables"] = {name: table for name, table in study["tables"].items() if "experiment" not in table}

    def keep_three_cells(self, section: str = "beff", **factors: object) -> None:
        """Cut liu2020 down to a section in one container or none: on bare metal, in Docker, and there with the capability."""
        small = {"hardware": ["uma"], "mode": ["exact"], "schemes": "single", "affinity": ["any"]}
        self.keep_experiment("seccomp", section, **small, **factors)

    def start(self, target: str, records: int, **environment: str) -> subprocess.Popen:
        """A workflow in the background, once it has written `records` records; what it says goes to `said`."""
        with open(self.said, "w") as said:
            process = subprocess.Popen(
                self.command(target),
                cwd=self.folder,
                env={**self.environment, **environment},
                start_new_session=True,
                stdout=said,
                stderr=said,
            )
        end = time.monotonic() + 240
        while len(self.files("results/*/runs/**/*.json")) < records:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.05)
        return process

    @property
    def said(self) -> Path:
        """What the workflow that was started last in the background has said."""
        return self.folder.with_name(f"{self.folder.name}.said")

    def jobs(self, *arguments: str, config: tuple[str, ...] | None = None) -> dict[str, int]:
        """Rules that a dry run would run, with how often."""
        done = self.snakemake("--dry-run", *arguments, config=config)
        assert done.returncode == 0, done.stderr
        counts = {}
        for line in (done.stdout + done.stderr).splitlines():
            name, _, number = line.rpartition(" ")
            if number.isdigit() and name.strip().isidentifier():
                counts[name.strip()] = int(number)
        counts.pop("total", None)
        return counts

    def counted(self) -> set[str]:
        """What this machine counts, by the plan."""
        plan = json.loads((self.folder / "results/liu2020/plan.json").read_text())
        return set(plan["instruments"]["events"]["events"])

    def files(self, pattern: str) -> list[str]:
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.glob(pattern))


def missing_plugin() -> str | None:
    """Why Snakemake cannot have its plugin for Slurm here; None if it can."""
    there = (PLUGIN / "snakemake_executor_plugin_slurm").is_dir() and shutil.which("squeue")
    return None if there else "Slurm's commands or Snakemake's plugin are not installed (scripts/setup/tests.sh)"
