"""A device of this host that a network is made of for a run."""

from ipaddress import IPv4Network
from pathlib import Path

from plimsoll.environments.base import output
from plimsoll.environments.networks import firewall
from plimsoll.errors import Unavailable


def exists(device: str) -> bool:
    """Whether this host has the device."""
    return Path(f"/sys/class/net/{device}").exists()


def bring_up(device: str, subnet: IPv4Network) -> None:
    """Give it the first address of a subnet, and let the host hand on its packets; Unavailable if that fails."""
    output(["ip", "address", "add", f"{subnet[1]}/{subnet.prefixlen}", "dev", device])
    output(["ip", "link", "set", device, "up"])
    firewall.hand_on(device)


def delete(device: str) -> None:
    """Delete it; Unavailable if that fails. The kernel may be at it: those of a container go with it."""
    try:
        output(["ip", "link", "delete", device])
    except Unavailable:
        if exists(device):
            raise


def sweep(device: str) -> None:
    """Delete it with the firewall's rules for it, if it is there."""
    if exists(device):
        firewall.no_longer(device)
        delete(device)
