"""Podman for users other than root: containers in one user namespace of the user's, on a bridge in a network namespace of it.

It has storage of its own, beside the user's other containers: a driver that was chosen for these stays theirs.
"""

import os
import shutil
from functools import cached_property
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.networks.engine_bridge import EngineBridge
from plimsoll.environments.podman import Podman
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, private, processes

TUN = Path("/dev/net/tun")
# Of paths: those of sockets must be short.
STORAGE, RUNROOT = paths.image_store().parent / "containers", Path(f"/tmp/.plimsoll-podman-{os.geteuid()}")
# What leads from a user's own network to the host's; one of them runs while a container is up.
OUTWARD = ("slirp4netns", "pasta")
# Programs, each in Debian's package of that name but one.
BUILDING = {"podman": "podman", "runc": "runc", "newuidmap": "uidmap"}
RUNNING = {"slirp4netns": "slirp4netns", "netavark": "netavark", "aardvark-dns": "aardvark-dns"}
# Where Podman finds helpers, besides the PATH.
HELPERS = "/usr/libexec/podman:/usr/local/libexec/podman:/usr/lib/podman:/usr/local/lib/podman"


class PodmanRootless(Podman):
    """Podman without root, with its default seccomp profile."""

    name = "podman-rootless"
    label = "Podman without root"
    colour, hatch = "#e7a17a", "++"
    command = (
        *("podman", "--root", str(STORAGE), "--runroot", str(RUNROOT), "--storage-driver", "overlay"),
        *("--runtime", "runc", "--cgroup-manager", "cgroupfs"),
    )
    network = EngineBridge(command, first=177)
    daemons = (*Podman.daemons, *OUTWARD, "fuse-overlayfs")
    steps = ("devices.sh",)
    packages = (*Podman.packages, "uidmap", "slirp4netns")
    variant_of = "podman"
    own_places = False
    uncountable = True

    def check(self) -> str:
        """Version of Podman and what runs its containers; Unavailable with what it lacks for this user."""
        version = self.check_building()
        _refuse_missing(RUNNING)
        if not os.access(TUN, os.R_OK | os.W_OK):
            raise Unavailable(f"this user may not use {TUN}, which the network of its containers takes")
        return version

    def check_building(self) -> str:
        """The same without a network of its own, which a build does without."""
        if not os.geteuid():
            raise Unavailable("it is for other users than root")
        _refuse_missing(BUILDING)
        private.make(RUNROOT)
        asked = "Podman {{.Version.Version}} ({{.Host.OCIRuntime.Name}})"
        return output([*self.command, "info", "--format", asked], 60).strip()

    def network_seen(self) -> str:
        """A bridge in a network namespace of the user's, and which program leads out of that."""
        running = [name for name in OUTWARD if processes.named([name], os.geteuid())]
        return f"bridge {self.network.name} in the user's own network, {' and '.join(running) or 'nothing'} to the outside"

    def _groups(self, spec, identity) -> list[Path]:
        """The group of a container's first process, unless it is that of whoever started it: then nobody counts it."""
        process = output([*self.command, "inspect", "--format", "{{.State.Pid}}", spec.name]).strip()
        return cgroup.apart(int(process), cgroup.mounts())

    def start(self, specs, on=HOST) -> list[Node]:
        """As every engine, from a folder that is this user's alone."""
        private.make(RUNROOT)
        return super().start(specs, on)

    def for_this_user(self) -> bool:
        """Another user than root who has ever had one."""
        return bool(os.geteuid()) and STORAGE.is_dir()

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Files that it writes are this user's on the host."""
        return (*super().options, "--userns", "keep-id")


def _refuse_missing(programs: dict[str, str]) -> None:
    """Unavailable if one of the programs is not installed; each is named with its package."""
    for program, package in programs.items():
        if not shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), HELPERS])):
            raise Unavailable(f"{program} is not installed (Debian's package {package})")


ENVIRONMENTS = (PodmanRootless(),)
