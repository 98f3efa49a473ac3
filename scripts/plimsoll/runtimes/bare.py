"""Bare metal: the image's files, with their own loader and libraries, in no container."""

import os
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes import rootfs, segments
from plimsoll.runtimes.base import HOST, LABEL, Node, Runtime, binding_kept, join, without_variables
from plimsoll.runtimes.cpuset_node import confine, release
from plimsoll.runtimes.privileges import NAMESPACES, Privileges


class BareNode(Node):
    """The host itself, or a cpuset of it."""

    kind = "host"
    separate = False

    def __init__(self, spec, on, cpusets: list[Path]):
        super().__init__(spec.name, on, spec=spec)
        self.root, self.cpusets = Path(spec.image["rootfs"]), cpusets

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        prefix = join(self.cpusets) if self.cpusets else []
        return [*(binding_kept(prefix) if prefix and keep_binding else prefix), *without_variables(without), *program]

    def of_image(self, program, preload=None) -> list[str]:
        """Return the words that start a program of the image through the image's loader."""
        return rootfs.loader_command(self.root, *program, preload=preload)


class Bare(Runtime):
    """Bare metal, the baseline of all comparisons."""

    name = "bare"
    label = "Bare metal"
    colour, hatch = "#4d4d4d", ""
    has_containers = False
    bound = True

    def privileges(self) -> Privileges:
        """Return what every process of the user may do."""
        return Privileges(gains=True, shares=NAMESPACES, mounts=("everything",), why="it is the host, and no container")

    def check(self) -> str:
        """Return the kernel's release."""
        return f"Linux {os.uname().release}"

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the cpusets that the places need."""
        home, cpusets = confine(specs, on)
        return [BareNode(spec, home, cpusets[i : i + 1]) for i, spec in enumerate(specs)]

    def stop(self, nodes) -> None:
        release(nodes)

    def sweep(self) -> None:
        """Remove what a run made on this host for networks, the shared memory of ranks, and cgroups.

        Raise Unavailable, with the first problem, if a network or a cgroup stays.
        """
        from plimsoll.runtimes.networks import host_networks  # here, because almost no start of the workflow sweeps

        problems = []
        # Only root makes such networks.
        for network in host_networks.ALL if not os.geteuid() else ():
            try:
                network.sweep()
            except Unavailable as problem:
                problems.append(problem)
        segments.remove_unused()
        cgroup.remove(LABEL)
        if problems:
            raise problems[0]


RUNTIMES = (Bare(),)
