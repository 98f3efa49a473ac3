"""Several hosts: a Slurm of its own, and a machine that ssh reaches. Both are this machine, which only one of them measures."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from plimsoll.environments.base import LABEL
from plimsoll.host import cgroup, machine_lock
from plimsoll.measuring import lock

from tests.cluster import slurm
from tests.conftest import commands
from tests.project import PLUGIN, Project, missing_plugin
from tests.users.conftest import new_user  # noqa: F401

# Those that the configuration has measured besides bare metal.
RUNTIMES = ("docker", "docker-ptrace", "singularity", "singularity-instance", "singularity-cgroup")


def settings(*runtimes: str, repetitions: int = 4) -> list[str]:
    """Those of a host for the smallest thing that is measured and has verdicts: one section of HPC Challenge, on bare metal and
    in these runtimes."""
    off = ", ".join(f"{name}: off" for name in RUNTIMES if name not in runtimes)
    return ["profile=ci", f"repetitions={repetitions}", f"runtimes={{{off}}}"]


JUDGED = "results/liu2020/claims.json"


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)


class Cluster(Project):
    """A copy of the project with a study that is small, and rules/cluster.smk in it, which `python` runs for whom the words
    `become` say; root if there are none."""

    def __init__(self, folder: Path, become: tuple[str, ...] = (), python: str = sys.executable):
        super().__init__(folder)
        self.become, self.python = become, python
        self.keep_experiment("granularity", "randomaccess")
        # Which files are the project's, git says.
        subprocess.run(["git", "init", "--quiet", folder], check=True)

    def configure(self, **given: object) -> None:
        """What is measured where, in a file for --configfile."""
        content = {"settings": settings(), "targets": ["measurements", JUDGED], **given}
        (self.folder / "hosts.yaml").write_text(yaml.safe_dump(content))

    def start(self, *words: str, known: dict[str, str]) -> subprocess.Popen:
        """rules/cluster.smk with more words, in the background."""
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
        """The same, to its end: its exit status, and what it said."""
        process = self.start(*words, known=known)
        try:
            said, _ = process.communicate(timeout=seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, said

    def records(self, host: str) -> dict[str, int]:
        """The records of a host, with when each was written."""
        folder = self.folder / "hosts" / host
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.glob("results/*/runs/**/*.json")}

    def log(self, host: str) -> str:
        """What a host said."""
        path = self.folder / f"hosts/{host}/measuring.log"
        return path.read_text() if path.exists() else "nothing"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Cluster:
    """Made of its own for each file of tests."""
    return Cluster(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def known():
    """The environment of a Slurm's commands, and of a Snakemake with the plugin for it."""
    if reason := slurm.missing() or missing_plugin():
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        with slurm.running(folder) as known:
            yield {**known, "PYTHONPATH": str(PLUGIN)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def left_behind() -> list[str]:
    """What a measurement would leave on this machine: processes of a run, its folders, containers, cgroups, and its mark."""
    folders = [str(path) for path in lock.TEMPORARY.glob("*")]
    marks = [str(path) for number, path in machine_lock.marks().items() if number == os.geteuid()]
    groups = [str(path) for root in {*cgroup.mounts().values()} for path in (root / LABEL).glob("*/")]
    return [*commands(lock.of_runs()), *folders, *containers(), *groups, *marks]


def containers() -> list[str]:
    """The project's containers that are there."""
    command = ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]
    engine = shutil.which("docker") and subprocess.run(command, capture_output=True, text=True)
    return engine.stdout.split() if engine and engine.returncode == 0 else []
