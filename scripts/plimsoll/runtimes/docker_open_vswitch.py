"""Docker on Open vSwitch: containers start without a network, and are then connected to the switch (amaral2015,
section IV-E)."""

from plimsoll.host import topology
from plimsoll.runtimes.base import needs_root
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.networks import host_networks, switch_network


class DockerOpenVSwitch(Docker):
    """Docker with one thing changed: its containers are connected by another switch."""

    name = "docker-open-vswitch"
    label = "Docker on Open vSwitch"
    colour, hatch = "#44aa99", "oo"
    network = host_networks.SWITCH
    packages = ("openvswitch-switch", "ethtool")
    variant_of = "docker"

    def check(self) -> str:
        """Return the versions of the engine and of the switch, and whether the switch works in the kernel or in user
        space. Raise Unavailable without root, or if another Open vSwitch uses the kernel."""
        needs_root("making switches")
        switch_network.refuse_another()
        version = output(["ovs-vswitchd", "--version"]).splitlines()[0].split()[-1]
        output(["ethtool", "--version"])
        return f"{super().check()}, Open vSwitch {version} in {'the ' * switch_network.in_kernel()}{topology.open_vswitch()}"

    def programs(self) -> tuple[str, ...]:
        return (*super().programs(), "ovs-vswitchd")

    def examine(self, image) -> None:
        """Raise Outage if what Docker needs fails. The switch is not examined, because every run makes it."""
        self.refuse_silent()
        self.refuse_idle(image["id"])

    def stop(self, nodes) -> None:
        super().stop(nodes)
        self.network.sweep()


RUNTIMES = (DockerOpenVSwitch(),)
