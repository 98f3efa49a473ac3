"""Plain Singularity (Apptainer): `apptainer exec` of every rank, in the host's namespaces and the host's cgroup."""

import os
import shutil
from functools import cache
from pathlib import Path

from plimsoll import launcher, paths
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import Deployment, Job, Runtime, output
from plimsoll.runtimes.host import HostDeployment


@cache
def executable() -> str:
    """Path of Apptainer or Singularity: the one that set-up unpacked, or the one on the PATH."""
    for name in (str(paths.tool_prefix() / "apptainer/bin/apptainer"), "apptainer", "singularity"):
        if found := shutil.which(name):
            return found
    raise Unavailable("neither apptainer nor singularity is installed")


def execute(job: Job, *options: str) -> list[str]:
    """`apptainer exec` of the image in the run's folder, up to where the program begins."""
    folder = str(job.folder)
    return [executable(), "exec", *options, "--bind", folder, "--pwd", folder, job.image["sif"]]


def cgroup_files(job: Job) -> list[Path]:
    """Singularity's cgroup files that confine each container to its place (liu2020, section 5.3)."""
    files = []
    for number, place in enumerate(job.cell["places"]):
        files.append(job.folder / f"cgroups-{number}.toml")
        files[-1].write_text(f'[cpu]\n  cpus = "{place["cpus"]}"\n  mems = "{place["nodes"]}"\n')
    return files


class SingularityDeployment(HostDeployment):
    """Nothing is up before the ranks: each brings its own container."""

    @property
    def strays(self) -> bool:
        """With a cgroup file each `exec` makes a cgroup of its own."""
        return self.job.apart

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host, each rank through `apptainer exec`, with its container's cgroup file if they are apart."""
        program = self.job.preloaded(program)
        if not self.job.apart:
            return self.started([], [*launcher.CLEAN, *execute(self.job), *program])
        prefixes = [
            [*launcher.CLEAN, *self.job.bound(execute(self.job, "--apply-cgroups", str(file)))]
            for file in cgroup_files(self.job)
        ]
        return self.started(prefixes, program)


class Singularity(Runtime):
    """Plain Singularity."""

    name = "singularity"
    label = "Singularity"

    def check(self) -> str:
        """What the executable calls itself."""
        return output([executable(), "--version"]).strip()

    def deploy(self, job: Job) -> Deployment:
        """Make the cpuset that all ranks share, if the cell needs one."""
        deployment = SingularityDeployment(job)
        if not job.apart:
            deployment.confine()
        return deployment


def needs_root(what: str) -> None:
    """Unavailable unless this process is root."""
    if os.geteuid():
        raise Unavailable(f"{what} needs root on this machine")


RUNTIMES = (Singularity(),)
