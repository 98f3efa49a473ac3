"""Containers that a run keeps running, in a group of their own where this user may make one."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.measuring.process import ended_within, kill
from plimsoll.runtimes.base import LABEL, Node, Runtime, Spec
from plimsoll.workloads.base import Role

# Time limit for a server to listen (s).
LISTENING = 20.0
# Waits until the kernel's list of sockets has a port.
LOOKING = 'until grep -q -e "$0" /proc/net/tcp; do sleep 0.02; done'


class Services:
    """The containers of one run, in a runtime that has `services`.

    `run` is the run's identity. `folder` has the same path in all containers.
    """

    def __init__(self, runtime: Runtime, run: str, folder: Path):
        self.runtime, self.run, self.folder = runtime, run, folder
        # This user's engine could make a group, but the user may not remove it: it would stay.
        self.group = runtime.group_of(run) if cgroup.may_make("memory", cgroup.mounts()) else None
        self._up: dict[str, Node] = {}
        self._groups: list[Path] = []
        # Whether the processor time of every started container is counted.
        self.counted = True

    def limit(self, limits: Mapping) -> None:
        """Make the group of all containers, with their common limits: `cpus`, `nodes` and `memory_bytes`. Raise
        Unavailable if the kernel refuses."""
        try:
            cgroup.make_limited(self.group, limits, cgroup.mounts())
        except OSError as problem:
            raise Unavailable(f"the group of all containers could not be limited: {problem}") from problem

    def name(self, what: str) -> str:
        """Return a container's name on the machine."""
        return f"{LABEL}-{self.run}-{what}"

    def spec(self, what: str, image: Mapping[str, str], **more) -> Spec:
        """Return the specification of a container of this run. `more` are fields of the Spec."""
        usual = {"folder": self.folder, "group": self.group}
        return Spec(run=self.run, name=self.name(what), image=image, **{**usual, **more})

    def start(self, specs: Sequence[Spec]) -> list[Node]:
        """Start containers at the same time, and return their nodes.

        If one does not start, remove all of them and raise Unavailable.
        """
        nodes = self.runtime.start(specs)
        self._up.update({node.name: node for node in nodes})
        self._groups += [group for node in nodes for group in node.groups]
        self.counted = self.counted and not any(node.uncounted for node in nodes)
        return nodes

    def stop(self, nodes: Sequence[Node]) -> None:
        """Stop these containers."""
        self.runtime.stop(nodes)
        for node in nodes:
            del self._up[node.name]

    def fill(self, role: Role, image: Mapping[str, str], **more) -> Node:
        """Start the node of a role, wait until its program listens, and return the node. `more` are fields of the Spec.

        Raise Unavailable if the program does not listen.
        """
        (node,) = self.start([self.spec(role.name, image, command=role.command, **more)])
        wait_for(node, role)
        return node

    def groups(self) -> list[Path]:
        """Return the cgroups that count the containers' processor time.

        The group of a removed container no longer gives its time, but the group of all containers keeps it. So that one
        is taken where it exists in the hierarchy that counts time.
        """
        root = cgroup.accounting_folder(cgroup.mounts()) if self.group else None
        group = root / self.group.strip("/") if root else None
        return [group] if group and group.is_dir() else self._groups

    def intact(self) -> None:
        """Raise Outage if a container that was started no longer runs."""
        self.runtime.intact(list(self._up.values()))

    def stop_all(self) -> None:
        """Stop all containers that run."""
        if self._up:
            self.runtime.stop(list(self._up.values()))
            self._up.clear()

    def take_down(self) -> None:
        """Stop all containers that run, and remove the group. Raise Unavailable if that fails."""
        self.stop_all()
        if self.group:
            cgroup.remove(self.group.strip("/"))


def all_counted(*of_run: Services | None) -> bool:
    """Whether the processor time of all containers of a run is counted. If it is not, it cannot be separated from other
    programs' time.

    A run without containers counts as True.
    """
    return all(services.counted for services in of_run if services)


def wait_for(node: Node, role: Role) -> None:
    """Wait until the program of a role listens in a node. Raise Unavailable if it does not."""
    looking = ["sh", "-c", LOOKING, f":{role.port:04X} "]
    # On another machine the search would not end together with the command here, so it has a time limit of its own.
    listens = node.inside(["timeout", str(LISTENING), *looking])
    process = subprocess.Popen(listens, stdin=subprocess.DEVNULL)
    try:
        ended_within(process.pid, LISTENING)
    finally:
        code = kill(process)
    if code:
        raise Unavailable(f"the {role.name} '{' '.join(role.command)}' did not listen within {LISTENING:g} s")
