"""Nodes whose programs are children of the process that starts them, confined to their places by cpusets."""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup, topology
from plimsoll.runtimes.base import HOST, LABEL, Node, Spec, join, without_variables


class CpusetNode(Node):
    """The node `on`, confined to some of its processors and memory nodes."""

    kind = "cpuset"
    separate = False

    def __init__(self, on: Node, prefix: list[str], by_binding: bool = False):
        super().__init__(on.name, on)
        self.prefix, self.by_binding = prefix, by_binding

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return [*self.prefix, *without_variables(without), *program]


def parent(spec: Spec) -> str:
    """Return the cgroup under which all cgroups of a run are."""
    return f"{LABEL}/{spec.run}"


def confine(specs: Sequence[Spec], on: Node = HOST) -> tuple[Node, list[Path]]:
    """Make cpusets for nodes at their places. Return the node from which to start programs, and each node's cpuset.

    The list of cpusets is empty if the nodes need none or share one. Nodes at the same place share one with the
    process that starts programs in them. Without the right to make cpusets, a binding (taskset) keeps programs on
    their processors. That works for nodes at one place that may use all memory nodes. Raise Unavailable for other
    nodes.
    """
    places = list(dict.fromkeys(spec.place for spec in specs))
    if places == [None]:
        return on, []
    apart = len(places) > 1
    wanted = [spec.place for spec in specs] if apart else places
    named = [{"cpus": place.cpus, "nodes": place.nodes} for place in wanted]
    try:
        cpusets = cgroup.make_cpusets(parent(specs[0]), named, cgroup.mounts())
    except OSError as error:
        cgroup.remove(parent(specs[0]))
        if apart or places[0].nodes != topology.everything_here()["nodes"]:
            raise Unavailable(f"a cpuset could not be made: {error}") from error
        return CpusetNode(on, ["taskset", "-c", places[0].cpus], by_binding=True), []
    return (on, cpusets) if apart else (CpusetNode(on, join(cpusets)), [])


def release(nodes: Sequence[Node]) -> None:
    """Remove the cgroups of the nodes' run, if it has any."""
    specs = [node.spec for node in nodes]
    if specs and any(spec.place for spec in specs):
        cgroup.remove(parent(specs[0]))
