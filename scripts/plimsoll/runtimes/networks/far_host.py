"""A second host: a network namespace of this host, behind a link that may be shaped to the speed of a network card."""

from pathlib import Path

from plimsoll.runtimes.base import HOST, Host, without_variables
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.networks import device, firewall
from plimsoll.runtimes.networks.base import Network
from plimsoll.runtimes.networks.subnets import free_subnet

NAMESPACE = "plimsoll-far"
# Ends of the link: on this host, and in the namespace.
NEAR, FAR = "plimsoll-near", "plimsoll-far"
# Speed of the paper's network card. The queue holds what the link transmits in 5 ms.
SHAPED = ("tbf", "rate", "1gbit", "burst", "128kb", "latency", "5ms")
FIRST = 177


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
        subnet = free_subnet("a link to a second host", FIRST)
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
