"""A bridge network of the study's own, made by an engine with Docker's command line."""

import contextlib
import ipaddress

from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import HOST, LABEL, LABELLED, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks.base import Network, Plug

# Second number of the first subnet of these networks: 10.FIRST.0.0.
FIRST = 77
# Number of guests that can be on one network at once.
GUESTS = 120


class EngineBridge(Network):
    """Bridge network on which an engine's containers find each other by name.

    `command` begins commands to the engine. `first` is the second number of the first subnet (10.`first`.0.0).
    """

    def __init__(self, command: tuple[str, ...], name: str = LABEL, first: int = FIRST):
        super().__init__(name)
        self.command, self.first = command, first
        self.guests = 0

    def set_up(self, on: Node = HOST) -> None:
        """Make the network with a free subnet, if it is missing."""
        with contextlib.suppress(Unavailable):
            output(on.inside([*self.command, "network", "inspect", self.name]))
            return
        # Imported here, because almost every run finds the network made.
        from plimsoll.runtimes.networks.subnets import free_subnet

        subnet = free_subnet(f"a network of the study's own ({' '.join(self.command)})", self.first, on)
        create = ["network", "create", "--label", LABELLED, "--subnet", str(subnet), self.name]
        output(on.inside([*self.command, *create]))

    def plug(self) -> Plug:
        """Return a place for a guest. Guests get the last addresses of the subnet, because the engine gives out the
        first ones.

        The bridge is called by the network's number, and has the first address.
        """
        asked = "{{slice .Id 0 12}} {{(index .IPAM.Config 0).Subnet}}"
        number, subnet = output([*self.command, "network", "inspect", "--format", asked, self.name]).split()
        network = ipaddress.ip_network(subnet)
        self.guests = self.guests % GUESTS + 1
        address = f"{network[-1 - self.guests]}/{network.prefixlen}"
        commands = ("ip", "link", "set", "DEVICE", "master", f"br-{number}"), ("ip", "link", "set", "DEVICE", "up")
        return Plug(address, str(network[1]), commands)

    def sweep(self) -> None:
        """Remove the network if no container is on it. The next run makes it again."""
        with contextlib.suppress(Unavailable):
            output([*self.command, "network", "rm", self.name])
