"""Bare metal: the image's files, with their own loader and libraries, in no container."""

import platform

from plimsoll import launcher
from plimsoll.runtimes.base import Deployment, Job, Runtime


class BareDeployment(Deployment):
    """Nothing is up; ranks are children of mpirun."""

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host, each rank through the image's loader."""
        ranks = str(self.job.cell["ranks"])
        return [*self.job.on_cores(), *self.job.mpirun(), "-np", ranks, *launcher.loaded(self.job.rootfs, *program)]


class Bare(Runtime):
    """The baseline."""

    name = "bare"
    label = "Bare metal"
    containers = False

    def check(self) -> str:
        """The kernel's release."""
        return f"Linux {platform.release()}"

    def deploy(self, job: Job) -> Deployment:
        """Nothing to start."""
        return BareDeployment(job)


RUNTIMES = (Bare(),)
