"""Podman for users other than root: containers in one user namespace of the user's, on a bridge in a network namespace of it.

It has storage of its own, beside the user's other containers: a driver that was chosen for these stays theirs.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll import paths
from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.namespaces import refuse_without_user_namespaces
from plimsoll.environments.networks.engine_bridge import EngineBridge
from plimsoll.environments.podman import Podman
from plimsoll.errors import Unavailable
from plimsoll.host import private, processes

TUN = Path("/dev/net/tun")
# Of paths: those of sockets must be short.
STORAGE, RUNROOT = paths.image_store().parent / "containers", Path(f"/tmp/.plimsoll-podman-{os.geteuid()}")
# What leads from a user's own network to the host's, each with its Debian package; one of them runs while a container is up.
OUTWARD = {"slirp4netns": "slirp4netns", "pasta": "passt"}
# Programs of which one has to be there, each with its Debian package.
BUILDING = ({"podman": "podman"}, {"runc": "runc"}, {"newuidmap": "uidmap"})
RUNNING = (OUTWARD, {"netavark": "netavark"}, {"aardvark-dns": "aardvark-dns"}, {"ip": "iproute2"})
# Prints those of its arguments that are the network namespace that it is in.
THIS_NETWORK = 'for path; do if [ "$path" -ef /proc/self/ns/net ]; then echo "$path"; fi; done'
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
    packages = (*Podman.packages, "uidmap", "|".join(OUTWARD.values()))
    variant_of = "podman"
    own_places = False
    uncountable = True
    # Files that a container writes are this user's on the host.
    user_namespace = "keep-id"

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
        refuse_without_user_namespaces()
        private.make(RUNROOT)
        asked = "Podman {{.Version.Version}} ({{.Host.OCIRuntime.Name}})"
        return output([*self.command, "info", "--format", asked], 60).strip()

    def refuse(self, features) -> None:
        """Ranks reach each other on a bridge, and as nodes of their own."""
        if "net" not in features["separate_namespaces"] or not features["network"].startswith("bridge "):
            raise Unavailable("its containers are not on a bridge, each in a network namespace of its own")

    def bridges(self) -> dict[int, str]:
        """The bridges in the user's own network."""
        links = json.loads(self._in_network("ip", "-json", "link"))
        return {link["ifindex"]: link["master"] for link in links if "master" in link}

    def outward(self) -> str:
        """Which program leads out of the user's own network: one that was told which network that is."""
        running = {number: name for name in OUTWARD for number in processes.beginning(name, os.geteuid())}
        told = {path: name for number, name in running.items() for path in processes.words(number) if path.startswith("/")}
        # A user may have others, which serve other networks.
        serving = self._in_network("sh", "-c", THIS_NETWORK, "sh", *told).split()
        leads = " and ".join(sorted({told[path] for path in serving})) or "nothing"
        return f"in the user's own network, {leads} to the outside"

    def _in_network(self, *words: str) -> str:
        """What a command prints in the user's own network, which is there while a container is up."""
        return output([*self.command, "unshare", "--rootless-netns", *words])

    def start(self, specs, on=HOST) -> list[Node]:
        """As every engine, from a folder that is this user's alone."""
        private.make(RUNROOT)
        return super().start(specs, on)

    def for_this_user(self) -> bool:
        """Another user than root who has ever had one."""
        return bool(os.geteuid()) and STORAGE.is_dir()


def _refuse_missing(wanted: Sequence[Mapping[str, str]]) -> None:
    """Unavailable if of some programs none is installed; they are named with their packages."""
    path = os.pathsep.join([os.environ.get("PATH", ""), HELPERS])
    for programs in wanted:
        if not any(shutil.which(program, path=path) for program in programs):
            what = " or ".join(f"{program} (Debian's package {package})" for program, package in programs.items())
            raise Unavailable(f"{what} is not installed")


ENVIRONMENTS = (PodmanRootless(),)
