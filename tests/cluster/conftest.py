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
from plimsoll.host import machine_lock
from plimsoll.measuring import lock

from tests.cluster import slurm
from tests.project import PLUGIN, Project, missing_plugin

# The smallest thing that is measured, and has verdicts: one section of HPC Challenge on bare metal.
BARE = ("docker", "docker-ptrace", "singularity", "singularity-instance", "singularity-cgroup")
SETTINGS = ["profile=ci", "repetitions=4", f"runtimes={{{', '.join(f'{name}: off' for name in BARE)}}}"]
JUDGED = "results/liu2020/claims.json"


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)


class Cluster(Project):
    """A copy of the project with a study that is small, and rules/cluster.smk in it."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.keep_experiment("granularity", "randomaccess")
        # Which files are the project's, git says.
        subprocess.run(["git", "init", "--quiet", folder], check=True)

    def configure(self, **given: object) -> None:
        """What is measured where, in a file for --configfile."""
        content = {"settings": SETTINGS, "targets": [JUDGED], **given}
        (self.folder / "hosts.yaml").write_text(yaml.safe_dump(content))

    def start(self, *words: str, known: dict[str, str]) -> subprocess.Popen:
        """rules/cluster.smk with more words, in the background."""
        command = [sys.executable, "-m", "snakemake", "--snakefile", "rules/cluster.smk", "--configfile", "hosts.yaml", *words]
        return subprocess.Popen(
            command,
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
    """What a measurement would leave on this machine: processes of a run, its folders, containers, and its mark."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            if any(entry.startswith(f"{lock.VARIABLE}=".encode()) for entry in environment):
                processes.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    folders = [str(path) for path in lock.TEMPORARY.glob("*")]
    engine = shutil.which("docker") and subprocess.run(
        ["docker", "ps", "--all", "--quiet", "--filter", "label=plimsoll"], capture_output=True, text=True
    )
    containers = engine.stdout.split() if engine and engine.returncode == 0 else []
    marks = [str(path) for number, path in machine_lock.marks().items() if number == os.geteuid()]
    return [*processes, *folders, *containers, *marks]
