"""The containers that a run keeps up, in one group of their own where this user may make one."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll.environments.base import LABEL, Environment, Node, Spec
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.measuring.process import ended_within, kill
from plimsoll.workloads.base import Role

# How long a server may take to listen.
LISTENING = 20.0
# Looks for a port, as the kernel lists it.
LOOKING = 'until grep -q -e "$0" /proc/net/tcp; do sleep 0.02; done'


class Services:
    """Containers of the run `run` of an environment with `services`; `folder` is at the same path in all of them."""

    def __init__(self, environment: Environment, run: str, folder: Path):
        self.environment, self.run, self.folder = environment, run, folder
        # One that an engine makes for a user stays: the user may not remove it.
        self.group = environment.group_of(run) if cgroup.may_make("memory", cgroup.mounts()) else None
        self._up: dict[str, Node] = {}
        self._groups: list[Path] = []
        # Whether somebody counts the time of every container that was started.
        self.counted = True

    def limit(self, limits: Mapping) -> None:
        """Make the group of all containers, with `cpus`, `nodes` and `memory_bytes` of all together; Unavailable if refused."""
        try:
            cgroup.make_limited(self.group, limits, cgroup.mounts())
        except OSError as problem:
            raise Unavailable(f"the group of all containers could not be limited: {problem}") from problem

    def name(self, what: str) -> str:
        """What a container is called on the machine."""
        return f"{LABEL}-{self.run}-{what}"

    def spec(self, what: str, image: Mapping[str, str], **more) -> Spec:
        """A container of the run; `more` is the Spec's."""
        usual = {"folder": self.folder, "group": self.group}
        return Spec(run=self.run, name=self.name(what), image=image, **{**usual, **more})

    def start(self, specs: Sequence[Spec]) -> list[Node]:
        """Start containers side by side; Unavailable if one does not start, with none of them left."""
        nodes = self.environment.start(specs)
        self._up.update({node.name: node for node in nodes})
        self._groups += [group for node in nodes for group in node.groups]
        self.counted = self.counted and not any(node.uncounted for node in nodes)
        return nodes

    def stop(self, nodes: Sequence[Node]) -> None:
        """Stop containers."""
        self.environment.stop(nodes)
        for node in nodes:
            del self._up[node.name]

    def fill(self, role: Role, image: Mapping[str, str], **more) -> Node:
        """Start the node of a role, and wait until its program listens; Unavailable if it does not. `more` is the Spec's."""
        (node,) = self.start([self.spec(role.name, image, command=role.command, **more)])
        wait_for(node, role)
        return node

    def groups(self) -> list[Path]:
        """The cgroups that count the containers' processor time. The group of a container that is gone no longer tells its
        time, so the group of all containers is taken where its time is accounted: it keeps it."""
        root = cgroup.accounting_folder(cgroup.mounts()) if self.group else None
        group = root / self.group.strip("/") if root else None
        return [group] if group and group.is_dir() else self._groups

    def intact(self) -> None:
        """Outage if a container that was started is not up any more."""
        self.environment.intact(list(self._up.values()))

    def stop_all(self) -> None:
        """Stop what is up."""
        if self._up:
            self.environment.stop(list(self._up.values()))
            self._up.clear()

    def take_down(self) -> None:
        """Stop what is up, and remove the group; Unavailable if that fails."""
        self.stop_all()
        if self.group:
            cgroup.remove(self.group.strip("/"))


def all_counted(*of_run: Services | None) -> bool:
    """Whether somebody counts the time of all containers of a run, if it has any: without that it cannot be told apart from
    others' time."""
    return all(services.counted for services in of_run if services)


def wait_for(node: Node, role: Role) -> None:
    """Wait until the program of a role listens in a node; Unavailable if it does not."""
    looking = ["sh", "-c", LOOKING, f":{role.port:04X} "]
    # On another machine it would not end with the command here.
    listens = node.inside(["timeout", str(LISTENING), *looking])
    process = subprocess.Popen(listens, stdin=subprocess.DEVNULL)
    try:
        ended_within(process.pid, LISTENING)
    finally:
        code = kill(process)
    if code:
        raise Unavailable(f"the {role.name} '{' '.join(role.command)}' did not listen within {LISTENING:g} s")
