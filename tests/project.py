"""A copy of the project in an empty folder, and Snakemake on the command line: the workflow as a user runs it."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[1]
# Snakemake's plugin for Slurm. It is not in .venv: Snakemake with this plugin does not start without Slurm's commands.
PLUGIN = PROJECT / ".cache/slurm"
RUNS = "results/liu2020/runs/**/*.json"
# For small studies.
BARE_AND_DOCKER = "runtimes={singularity: off, singularity-instance: off, singularity-cgroup: off}"


class Project:
    """Copy of the project. `snakemake` runs it on the ci profile with one repetition.

    Singularity's runtimes are off to save time. tests/containers tests all of them, and tests/users tests plain
    Singularity in a workflow.
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
        folder.mkdir(parents=True, exist_ok=True)
        names = [name for name in listed.stdout.splitlines() if (PROJECT / name).is_file()]
        copy = ["cp", "--parents", "--preserve=mode,timestamps", "--target-directory", str(folder), "--"]
        subprocess.run([*copy, *names], cwd=PROJECT, check=True)
        # What was compiled of the same files holds for the copy. A file that is not complete has another ending.
        for made in (PROJECT / "scripts").rglob("__pycache__"):
            unfinished = shutil.ignore_patterns("*.pyc.*")
            shutil.copytree(made, folder / made.relative_to(PROJECT), ignore=unfinished)

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
        """Run `plimsoll precise`."""
        command = [sys.executable, "-m", "plimsoll.cli", "precise", "liu2020", "--no-set-up", "--width", str(width)]
        return subprocess.run(
            [*command, "--maximum", str(maximum), *(word for setting in settings for word in ("--config", setting))],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    @contextlib.contextmanager
    def edited(self, file: str) -> Iterator[dict]:
        """Yield the content of a YAML file of the copy. Afterwards write it with the changes that the block has made."""
        path = self.folder / file
        content = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        yield content
        path.write_text(yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False))

    def change(self, file: str, usual: str, other: str) -> None:
        """Replace a line of a file, which must occur once."""
        path = self.folder / file
        lines = path.read_text().splitlines()
        assert lines.count(usual) == 1
        path.write_text("\n".join([other if line == usual else line for line in lines]) + "\n")

    def keep_experiment(self, name: str, section: str, **factors: object) -> None:
        """Reduce liu2020 to one section of one experiment, with other levels for some of its factors, and without figures."""
        with self.edited("config/studies/liu2020.yaml") as study:
            study["experiments"] = {name: {**study["experiments"][name], "sections": [section], **factors}}
            study["figures"] = {}
            study["tables"] = {name: table for name, table in study["tables"].items() if "experiment" not in table}

    def keep_three_cells(self, section: str = "beff", **factors: object) -> None:
        """Reduce liu2020 to one section in at most one container: on bare metal, in Docker, and in Docker with the
        capability."""
        small = {"hardware": ["uma"], "mode": ["exact"], "schemes": "single", "affinity": ["any"]}
        self.keep_experiment("seccomp", section, **small, **factors)

    def start(self, target: str, records: int, **environment: str) -> subprocess.Popen:
        """Start a workflow in the background, and return its process when it has written `records` records. Its output
        goes to `said`."""
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
        """File with the output of the workflow that was last started in the background."""
        return self.folder.with_name(f"{self.folder.name}.said")

    def log(self, folder: Path | None = None) -> str:
        """Return the log of the last command in the copy, or in another folder: all lines that the user does not see."""
        lines = ((folder or self.folder) / "results/logs/workflow.log").read_text().splitlines()
        # Without the time.
        return "\n".join(re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", line) for line in lines)

    def jobs(self, *arguments: str, config: tuple[str, ...] | None = None) -> dict[str, int]:
        """Return how often a dry run would run each rule."""
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
        """Return the events that this machine counts, from the plan."""
        plan = json.loads((self.folder / "results/liu2020/plan.json").read_text())
        return set(plan["instruments"]["events"]["events"])

    def files(self, pattern: str) -> list[str]:
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.glob(pattern))


def missing_plugin() -> str | None:
    """Return why Snakemake cannot use its plugin for Slurm here; None if it can."""
    there = (PLUGIN / "snakemake_executor_plugin_slurm").is_dir() and shutil.which("squeue")
    return None if there else "Slurm's commands or Snakemake's plugin are not installed (scripts/setup/tests.sh)"
