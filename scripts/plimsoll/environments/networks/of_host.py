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
# The same, as fast as the host is.
UNSHAPED = Link(shaped=False)
# What is left of the way to one that is another machine.
BY_NAME = ByName()
# Containers of different kinds meet at it; and a bridge that is treated alike.
SWITCH, PLAIN_BRIDGE = OpenVSwitch("plimsoll-ovs"), Wired("plimsoll-br")


def way(second: SecondHost | None, shaped: bool = True) -> Link | ByName:
    """The network to the second host of a plan: the other machine, or the namespace that stands for one, behind a link that is
    `shaped` or not."""
    if second:
        return ByName(second["name"])
    return LINK if shaped else UNSHAPED


ALL = (CHILDREN, LINK, SWITCH, PLAIN_BRIDGE, BY_NAME)
