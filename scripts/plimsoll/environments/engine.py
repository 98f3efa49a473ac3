"""Any engine with Docker's command line: containers that stay up, each with its own namespaces and cgroup."""

import contextlib
import math
import shutil
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from plimsoll.environments import mounts
from plimsoll.environments.base import (
    HOST,
    LABEL,
    LABELLED,
    REMOVABLE,
    START_SECONDS,
    Environment,
    Node,
    Spec,
    all_of,
    output,
)
from plimsoll.environments.networks.base import Network
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup
from plimsoll.interchange import Image

# An engine that takes longer to answer hangs.
ANSWER_SECONDS = 10
# When one was last found to hang, and in which words, by its command: whoever takes down or sweeps does not ask it again for
# each container and for each environment.
HANGING: dict[tuple[str, ...], tuple[float, str]] = {}


class EngineNode(Node):
    """A container that sleeps, or runs a service."""

    def __init__(self, spec, on, groups, command: tuple[str, ...], interface: str | None = None):
        super().__init__(spec.name, on, groups, spec)
        self.command, self.interface = command, interface
        self.kind = command[0]

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """`docker exec`, which hands on no variable of the caller's."""
        where = ["--workdir", str(folder)] if folder else []
        return [*self.command, "exec", *where, self.name, *program]


