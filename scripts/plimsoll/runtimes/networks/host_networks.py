"""The networks that are made on this host for a run, and removed with it."""

from pathlib import Path

from plimsoll.interchange import SecondHost
from plimsoll.runtimes.base import HOST, Host, without_variables
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import device, firewall
from plimsoll.runtimes.networks.base import Network
from plimsoll.runtimes.networks.second_host import ByName
from plimsoll.runtimes.networks.subnets import free_subnet
from plimsoll.runtimes.networks.switch_network import OpenVSwitch, SwitchNetwork

# Second numbers of the first subnets of bridges and of links. They keep them apart from the engines' networks.
OF_BRIDGES, OF_LINKS = 127, 177
# Namespace of this host that stands for a second host. The ends of the link to it: on this host, and in the namespace.
NAMESPACE = "plimsoll-far"
NEAR, FAR = "plimsoll-near", "plimsoll-far"
# Speed of the paper's network card. The queue holds what the link transmits in 5 ms.
SHAPED = ("tbf", "rate", "1gbit", "burst", "128kb", "latency", "5ms")


class HostBridge(Network):
    """Bridge on this host that no engine manages, for an engine that must leave the host's firewall alone.

    It is made for a run, and removed with it. `device` is its name on this host.
    """

    def __init__(self, name: str):
        super().__init__("bridge")
        self.device = name

    def set_up(self, on=HOST) -> None:
        """Remove the bridge and make it again, with an address of the host, and let the host forward its packets.
        Raise Unavailable if that fails."""
        self.sweep()
        subnet = free_subnet(f"the bridge {self.device}", OF_BRIDGES)
        output(["ip", "link", "add", self.device, "type", "bridge"])
        device.bring_up(self.device, subnet)

    def sweep(self) -> None:
        device.sweep(self.device)


class FarHost(Host):
    """Node in the namespace. Programs use this host's processors and files, and a network of their own."""

    kind = "far host"

    def __init__(self, address: str):
        super().__init__(NAMESPACE)
        self.address = address

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        # `ip netns exec` would mount another /sys.
        chdir = ["env", f"--chdir={folder}"] if folder else []
        return [*without_variables(without), "nsenter", f"--net=/run/netns/{NAMESPACE}", *chdir, *program]


class Link(Network):
    """Link between this host and the namespace: as fast as a network card (`shaped`), or as fast as the host can.

    It is made for a run, and removed with it.
    """

    def __init__(self, shaped: bool = True):
        super().__init__("link")
        self.shaped = shaped

    def set_up(self, on=HOST) -> None:
        """Remove both ends of the link, and make them again. Raise Unavailable if that fails."""
        self.sweep()
        subnet = free_subnet("a link to a second host", OF_LINKS)
        output(["ip", "netns", "add", NAMESPACE])
        output(["ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", NAMESPACE])
        for address, end, there in ((subnet[1], NEAR, []), (subnet[2], FAR, ["-n", NAMESPACE])):
            output(["ip", *there, "address", "add", f"{address}/{subnet.prefixlen}", "dev", end])
            output(["ip", *there, "link", "set", end, "up"])
            if self.shaped:
                output(["tc", *there, "qdisc", "add", "dev", end, "root", *SHAPED])
        output(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"])
        output(["ip", "-n", NAMESPACE, "route", "add", "default", "via", str(subnet[1])])
        firewall.hand_on(NEAR)
        self.far = FarHost(str(subnet[2]))

    def sweep(self) -> None:
        device.sweep(NEAR)
        if Path(f"/run/netns/{NAMESPACE}").exists():
            output(["ip", "netns", "delete", NAMESPACE])


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
