"""What bare metal and plain Singularity have in common: ranks that mpirun starts on the host itself."""

from pathlib import Path

from plimsoll import cgroup
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import LABEL, Deployment, join


class HostDeployment(Deployment):
    """Ranks on the host, confined to the cell's places by cpusets where these leave something out."""

    ranks_are_children = True
    cpusets: list[Path] = []

    def confine(self) -> None:
        """Make the cpusets: one for all ranks, or one a container where these have places of their own.

        Without the right to do so, ranks that may use all memory nodes can still be kept on their processors (`around`).
        """
        job = self.job
        if not job.cell["restricted"]:
            return
        places = job.cell["places"] if job.apart else job.cell["places"][:1]
        try:
            self.cpusets = cgroup.make_cpusets(self.parent, places, cgroup.mounts())
        except OSError as error:
            cgroup.remove(self.parent)
            if job.apart or job.together["nodes"] != job.cell["everything"]["nodes"]:
                raise Unavailable(f"a cpuset could not be made: {error}") from error

    @property
    def parent(self) -> str:
        """The cgroup under which everything of the run is."""
        return f"{LABEL}/{self.job.identity}"

    def around(self) -> list[str]:
        """Prefix of mpirun that keeps it and all its ranks in the place that they have in common."""
        if not self.job.cell["restricted"] or self.job.apart:
            return []
        return join(self.cpusets) if self.cpusets else ["taskset", "-c", self.job.together["cpus"]]

    def started(self, prefixes: list[list[str]], program: list[str]) -> list[str]:
        """mpirun of the program: one specification a container if there are prefixes of their own, otherwise one for all."""
        start = [*self.around(), *self.job.mpirun_here()]
        if prefixes:
            return [*start, *self.job.by_container(prefixes, program)]
        return [*start, "-np", str(self.job.cell["ranks"]), *program]

    def remove(self) -> None:
        """Remove the cpusets."""
        if self.cpusets:
            cgroup.remove(self.parent)