class Engine(Environment):
    """`command` begins every command to the engine. Every container is started with `options` and removed with those of
    `removal`; `capabilities` are added to the default ones. `network` is that of the nodes that ask for none. `facts` is what
    `info` is asked for: who manages the engine's cgroups (`systemd` or not), and the engine's folder. `remedy` says what to do
    about an engine that does not answer, and `called` is what that is called, if not by the label."""

    own_places = services = True
    # Whether it may be that no group counts its containers. Otherwise one that has no group is no container of this host.
    uncountable = False
    remedy, called = "install it again (make setup does)", ""
    command: tuple[str, ...]
    network: Network
    options: tuple[str, ...] = ()
    removal: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    facts: str

    def check_building(self) -> str:
        """As `check`, of what building an image needs."""
        return self.check()

    def start(self, specs, on=HOST) -> list[Node]:
        """`docker run` of every container, side by side."""
        networks = [spec.network or self.network for spec in specs]
        for network in dict.fromkeys(networks):
            network.set_up(on)
        commands = [on.inside([*self.command, "run", "--detach", *self.words(spec)]) for spec in specs]
        try:
            identities = [text.strip() for text in all_of(commands)]
            nodes = [
                EngineNode(spec, on, groups, self.command, network.interface)
                for spec, groups, network in zip(specs, self._groups(identities, on), networks, strict=True)
            ]
            for node, network in zip(nodes, networks, strict=True):
                network.connect(node)
                node.uncounted = self.uncountable and not node.groups
        except Unavailable:
            self._give_up(specs, on)
            raise
        return nodes

    def _give_up(self, specs: Sequence[Spec], on: Node) -> None:
        """Remove what there is of containers that did not all start, with groups that a killed shim has left."""
        names = [spec.name for spec in specs]
        identities = [number for number, name in self.listed() if name in names] if on is HOST else []
        self.remove(names, on)
        # One that comes up after all is swept.
        with contextlib.suppress(Unavailable):
            self._remove_rest(identities)

    def listed(self) -> list[tuple[str, str]]:
        """(identity, name) of each container of the workflow; none if the engine does not answer in time."""
        with contextlib.suppress(Unavailable):
            return self._listed(ANSWER_SECONDS)
        return []

    def _listed(self, *seconds: float) -> list[tuple[str, str]]:
        ours = ["--filter", f"label={REMOVABLE}", "--format", "{{.ID}} {{.Names}}"]
        rows = output([*self.command, "ps", "--all", "--no-trunc", *ours], *seconds).splitlines()
        return [(identity, name) for identity, _, name in (row.partition(" ") for row in rows)]

    def _remove_rest(self, identities: Sequence[str]) -> None:
        """Remove what is left of containers that have been removed: their shims, and their groups, which a shim removes unless
        somebody has killed it."""
        self.end_shims(identities)
        for identity in identities:
            cgroup.remove_named(identity)

    def image_of(self, spec: Spec) -> str:
        """What the engine calls the node's image."""
        return spec.image["tag"]

    def foreground(self, spec: Spec) -> list[str]:
        """The command on this host that makes a node whose `command` ends, and ends with it. The node stays, until it is
        removed."""
        return [*self.command, "run", *self.words(spec)]

    def words(self, spec: Spec) -> list[str]:
        """What follows `docker run` for a node: options, its image, and what runs in it."""
        network = spec.network or self.network
        words = ["--init", *self.options, "--label", LABELLED, "--network", network.name]
        words += ["--cgroup-parent", spec.group] if spec.group else []
        words += self.shared(spec)
        for capability in (*self.capabilities, *spec.capabilities):
            words += ["--cap-add", capability]
        words += ["--user", spec.user] if spec.user else []
        words += ["--env", f"HOME={spec.home}"]
        words += ["--name", spec.name, "--hostname", spec.name]
        if spec.place:
            words += ["--cpuset-cpus", spec.place.cpus, "--cpuset-mems", spec.place.nodes]
        if spec.memory_bytes:
            words += ["--memory", str(spec.memory_bytes), "--memory-swap", str(spec.memory_bytes)]
        for name, address in spec.known.items():
            words += ["--add-host", f"{name}:{address}"]
        for place in spec.volumes:
            words += ["--volume", place]
        words += ["--blkio-weight", str(spec.block_io_weight)] if spec.block_io_weight else []
        return [*words, self.image_of(spec), *spec.command]

    def shared(self, spec: Spec) -> list[str]:
        """Options for the folders of this host that a node has."""
        words = mounts.bind(spec.folder, spec.folder)
        for folder, inside in spec.mounts:
            words += mounts.bind(folder, inside, "readonly")
        return words

    def _groups(self, identities: Sequence[str], on: Node) -> list[list[Path]]:
        """Return the cgroups of each container that has just been started. Unavailable if one runs and has none here."""
        # Numbers of processes that an engine in a container tells are not this host's.
        numbers = ["0"] * len(identities)
        if on is HOST:
            numbers = output([*self.command, "inspect", "--format", "{{.State.Pid}}", *identities]).split()
        mounted = cgroup.mounts()
        found = [cgroup.of_container(*one, mounted) for one in zip(identities, map(int, numbers), strict=True)]
        for identity, number, group in zip(identities, numbers, found, strict=True):
            if number != "0" and group is None and not self.uncountable:
                raise Unavailable(
                    f"no cgroup of this host is that of its container {identity[:12]}: its engine runs on another machine, or "
                    "in a virtual one, or makes no cgroups. The processor time of its runs could not be told from others'"
                )
        return [[group] if group else [] for group in found]

    def stop(self, nodes) -> None:
        """Kill and remove containers with what they wrote; the network stays for the next run."""
        self.remove([node.name for node in nodes], nodes[0].on)
        root = cgroup.accounting_folder(cgroup.mounts())
        # The shim of a container removes them, unless somebody has killed it.
        for group in (group for node in nodes for group in node.groups if group.is_dir()):
            cgroup.remove(str(group.relative_to(root)))

    def remove(self, names: Sequence[str], on: Node = HOST) -> None:
        """Kill and remove containers by name; they need not be there. Unavailable if the engine refuses, or hangs."""
        if on is HOST:
            self.refuse_hanging()
            self.let_go(names)
        output(on.inside([*self.command, "rm", "--force", *self.removal, "--volumes", *names]), 120)

    def end_shims(self, identities: Sequence[str]) -> None:
        """End what has supervised containers that have been removed."""

    def let_go(self, names: Sequence[str]) -> None:
        """Have containers go on that somebody has paused, before they are removed."""

    def last_words(self, name: str) -> str:
        """The last line that a container of this host has said; nothing if it said none."""
        said = output(["sh", "-c", '"$@" 2>&1 || true', "sh", *self.command, "logs", name], 10).strip().splitlines()
        return said[-1] if said else ""

    def examine(self, image: Image) -> None:
        """The launcher, the engine, the network, and room on the engine's disk. Not every run is on that network, and the
        removal of what killed runs left removes it too: it is made if it is not there."""
        super().examine(image)
        self.refuse_silent()
        try:
            self.network.set_up(HOST)
        except Unavailable as problem:
            cause = f"the network {self.network.name} cannot be made ({problem})"
            raise Outage(cause, f"make room for it ({' '.join(self.command)} network ls)") from problem
        from plimsoll.measuring import means  # here, because a run that ends well has no use for it

        means.refuse_full(self.storage())

    def lacking(self, image: Image) -> str | None:
        """In words, that the engine, which answers, has not got an image as it was built; None if it has."""
        return None

    def lost(self, image: Image) -> str | None:
        """What it lacks, if it answers."""
        try:
            self.answer()
        except Unavailable:
            return None
        return self.lacking(image)

    def refuse_idle(self, image: str) -> None:
        """Outage if the engine answers, and starts no container of an image that it has, however much time it gets."""
        words = ["run", "--rm", *self.options, "--label", LABELLED, "--network", "none", image, "true"]
        try:
            output([*self.command, *words], START_SECONDS)
        except Unavailable as problem:
            raise Outage(f"{self.called or self.label} starts no container ({problem})", "mend what it says") from problem

    def revive(self) -> None:
        self.network.set_up(HOST)

    def intact(self, nodes) -> None:
        """The containers' own processes only sleep, or serve."""
        names = [node.name for node in nodes]
        try:
            running = output([*self.command, "inspect", "--format", "{{.State.Running}}", *names], ANSWER_SECONDS).split()
        except Unavailable as problem:
            self.refuse_silent()
            raise Outage(f"a container is gone from under its run ({problem})", "look who removed it") from problem
        if running != ["true"] * len(names):
            raise Outage("a container ended under its run", "look who stopped it, or whether the engine was started anew")

    def refuse_silent(self) -> None:
        """Outage if the engine does not answer."""
        try:
            self.answer()
        except Unavailable as problem:
            raise Outage(f"{self.called or self.label} does not answer ({problem})", self.remedy) from problem

    def answer(self) -> None:
        """Have the engine answer; Unavailable if it does not, and it is remembered for a moment if it hangs."""
        begun = time.monotonic()
        try:
            self.ask()
        except Unavailable as problem:
            if time.monotonic() - begun >= ANSWER_SECONDS:
                HANGING[self.command] = time.monotonic(), str(problem)
            raise

    def ask(self) -> None:
        """Ask the engine something that it answers at once; Unavailable if it does not."""
        output([*self.command, "info"], ANSWER_SECONDS)

    def refuse_hanging(self) -> None:
        """Unavailable if the engine hung a moment ago."""
        moment, words = HANGING.get(self.command, (-math.inf, ""))
        if time.monotonic() - moment < ANSWER_SECONDS:
            raise Unavailable(words)

    @cached_property
    def _facts(self) -> tuple[str, str]:
        manager, _, folder = output([*self.command, "info", "--format", self.facts]).strip().partition(" ")
        return manager, folder

    def group_of(self, run: str) -> str:
        """A slice where systemd manages groups, and a plain path where it does not."""
        # A dash in its name would put a slice below another.
        return f"{LABEL}{run}.slice" if self._facts[0] == "systemd" else f"/{LABEL}/{run}"

    def storage(self) -> Path:
        return Path(self._facts[1])

    def left(self) -> list[str]:
        """Containers of the workflow, of this user's or, for root, of everybody's."""
        if not shutil.which(self.command[0]):
            return []
        return [identity for identity, _ in self._listed()]

    def sweep(self) -> None:
        """Remove every such container, and then the network. Unavailable if the engine hangs."""
        self.refuse_hanging()
        if identities := self.left():
            self.remove(identities)
            self._remove_rest(identities)
        if shutil.which(self.command[0]):
            self.network.sweep()

    def forget(self) -> list[str]:
        """Images that it has of the project's. What building has put into an engine's own cache is the engine's."""
        if not shutil.which(self.command[0]):
            return []
        self.refuse_hanging()
        listed = [*self.command, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"]
        tags = [tag for tag in output(listed).split() if tag.removeprefix("localhost/").startswith(f"{LABEL}/")]
        if tags:
            output([*self.command, "image", "rm", "--force", *tags], 120)
        return [f"image {tag}" for tag in tags]
