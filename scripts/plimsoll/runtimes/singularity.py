"""Plain Singularity (Apptainer): `apptainer exec` of every rank, in the host's namespaces and the host's cgroup."""

import os
import shutil
from functools import cache

from plimsoll import launcher, paths
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import Deployment, Job, Runtime, output


@cache
def executable() -> str:
    """Path of Apptainer or Singularity: the one that set-up unpacked, or the one on the PATH."""
    for name in (str(paths.tool_prefix() / "apptainer/bin/apptainer"), "apptainer", "singularity"):
        if found := shutil.which(name):
            return found
    raise Unavailable("neither apptainer nor singularity is installed")


def execute(job: Job) -> list[str]:
    """`apptainer exec` of the image in the run's folder, up to where the program begins."""
    return [executable(), "exec", "--bind", str(job.folder), "--pwd", str(job.folder), job.image["sif"]]


class SingularityDeployment(Deployment):
    """Nothing is up before the ranks: each brings its own container."""

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host, each rank through `apptainer exec`."""
        rank = [*launcher.CLEAN, *execute(self.job), *program]
        return [*self.job.on_cores(), *self.job.mpirun(), "-np", str(self.job.cell["ranks"]), *rank]


class Singularity(Runtime):
    """Plain Singularity."""

    name = "singularity"
    label = "Singularity"

    def check(self) -> str:
        """What the executable calls itself."""
        return output([executable(), "--version"]).strip()

    def deploy(self, job: Job) -> Deployment:
        """Nothing to start."""
        return SingularityDeployment(job)


def needs_root(what: str) -> None:
    """Unavailable unless this process is root."""
    if os.geteuid():
        raise Unavailable(f"{what} needs root on this machine")


RUNTIMES = (Singularity(),)
