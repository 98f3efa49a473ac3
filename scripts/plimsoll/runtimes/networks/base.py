"""Base class of networks, and the host's own network."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import Unavailable

# Length of the prefix of our networks' addresses. It leaves room for thousands of nodes.
PREFIX = 20


class Plug(NamedTuple):
    """How a guest gets on a network.

    - `address` is the guest's, with the length of the network's prefix.
    - `gateway` is the address of its gateway.
    - `commands` on this host put a device into the network. DEVICE in them stands for the device's name.
    - `offloads`: without them the sender has to make checksums and segments itself.
    """

    address: str
    gateway: str
    commands: tuple[tuple[str, ...], ...]
    offloads: bool = True


class Network:
    """Network that nodes are on.

    `name` is what engines call it. `interface` is the interface that nodes on it have to use where they see several,
    or None.
    """

    interface: str | None = None

    def __init__(self, name: str):
        self.name = name

    def set_up(self, on) -> None:
        """Make the network on the node `on` if it is missing there. Raise Unavailable if that fails."""

    def connect(self, node) -> None:
        """Connect a node that has just started to the network. Raise Unavailable if that fails. Most engines have
        connected their nodes already."""

    def plug(self) -> Plug:
        """Return a place for one more guest of this host. Raise Unavailable if guests cannot be on this network."""
        raise Unavailable(f"a virtual machine cannot be on the network {self.name}")

    def give_back(self, processes: Collection[int]) -> None:
        """Release what ended nodes hold of the network, if that was not done yet. Raise Unavailable if that fails.

        `processes` are the process numbers of these nodes.
        """

    def sweep(self) -> None:
        """Remove the network from this host after a killed run. A network that is still in use stays."""


class HostNetwork(Network):
    """The host's interfaces and ports. There is nothing to make, and nothing to remove.

    Nodes see all interfaces of the host, also the bridges of container engines. Two ranks that reach each other over
    several interfaces at once wait for each other for ever (Open MPI 4.1.4). So they need the name of one interface.
    """

    def __init__(self):
        super().__init__("host")

    @property
    def interface(self) -> str:
        """The interface of the default route. Without such a route it is the loopback."""
        rows = (line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:])
        return next((name for name, destination, *_ in rows if destination == "00000000"), "lo")
