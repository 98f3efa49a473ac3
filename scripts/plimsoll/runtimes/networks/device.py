"""Devices of this host that networks are made of for a run."""

from ipaddress import IPv4Network
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import firewall


def exists(device: str) -> bool:
    """Return whether this host has the device."""
    return Path(f"/sys/class/net/{device}").exists()


def bring_up(device: str, subnet: IPv4Network) -> None:
    """Give a device the first address of a subnet, and let the host forward its packets. Raise Unavailable if that
    fails."""
    output(["ip", "address", "add", f"{subnet[1]}/{subnet.prefixlen}", "dev", device])
    output(["ip", "link", "set", device, "up"])
    firewall.hand_on(device)


def delete(device: str) -> None:
    """Delete a device. Raise Unavailable if that fails and the device still exists: the kernel may delete it first,
    with its container."""
    try:
        output(["ip", "link", "delete", device])
    except Unavailable:
        if exists(device):
            raise


def sweep(device: str) -> None:
    """Delete a device and the firewall's rules for it, if it exists."""
    if exists(device):
        firewall.no_longer(device)
        delete(device)
