"""A bridge network of the study's own, made by an engine with Docker's command line."""

import contextlib
import json

from plimsoll.environments.base import HOST, LABEL, Node, output
from plimsoll.environments.networks.base import Network
from plimsoll.errors import Unavailable

# A network gets the first subnet that no route of the host overlaps, of 10.FIRST.0.0/24 and those that follow: SUBNETS of them.
FIRST, SUBNETS = 77, 50


class EngineBridge(Network):
    """`command` is the engine's; its containers find each other by name on it. `first` is where its subnets begin."""

    def __init__(self, command: tuple[str, ...], name: str = LABEL, first: int = FIRST):
        super().__init__(name)
        self.command, self.first = command, first

    def set_up(self, on: Node = HOST) -> None:
        """Make it with a subnet that is free here: an overlapping one hangs MPI without a word."""
        try:
            output(on.inside([*self.command, "network", "inspect", self.name]))
            return
        except Unavailable:
            pass
        import ipaddress  # here, because almost every run finds the network made

        taken = routes(on)
        for second in range(self.first, self.first + SUBNETS):
            subnet = ipaddress.ip_network(f"10.{second}.0.0/24")
            if not any(subnet.overlaps(other) for other in taken):
                create = ["network", "create", "--label", LABEL, "--subnet", str(subnet), self.name]
                output(on.inside([*self.command, *create]))
                return
        raise Unavailable(f"no free subnet was found for a network of the study's own ({' '.join(self.command)})")

    def sweep(self) -> None:
        """Remove it unless a container is on it; the next run makes it anew."""
        with contextlib.suppress(Unavailable):
            output([*self.command, "network", "rm", self.name])


def routes(on: Node = HOST) -> list:
    """Every network that a node has a route to."""
    import ipaddress

    table = json.loads(output(on.inside(["ip", "-json", "-4", "route", "show", "table", "all"])) or "[]")
    return [ipaddress.ip_network(route["dst"], strict=False) for route in table if route.get("dst", "default") != "default"]
