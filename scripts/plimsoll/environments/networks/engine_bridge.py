"""A bridge network of the study's own, made by an engine with Docker's command line."""

import contextlib
import ipaddress
import re

from plimsoll.environments.base import HOST, LABEL, LABELLED, Node, output
from plimsoll.environments.networks.base import PREFIX, Network, Plug
from plimsoll.errors import Unavailable

# Where the subnets of these networks begin: 10.FIRST.0.0.
FIRST = 77
# As many guests can be on one at once.
GUESTS = 120
# Of a network's addresses the length of the prefix, in what an engine says of it.
SUBNET = re.compile(r'"[Ss]ubnet": "[0-9.]+/([0-9]+)"')


class EngineBridge(Network):
    """`command` is the engine's; its containers find each other by name on it. `first` is where its subnets begin."""

    def __init__(self, command: tuple[str, ...], name: str = LABEL, first: int = FIRST):
        super().__init__(name)
        self.command, self.first = command, first
        self.guests = 0

    def set_up(self, on: Node = HOST) -> None:
        """Make it with a subnet that is free here; in the place of an earlier version's smaller one, if nobody is on that."""
        with contextlib.suppress(Unavailable):
            there = output(on.inside([*self.command, "network", "inspect", self.name]))
            if not any(int(bits) > PREFIX for bits in SUBNET.findall(there)):
                return
            try:
                output(on.inside([*self.command, "network", "rm", self.name]))
            except Unavailable:
                return
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
