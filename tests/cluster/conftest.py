"""Fixtures for several hosts: a Slurm of its own, and a machine that ssh reaches. Both are this machine; one measures
at a time."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from plimsoll.host import cgroup, machine_lock
from plimsoll.measuring import lock
from plimsoll.runtimes.base import LABEL

from tests.cluster import slurm
from tests.conftest import commands
from tests.project import PLUGIN, Project, missing_plugin
from tests.users.conftest import new_user  # noqa: F401

# Runtimes that the configuration measures besides bare metal.
RUNTIMES = ("docker", "docker-ptrace", "singularity", "singularity-instance", "singularity-cgroup")


def settings(*runtimes: str, repetitions: int = 4) -> list[str]:
    """Return settings for the smallest study with verdicts: one section of HPC Challenge, on bare metal and in these
    runtimes."""
    off = ", ".join(f"{name}: off" for name in RUNTIMES if name not in runtimes)
    return ["profile=ci", f"repetitions={repetitions}", f"runtimes={{{off}}}"]


JUDGED = "results/liu2020/claims.json"


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)


class Cluster(Project):
    """A copy of the project with a small study, in which `python` runs rules/cluster.smk.

    The words of `become` choose the user who runs it; without words root does.
    """

    def __init__(self, folder: Path, become: tuple[str, ...] = (), python: str = sys.executable):
        super().__init__(folder)
        self.become, self.python = become, python
        self.keep_experiment("granularity", "randomaccess")
        # Git says which files belong to the project.
        subprocess.run(["git", "init", "--quiet", folder], check=True)

    def configure(self, **given: object) -> None:
        """Write a file for --configfile that says what is measured where."""
        content = {"settings": settings(), "targets": ["measurements", JUDGED], **given}
        (self.folder / "hosts.yaml").write_text(yaml.safe_dump(content))

    def start(self, *words: str, known: dict[str, str]) -> subprocess.Popen:
        """Start rules/cluster.smk with more words, in the background."""
        command = [self.python, "-m", "snakemake", "--snakefile", "rules/cluster.smk", "--configfile", "hosts.yaml", *words]
        return subprocess.Popen(
            [*self.become, *command],
            cwd=self.folder,
            env={**known, "PYTHONPATH": os.pathsep.join([str(self.folder / "scripts"), known.get("PYTHONPATH", "")])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def submit(self, *words: str, known: dict[str, str], seconds: float = 1500) -> tuple[int, str]:
        """Run rules/cluster.smk with more words, and return (exit status, output)."""
        process = self.start(*words, known=known)
        try:
            said, _ = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, said

    def records(self, host: str) -> dict[str, int]:
        """Return the records of a host, with the time at which each was written (ns)."""
        folder = self.folder / "hosts" / host
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.glob("results/*/runs/**/*.json")}

    def log(self, host: str) -> str:
        """Return the log of a host."""
        path = self.folder / f"hosts/{host}/measuring.log"
        return path.read_text() if path.exists() else "nothing"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Cluster:
    """A new cluster for each file of tests."""
    return Cluster(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def known():
    """Environment variables for Slurm's commands, and for a Snakemake with the plugin for Slurm."""
    if reason := slurm.missing() or missing_plugin():
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        with slurm.running(folder) as known:
            yield {**known, "PYTHONPATH": str(PLUGIN)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def left_behind() -> list[str]:
    """Return what measurements left on this machine: processes of a run, its folders, containers, cgroups, and its mark."""
    folders = [str(path) for path in lock.TEMPORARY.glob("*")]
    marks = [str(path) for number, path in machine_lock.marks().items() if number == os.geteuid()]
    groups = [str(path) for root in {*cgroup.mounts().values()} for path in (root / LABEL).glob("*/")]
    return [*commands(lock.of_runs()), *folders, *containers(), *groups, *marks]


def containers() -> list[str]:
    """Return the numbers of the project's existing containers."""
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]
    engine = shutil.which("docker") and subprocess.run(command, capture_output=True, text=True)
    return engine.stdout.split() if engine and engine.returncode == 0 else []
