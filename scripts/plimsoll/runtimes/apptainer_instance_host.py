"""Singularity instances on the host's network, for users who cannot make networks because that takes root."""

from pathlib import Path

from plimsoll.runtimes import mounts
from plimsoll.runtimes.apptainer import Singularity
from plimsoll.runtimes.apptainer_instance import SingularityInstance
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.runtimes.privileges import Privileges

START = Path(__file__).with_name("instance-start.sh")


class SingularityInstanceOnHost(SingularityInstance):
    """Singularity instances with one thing changed: they have no network namespace of their own.

    Without privileges each instance is in a user namespace of its own, from the unpacked image.
    """

    name = "singularity-instance-host-network"
    label = "Singularity instance on the host's network"
    colour, hatch = "#8c6d1f", "|"
    network = HostNetwork()
    variant_of = "singularity-instance"
    unpacked = Singularity.unpacked

    def privileges(self) -> Privileges:
        """Return what `apptainer instance start` gives without a network."""
        return super().privileges()._replace(shares=("ipc", "net", "user"), why="instances without `--net`, which takes root")

    def check(self) -> str:
        """Return the version of plain Singularity. Nothing needs root."""
        return Singularity().check()

    def apart(self, spec) -> list[str]:
        """Return no option for a network. For an unpacked image, return the mount of a start script that Apptainer's
        own images have."""
        return mounts.bind(START, "/.singularity.d/actions/start") if self.unpacked else []


RUNTIMES = (SingularityInstanceOnHost(),)
