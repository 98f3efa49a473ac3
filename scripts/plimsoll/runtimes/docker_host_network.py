"""Docker on the host's network. It shows whether the loss of several containers (liu2020, figures 5 and 6) comes from
the network namespace."""

from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.runtimes.privileges import Privileges


class DockerHostNetwork(Docker):
    """Docker with one thing changed: containers have no network namespace of their own."""

    name = "docker-host-network"
    label = "Docker on the host's network"
    colour, hatch = "#004c6d", "--"
    network = HostNetwork()
    variant_of = "docker"

    def privileges(self) -> Privileges:
        """Return what Docker gives by default, and the host's network."""
        return super().privileges()._replace(shares=("net", "user"), why="what the network namespace costs is what is measured")


RUNTIMES = (DockerHostNetwork(),)
