"""The networks that are made on this host for a run, and removed with it."""

from plimsoll.interchange import SecondHost
from plimsoll.runtimes.networks.far_host import Link
from plimsoll.runtimes.networks.host_bridge import HostBridge
from plimsoll.runtimes.networks.second_host import ByName
from plimsoll.runtimes.networks.switch_network import OpenVSwitch, SwitchNetwork

# Bridge by which a parent on the host's network connects its children.
CHILDREN = HostBridge("plimsoll-child")
# Link to the namespace that stands for a second host.
LINK = Link()
# The same link, as fast as the host is.
UNSHAPED = Link(shaped=False)
# Network to a second host that is another machine. Here it only sweeps what any such network has left.
BY_NAME = ByName()
# Switch that connects containers of different kinds, and a bridge that is treated alike.
SWITCH, PLAIN_BRIDGE = OpenVSwitch("plimsoll-ovs"), SwitchNetwork("plimsoll-br")


def way(second: SecondHost | None, shaped: bool = True) -> Link | ByName:
    """Return the network to the second host of a plan.

    `second` describes another machine. Without it a namespace stands for the second host, behind a link that is
    `shaped` or not.
    """
    if second:
        return ByName(second["name"])
    return LINK if shaped else UNSHAPED


ALL = (CHILDREN, LINK, SWITCH, PLAIN_BRIDGE, BY_NAME)
