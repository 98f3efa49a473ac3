"""Singularity+cgroup: plain Singularity, with the programs of each container in a cpu cgroup of its own.

The cgroups are children of one parent, as in liu2020 (section 4.3), and set no limit. Their shape is the same as
Docker's.
"""

from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes.apptainer import Apptainer, Singularity, execute
from plimsoll.runtimes.base import HOST, LABEL, Node, Spec, binding_kept, join, needs_root, without_variables
from plimsoll.runtimes.cpuset_node import confine, parent


class GroupNode(Node):
    """Node with cgroups that each program joins before it brings its own mount namespace."""

    kind = "singularity"
    separate = False

    def __init__(self, spec: Spec, on: Node, joined: list[Path]):
        super().__init__(spec.name, on, spec=spec)
        self.joined = joined

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """Return the words of `apptainer exec` in the cgroups."""
        prefix = [*join(self.joined), *without_variables(without), *execute(self.spec, folder=folder)]
        return [*(binding_kept(prefix) if keep_binding else prefix), *program]


class SingularityCgroup(Apptainer):
    """Plain Singularity in cpu cgroups."""

    name = "singularity-cgroup"
    label = "Singularity+cgroup"
    colour, hatch = "#cc79a7", "xx"

    def check(self) -> str:
        """Return Singularity's version. Raise Unavailable if cgroups cannot be made here."""
        needs_root("making cpu cgroups")
        if cgroup.cpu_root(cgroup.mounts()) is None:
            raise Unavailable("no cgroup file system with a cpu controller is mounted")
        return Singularity().check()

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the cgroups, and the cpusets that the places need. Raise Unavailable if that fails."""
        try:
            groups = cgroup.make(parent(specs[0]), [f"c{i}" for i in range(len(specs))], cgroup.mounts())
        except OSError as error:
            cgroup.remove(parent(specs[0]))
            raise Unavailable(f"a cpu cgroup could not be made: {error}") from error
        home, cpusets = confine(specs, on)
        # On cgroup version 2 the cpuset is the same cgroup.
        joined = [list(dict.fromkeys(pair)) for pair in zip(groups, cpusets or groups, strict=True)]
        return [GroupNode(spec, home, own) for spec, own in zip(specs, joined, strict=True)]

    def stop(self, nodes) -> None:
        cgroup.remove(parent(nodes[0].spec))

    def sweep(self) -> None:
        cgroup.remove(LABEL)


RUNTIMES = (SingularityCgroup(),)
