"""Podman for users other than root: containers in one user namespace, on a bridge in a network namespace of the
user's.

It has storage of its own, beside the user's other containers. Their storage driver stays as the user chose it.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import Unavailable
from plimsoll.host import private, processes
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.namespaces import refuse_without_user_namespaces
from plimsoll.runtimes.networks.engine_bridge import EngineBridge
from plimsoll.runtimes.podman import Podman
from plimsoll.runtimes.privileges import Privileges

TUN = Path("/dev/net/tun")
# Folders of Podman's data. RUNROOT is short, because paths of sockets must be short.
STORAGE, RUNROOT = paths.image_store().parent / "containers", Path(f"/tmp/.plimsoll-podman-{os.geteuid()}")
# Programs that connect a user's own network to the host's, each with its Debian package. One of them runs while a
# container is up.
OUTWARD = {"slirp4netns": "slirp4netns", "pasta": "passt"}
# Groups of programs, each with its Debian package. One program of each group must be installed.
BUILDING = ({"podman": "podman"}, {"runc": "runc"}, {"newuidmap": "uidmap"})
RUNNING = (OUTWARD, {"netavark": "netavark"}, {"aardvark-dns": "aardvark-dns"}, {"ip": "iproute2"})
# Script that prints those of its arguments that are the network namespace in which it runs.
THIS_NETWORK = 'for path; do if [ "$path" -ef /proc/self/ns/net ]; then echo "$path"; fi; done'
# Folders besides the PATH in which Podman finds helpers.
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
    # Files that a container writes belong to this user on the host.
    user_namespace = "keep-id"

    def privileges(self) -> Privileges:
        """Return what Podman gives by default in a user namespace."""
        return super().privileges()._replace(effective=False, shares=())

    def check(self) -> str:
        """Return the version of Podman and the name of its OCI runtime. Raise Unavailable with what is missing for
        this user."""
        version = self.check_building()
        _refuse_missing(RUNNING)
        if not os.access(TUN, os.R_OK | os.W_OK):
            raise Unavailable(f"this user may not use {TUN}, which the network of its containers takes")
        return version

    def check_building(self) -> str:
        """Return the version as `check` does, without what the containers' own network needs. A build does without
        that network. Raise Unavailable for root, and with what is missing for this user."""
        if not os.geteuid():
            raise Unavailable("it is for other users than root")
        _refuse_missing(BUILDING)
        refuse_without_user_namespaces()
        private.make(RUNROOT)
        asked = "Podman {{.Version.Version}} ({{.Host.OCIRuntime.Name}})"
        return output([*self.command, "info", "--format", asked], 60).strip()

    def refuse(self, features) -> None:
        """Raise Unavailable if containers are not on a bridge, each in a network namespace of its own. Ranks need
        both."""
        if "net" not in features["separate_namespaces"] or not features["network"].startswith("bridge "):
            raise Unavailable("its containers are not on a bridge, each in a network namespace of its own")

    def bridges(self) -> dict[int, str]:
        """Return the bridges in the user's own network, by the number of the interface that is a port."""
        links = json.loads(self._in_network("ip", "-json", "link"))
        return {link["ifindex"]: link["master"] for link in links if "master" in link}

    def outward(self) -> str:
        """Return, in words, which program connects the user's own network to the outside. It is a program with that
        network in its command line."""
        running = {number: name for name in OUTWARD for number in processes.beginning(name, os.geteuid())}
        told = {path: name for number, name in running.items() for path in processes.words(number) if path.startswith("/")}
        # The user may run other such programs, which serve other networks.
        serving = self._in_network("sh", "-c", THIS_NETWORK, "sh", *told).split()
        leads = " and ".join(sorted({told[path] for path in serving})) or "nothing"
        return f"in the user's own network, {leads} to the outside"

    def _in_network(self, *words: str) -> str:
        """Return the output of a command in the user's own network, which exists while a container is up. Raise
        Unavailable if it fails."""
        return output([*self.command, "unshare", "--rootless-netns", *words])

    def start(self, specs, on=HOST) -> list[Node]:
        """Start all containers as every engine does, from a folder that only this user may enter."""
        private.make(RUNROOT)
        return super().start(specs, on)

    def for_this_user(self) -> bool:
        """Return whether this user is not root and has ever had containers of this runtime."""
        return bool(os.geteuid()) and STORAGE.is_dir()


def _refuse_missing(wanted: Sequence[Mapping[str, str]]) -> None:
    """Raise Unavailable if one of the groups of programs has none that is installed. The message names the group's
    programs and their packages."""
    path = os.pathsep.join([os.environ.get("PATH", ""), HELPERS])
    for programs in wanted:
        if not any(shutil.which(program, path=path) for program in programs):
            what = " or ".join(f"{program} (Debian's package {package})" for program, package in programs.items())
            raise Unavailable(f"{what} is not installed")


RUNTIMES = (PodmanRootless(),)
