"""Docker whose containers share what ranks need to share memory: a step between the host and default Docker.

Open MPI takes two ranks for neighbours if one launcher started both; it then needs three of the host's namespaces: of IPC, for
/dev/shm; of processes, as segments of memory are named by process numbers, which are the same in two containers; and of
networks, as ranks find the launcher by the loopback.
"""

from pathlib import Path

from plimsoll.environments.base import HOST, Node, hidden
from plimsoll.environments.docker import Docker
from plimsoll.environments.engine import EngineNode
from plimsoll.environments.networks.base import HostNetwork

HANDS_ON = Path(__file__).with_name("exec-with-variables.sh")


class SharedNode(EngineNode):
    """A container into which a launcher outside starts each rank by itself, as if it were the launcher's own process."""

    separate = False
    detached = True

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        where = ["env", f"--chdir={folder or self.spec.folder}"]
        return [*where, *hidden(without), str(HANDS_ON), *self.command, self.name, *program]


class DockerSharedPtrace(Docker):
    """Docker with the host's IPC, processes and network, whose ranks may read each other's memory."""

    name = "docker-shared-ptrace"
    label = "Docker sharing IPC, with CAP_SYS_PTRACE"
    colour, hatch = "#9fd8f5", "oo"
    network = HostNetwork()
    options = ("--ipc", "host", "--pid", "host")
    capabilities = ("SYS_PTRACE",)
    variant_of = "docker-shared"

    def start(self, specs, on=HOST) -> list[Node]:
        """Containers like Docker's, entered rank by rank."""
        return [SharedNode(node.spec, on, node.groups, self.command) for node in super().start(specs, on)]

    def _of(self, spec) -> list[str]:
        # Ranks meet the launcher by files in its own folder.
        meeting = ["--volume", f"{spec.temporary}:{spec.temporary}"] if spec.temporary else []
        return [*meeting, *super()._of(spec)]


class DockerShared(DockerSharedPtrace):
    """The same with Docker's default rights."""

    name = "docker-shared"
    label = "Docker sharing IPC"
    colour, hatch = "#4d94c7", "++"
    capabilities = ()
    variant_of = "docker"


ENVIRONMENTS = (DockerSharedPtrace(), DockerShared())
