"""Podman for users other than root: containers in one user namespace of the user's, on a bridge in a network namespace of it.

It has storage of its own, beside the user's other containers: a driver that was chosen for these stays theirs.
"""

import os
import shutil
from functools import cached_property
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import output
from plimsoll.environments.networks.engine_bridge import EngineBridge
from plimsoll.environments.podman import Podman
from plimsoll.errors import Unavailable

TUN = Path("/dev/net/tun")
# Of paths: those of sockets must be short.
STORAGE, RUNNING = paths.image_store().parent / "containers", Path(f"/tmp/.plimsoll-podman-{os.geteuid()}")
# The smallest number of further user IDs that files of Debian's packages take.
SUBORDINATE = 65536


class PodmanRootless(Podman):
    """Podman without root, with its default seccomp profile."""

    name = "podman-rootless"
    label = "Podman without root"
    colour, hatch = "#e7a17a", "++"
    command = (
        *("podman", "--root", str(STORAGE), "--runroot", str(RUNNING), "--storage-driver", "overlay"),
        *("--runtime", "runc", "--cgroup-manager", "cgroupfs"),
    )
    network = EngineBridge(command, first=177)
    daemons = (*Podman.daemons, "slirp4netns", "pasta", "fuse-overlayfs")
    packages = (*Podman.packages, "uidmap", "slirp4netns")
    variant_of = "podman"
    own_places = False

    def check(self) -> str:
        """Version of Podman and what runs its containers; Unavailable with what it lacks for this user."""
        if not os.geteuid():
            raise Unavailable("Podman without root is for other users than root")
        if not shutil.which("podman"):
            raise Unavailable("podman is not installed")
        if not shutil.which("newuidmap"):
            raise Unavailable("newuidmap is not installed (Debian's package uidmap)")
        if not os.access(TUN, os.R_OK | os.W_OK):
            raise Unavailable(f"this user may not use {TUN}, which the network of its containers takes")
        return output(
            [*self.command, "info", "--format", "Podman {{.Version.Version}} ({{.Host.OCIRuntime.Name}})"], 60
        ).strip()

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Files that it writes are this user's on the host."""
        return (*super().options, "--userns", "keep-id")


ENVIRONMENTS = (PodmanRootless(),)
