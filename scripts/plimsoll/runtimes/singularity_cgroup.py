"""Singularity+cgroup: plain Singularity, with the ranks of each container in a cpu cgroup of their own.

The cgroups are children of one parent, as liu2020 (section 4.3) asks for, and set no limit: the same shape as Docker's.
"""

from pathlib import Path

from plimsoll import cgroup, launcher
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import LABEL, Deployment, Job, Runtime, join
from plimsoll.runtimes.host import HostDeployment
from plimsoll.runtimes.singularity import Singularity, execute, needs_root


class CgroupDeployment(HostDeployment):
    """A cgroup a container; each rank joins its container's, then brings its own mount namespace."""

    members: list[Path] = []

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host with one program specification a container, each naming the cgroups that its ranks join."""
        own = [[group] for group in self.members]
        if self.job.apart:
            # On version 2 the cpuset is the same group.
            own = [list(dict.fromkeys(pair)) for pair in zip(self.members, self.cpusets or self.members, strict=True)]
        prefixes = [self.job.bound([*join(groups), *launcher.CLEAN, *execute(self.job)]) for groups in own]
        return self.started(prefixes, self.job.preloaded(program))

    def remove(self) -> None:
        """Remove the cgroups."""
        cgroup.remove(self.parent)


class SingularityCgroup(Runtime):
    """Plain Singularity in cpu cgroups."""

    name = "singularity-cgroup"
    label = "Singularity+cgroup"

    def check(self) -> str:
        """Singularity's version, if cgroups can be made here."""
        needs_root("making cpu cgroups")
        if cgroup.cpu_root(cgroup.mounts()) is None:
            raise Unavailable("no cgroup file system with a cpu controller is mounted")
        return Singularity().check()

    def deploy(self, job: Job) -> Deployment:
        """Make the cgroups, and the cpusets that the cell needs."""
        deployment = CgroupDeployment(job)
        names = [f"c{i}" for i in range(job.cell["containers"])]
        try:
            deployment.members = cgroup.make(deployment.parent, names, cgroup.mounts())
        except OSError as error:
            deployment.remove()
            raise Unavailable(f"a cpu cgroup could not be made: {error}") from error
        deployment.confine()
        return deployment

    def sweep(self) -> None:
        """Remove the cgroups of killed runs."""
        cgroup.remove(LABEL)


RUNTIMES = (SingularityCgroup(),)
