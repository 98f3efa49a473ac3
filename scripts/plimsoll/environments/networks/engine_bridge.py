"""A bridge network of the study's own, made by an engine with Docker's command line."""

import contextlib
import ipaddress

from plimsoll.environments.base import HOST, LABEL, LABELLED, Node, output
from plimsoll.environments.networks.base import Network, Plug
from plimsoll.errors import Unavailable

# Where the subnets of these networks begin: 10.FIRST.0.0.
FIRST = 77
# As many guests can be on one at once.
GUESTS = 120


class EngineBridge(Network):
    """`command` is the engine's; its containers find each other by name on it. `first` is where its subnets begin."""

    def __init__(self, command: tuple[str, ...], name: str = LABEL, first: int = FIRST):
        super().__init__(name)
        self.command, self.first = command, first
        self.guests = 0

    def set_up(self, on: Node = HOST) -> None:
        """Make it with a subnet that is free here."""
        try:
            output(on.inside([*self.command, "network", "inspect", self.name]))
            return
        except Unavailable:
            pass
        # Here, because almost every run finds the network made.
        from plimsoll.environments.networks.subnets import free_subnet

        subnet = free_subnet(f"a network of the study's own ({' '.join(self.command)})", self.first, on)
        create = ["network", "create", "--label", LABELLED, "--subnet", str(subnet), self.name]
        output(on.inside([*self.command, *create]))

    def plug(self) -> Plug:
        """Its bridge is called by its number and has the first address. The engine gives out those that follow, so guests get
        the last."""
        asked = "{{slice .Id 0 12}} {{(index .IPAM.Config 0).Subnet}}"
        number, subnet = output([*self.command, "network", "inspect", "--format", asked, self.name]).split()
        network = ipaddress.ip_network(subnet)
        self.guests = self.guests % GUESTS + 1
        address = f"{network[-1 - self.guests]}/{network.prefixlen}"
        commands = ("ip", "link", "set", "DEVICE", "master", f"br-{number}"), ("ip", "link", "set", "DEVICE", "up")
        return Plug(address, str(network[1]), commands)

    def sweep(self) -> None:
        """Remove it unless a container is on it; the next run makes it anew."""
        with contextlib.suppress(Unavailable):
            output([*self.command, "network", "rm", self.name])
