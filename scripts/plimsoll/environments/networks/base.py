"""What an environment asks of a network, and the host's own."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import Unavailable

# Of the addresses of a network of ours. It has room for thousands of nodes.
PREFIX = 20


class Plug(NamedTuple):
    """How a guest gets on a network: its `address`, with the length of the network's prefix; the `gateway`; and the `commands`
    on this host that put a device into the network, DEVICE being its name. Without `offloads` whoever sends has to make
    checksums and segments."""

    address: str
    gateway: str
    commands: tuple[tuple[str, ...], ...]
    offloads: bool = True


class Network:
    """`name` is what engines call it; `interface` is what nodes on it have to use where they see others too, or None."""

    interface: str | None = None

    def __init__(self, name: str):
        self.name = name

    def set_up(self, on) -> None:
        """Make it on the node `on`, unless it is there; Unavailable if that fails."""

    def connect(self, node) -> None:
        """Put a node that has just started on it; Unavailable if that fails. Most engines have done so."""

    def plug(self) -> Plug:
        """A place for one more guest of this host; Unavailable if guests cannot be on this network."""
        raise Unavailable(f"a virtual machine cannot be on the network {self.name}")

    def give_back(self, processes: Collection[int]) -> None:
        """Give back what nodes have of it that have ended, if nobody has done so; nodes are called by the numbers of their
        processes. Unavailable if that fails."""

    def sweep(self) -> None:
        """Remove it from this host after a killed run; what is still on it keeps it."""


class HostNetwork(Network):
    """The host's interfaces and ports: there is nothing to make, and nothing to remove.

    Nodes see all interfaces of the host, bridges of container engines among them. Two ranks that reach each other over several
    at once wait for each other for ever (Open MPI 4.1.4), so they have to be told one.
    """

    def __init__(self):
        super().__init__("host")

    @property
    def interface(self) -> str:
        """The interface of the default route; without one, the loopback."""
        rows = (line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:])
        return next((name for name, destination, *_ in rows if destination == "00000000"), "lo")
