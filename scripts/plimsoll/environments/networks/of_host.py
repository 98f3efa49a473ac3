"""The networks that are made on this host for a run, and removed with it."""

from plimsoll.environments.networks.far_host import Link
from plimsoll.environments.networks.host_bridge import HostBridge
from plimsoll.environments.networks.second_host import ByName
from plimsoll.environments.networks.wired import OpenVSwitch, Wired
from plimsoll.interchange import SecondHost

# What a parent on the host's network connects its children by.
CHILDREN = HostBridge("plimsoll-child")
# The way to the second host.
LINK = Link()
# What is left of the way to one that is another machine.
BY_NAME = ByName()
# Containers of different kinds meet at it; and a bridge that is treated alike.
SWITCH, PLAIN_BRIDGE = OpenVSwitch("plimsoll-ovs"), Wired("plimsoll-br")


def way(second: SecondHost | None) -> Link | ByName:
    """The network to the second host of a plan: the other machine, or the namespace that stands for one."""
    return ByName(second["name"]) if second else LINK


ALL = (CHILDREN, LINK, SWITCH, PLAIN_BRIDGE, BY_NAME)
