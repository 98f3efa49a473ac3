"""Docker whose containers share what ranks need to share memory: steps between the host and default Docker.

Open MPI takes ranks for neighbours if one launcher, or one of its daemons, started them. To share memory, neighbours
need three of the host's namespaces:

- IPC, for /dev/shm.
- Processes. Open MPI 4.1 identifies the memory segment of another rank by the number of the process that made it. Two
  containers with process namespaces of their own use the same numbers.
- Networks, because ranks find the launcher by the loopback.
"""

from pathlib import Path

from plimsoll.runtimes import segments
from plimsoll.runtimes.base import HOST, LABEL, Node, without_variables
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.engine import EngineNode
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.runtimes.privileges import Privileges

HANDS_ON = Path(__file__).with_name("exec-with-variables.sh")


class SharedNode(EngineNode):
    """A container into which a launcher outside starts each rank separately, as if it were the launcher's own
    process."""

    separate = False
    detached = True

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        where = ["env", f"--chdir={folder or self.spec.folder}"]
        return [*where, *without_variables(without), str(HANDS_ON), *self.command, self.name, *program]


class DockerSharedDaemon(Docker):
    """Docker with the host's IPC, processes and network. Open MPI has a daemon in each container, as in default
    Docker."""

    name = "docker-shared-daemon"
    label = "Docker sharing IPC/PID/net, daemons"
    colour, hatch = "#2f6f9f", "--"
    network = HostNetwork()
    options = (*Docker.options, "--ipc", "host", "--pid", "host")
    variant_of = "docker"

    def privileges(self) -> Privileges:
        """Return what Docker gives by default, and the host's IPC, processes and network."""
        why = "ranks in two containers share memory; what these namespaces cost is what is measured"
        return super().privileges()._replace(shares=("ipc", "net", "pid", "user"), why=why)

    def stop(self, nodes) -> None:
        """Remove the containers, and the shared memory that their ranks left on the host."""
        super().stop(nodes)
        segments.remove([node.name for node in nodes])

    def sweep(self) -> None:
        """Remove a killed run's containers, and the shared memory that their ranks left on the host."""
        super().sweep()
        segments.remove([f"{LABEL}-"])


class DockerSharedProcesses(DockerSharedDaemon):
    """Docker with the host's processes and network. Each container has an IPC namespace and a /dev/shm of its own."""

    name = "docker-shared-processes"
    label = "Docker sharing PID/net, daemons"
    colour, hatch = "#16507a", "xx"
    options = (*Docker.options, "--pid", "host")
    variant_of = "docker-shared-daemon"

    def privileges(self) -> Privileges:
        """Return what Docker gives by default, and the host's processes and network."""
        why = "what the IPC namespace costs is what is measured"
        return super().privileges()._replace(shares=("net", "pid", "user"), why=why)


class DockerShared(DockerSharedDaemon):
    """Docker with the host's IPC, processes and network, and one launcher on the host for all ranks, which are
    neighbours then."""

    name = "docker-shared"
    label = "Docker sharing IPC/PID/net"
    colour, hatch = "#4d94c7", "++"
    variant_of = "docker-shared-daemon"

    def privileges(self) -> Privileges:
        """Return what DockerSharedDaemon has, and the folder in which ranks meet their launcher."""
        why = "ranks in two containers share memory, by one launcher outside"
        return super().privileges()._replace(mounts=("FOLDER", "MEETING"), why=why)

    def start(self, specs, on=HOST) -> list[Node]:
        """Start containers as Docker does. Each rank enters its container separately."""
        return [SharedNode(node.spec, on, node.groups, self.command) for node in super().start(specs, on)]

    def words(self, spec) -> list[str]:
        # Ranks meet the launcher by files in the launcher's own folder.
        meeting = ["--volume", f"{spec.temporary}:{spec.temporary}"] if spec.temporary else []
        return [*meeting, *super().words(spec)]


class DockerSharedPtrace(DockerShared):
    """DockerShared whose ranks may read each other's memory."""

    name = "docker-shared-ptrace"
    label = "Docker sharing IPC/PID/net, ptrace"
    colour, hatch = "#9fd8f5", "oo"
    capabilities = ("SYS_PTRACE",)
    variant_of = "docker-shared"

    def privileges(self) -> Privileges:
        """Return what DockerShared has, and one capability."""
        why = "ranks in two containers read each other's memory"
        return super().privileges()._replace(added=("CAP_SYS_PTRACE",), why=why)


RUNTIMES = (DockerSharedPtrace(), DockerShared(), DockerSharedDaemon(), DockerSharedProcesses())
