"""A bridge on this host that no engine manages: for an engine that must leave the host's firewall alone."""

from pathlib import Path

from plimsoll.environments.base import HOST, output
from plimsoll.environments.networks import firewall
from plimsoll.environments.networks.base import Network
from plimsoll.environments.networks.subnets import free_subnet

# Where the subnets of these bridges begin: apart from the engines'.
FIRST = 127


class HostBridge(Network):
    """`device` is the bridge's name on this host. It is made for a run, and removed with it."""

    def __init__(self, device: str):
        super().__init__("bridge")
        self.device = device

    def set_up(self, on=HOST) -> None:
        """Make it anew, with the host's address on it, and let the host hand on its packets; Unavailable if that fails."""
        self.sweep()
        subnet = free_subnet(f"the bridge {self.device}", FIRST)
        output(["ip", "link", "add", self.device, "type", "bridge"])
        output(["ip", "address", "add", f"{subnet[1]}/{subnet.prefixlen}", "dev", self.device])
        output(["ip", "link", "set", self.device, "up"])
        firewall.hand_on(self.device)

    def sweep(self) -> None:
        if Path(f"/sys/class/net/{self.device}").exists():
            firewall.no_longer(self.device)
            output(["ip", "link", "delete", self.device])
