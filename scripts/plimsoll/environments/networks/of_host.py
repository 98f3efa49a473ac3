"""The networks that are made on this host for a run, and removed with it."""

from plimsoll.environments.networks.far_host import Link
from plimsoll.environments.networks.host_bridge import HostBridge
from plimsoll.environments.networks.wired import OpenVSwitch, Wired

# What a parent on the host's network connects its children by.
CHILDREN = HostBridge("plimsoll-child")
# The way to the second host.
LINK = Link()
# Containers of different kinds meet at it; and a bridge that is treated alike.
SWITCH, PLAIN_BRIDGE = OpenVSwitch("plimsoll-ovs"), Wired("plimsoll-br")
ALL = (CHILDREN, LINK, SWITCH, PLAIN_BRIDGE)
