"""A bridge on this host that no engine manages, for an engine that must leave the host's firewall alone."""

from plimsoll.runtimes.base import HOST
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import device
from plimsoll.runtimes.networks.base import Network
from plimsoll.runtimes.networks.subnets import free_subnet

# Second number of the first subnet of these bridges. It keeps them apart from the engines' networks.
FIRST = 127


class HostBridge(Network):
    """Bridge that is made for a run, and removed with it. `device` is its name on this host."""

    def __init__(self, name: str):
        super().__init__("bridge")
        self.device = name

    def set_up(self, on=HOST) -> None:
        """Remove the bridge and make it again, with an address of the host, and let the host forward its packets.
        Raise Unavailable if that fails."""
        self.sweep()
        subnet = free_subnet(f"the bridge {self.device}", FIRST)
        output(["ip", "link", "add", self.device, "type", "bridge"])
        device.bring_up(self.device, subnet)

    def sweep(self) -> None:
        device.sweep(self.device)
