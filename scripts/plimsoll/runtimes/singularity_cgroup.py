"""Singularity+cgroup: plain Singularity, with the ranks of each container in a cpu cgroup of their own.

The cgroups are children of one parent, as liu2020 (section 4.3) asks for, and set no limit: the same shape as Docker's.
"""

from pathlib import Path

from plimsoll import cgroup, launcher
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import LABEL, Deployment, Job, Runtime
from plimsoll.runtimes.singularity import Singularity, execute, needs_root

JOIN = Path(__file__).with_name("join-cgroup.sh")


class CgroupDeployment(Deployment):
    """A cgroup a container; each rank joins its container's, then brings its own mount namespace."""

    members: list[Path]

    def launch(self, program: list[str]) -> list[str]:
        """mpirun on the host with one program specification a container, each naming the cgroup that its ranks join."""
        command = [*self.job.on_cores(), *self.job.mpirun()]
        for number, group in enumerate(self.members):
            separator = [":"] if number else []
            ranks = ["-np", str(self.job.cell["ranks_per_container"])]
            command += [
                *separator,
                *ranks,
                str(JOIN),
                str(group),
                *launcher.CLEAN,
                *execute(self.job),
                *program,
            ]
        return command

    def remove(self) -> None:
        """Remove the cgroups."""
        cgroup.remove(f"{LABEL}/{self.job.identity}", cgroup.mounts())


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
        """Make the cgroups."""
        deployment = CgroupDeployment(job)
        names = [f"c{i}" for i in range(job.cell["containers"])]
        try:
            deployment.members = cgroup.make(f"{LABEL}/{job.identity}", names, cgroup.mounts())
        except OSError as error:
            deployment.remove()
            raise Unavailable(f"a cpu cgroup could not be made: {error}") from error
        return deployment

    def sweep(self) -> None:
        """Remove the cgroups of killed runs."""
        cgroup.remove(LABEL, cgroup.mounts())


RUNTIMES = (SingularityCgroup(),)
