"""Docker on the host's network. It shows whether the loss of several containers (liu2020, figures 5 and 6) comes from
the network namespace."""

from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.networks.base import HostNetwork


class DockerHostNetwork(Docker):
    """Docker with one thing changed: containers have no network namespace of their own."""

    name = "docker-host-network"
    label = "Docker on the host's network"
    colour, hatch = "#004c6d", "--"
    network = HostNetwork()
    variant_of = "docker"


ENVIRONMENTS = (DockerHostNetwork(),)
