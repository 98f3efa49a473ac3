"""A bridge on this host that no engine manages: for an engine that must leave the host's firewall alone."""

from plimsoll.environments.base import HOST, output
from plimsoll.environments.networks import device
from plimsoll.environments.networks.base import Network
from plimsoll.environments.networks.subnets import free_subnet

# Where the subnets of these bridges begin: apart from the engines'.
FIRST = 127


class HostBridge(Network):
    """`device` is the bridge's name on this host. It is made for a run, and removed with it."""

    def __init__(self, name: str):
        super().__init__("bridge")
        self.device = name

    def set_up(self, on=HOST) -> None:
        """Make it anew, with the host's address on it, and let the host hand on its packets; Unavailable if that fails."""
        self.sweep()
        subnet = free_subnet(f"the bridge {self.device}", FIRST)
        output(["ip", "link", "add", self.device, "type", "bridge"])
        device.bring_up(self.device, subnet)

    def sweep(self) -> None:
        device.sweep(self.device)
