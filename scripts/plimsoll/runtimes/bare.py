"""Bare metal: the image's files, with their own loader and libraries, in no container."""

import os

from plimsoll import cgroup, launcher
from plimsoll.runtimes.base import LABEL, Deployment, Job, Runtime, join
from plimsoll.runtimes.host import HostDeployment


class BareDeployment(HostDeployment):
    """Nothing is up; ranks are children of mpirun."""

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host, each rank through the image's loader."""
        prefixes = [self.job.bound(join([group])) for group in self.cpusets] if self.job.apart else []
        return self.started(prefixes, launcher.loaded(self.job.rootfs, *program, preload=self.job.preload))

    def environment(self) -> dict[str, str]:
        """The launcher's, and the image's settings of Open MPI, which a container finds in its own /etc.

        Without them the ranks would open transports that Debian switches off, and which no container opens.
        """
        settings = self.job.rootfs / "etc/openmpi/openmpi-mca-params.conf"
        return {**super().environment(), "OMPI_MCA_mca_base_param_files": str(settings)}


class Bare(Runtime):
    """The baseline."""

    name = "bare"
    label = "Bare metal"
    containers = False

    def check(self) -> str:
        """The kernel's release."""
        return f"Linux {os.uname().release}"

    def deploy(self, job: Job) -> Deployment:
        """Make the cpusets that the cell needs."""
        deployment = BareDeployment(job)
        deployment.confine()
        return deployment

    def sweep(self) -> None:
        """Remove the cgroups of killed runs."""
        cgroup.remove(LABEL)


RUNTIMES = (Bare(),)
