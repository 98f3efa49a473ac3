"""Any engine with Docker's command line: containers that stay up, each with its own namespaces and cgroup."""

import contextlib
import math
import shutil
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from plimsoll import spelling
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup
from plimsoll.interchange import Image
from plimsoll.runtimes import mounts
from plimsoll.runtimes.base import HOST, LABEL, LABELLED, REMOVABLE, Node, Runtime, Spec
from plimsoll.runtimes.commands import START_SECONDS, all_of, output
from plimsoll.runtimes.networks.base import Network

# An engine that takes longer to answer hangs (s).
ANSWER_SECONDS = 10
# By command of an engine: when it was last found to hang, and its error. Then stops and sweeps do not query it again
# for each container and each runtime.
HANGING: dict[tuple[str, ...], tuple[float, str]] = {}


class EngineNode(Node):
    """A container that sleeps, or runs a service."""

    def __init__(self, spec, on, groups, command: tuple[str, ...], interface: str | None = None):
        super().__init__(spec.name, on, groups, spec)
        self.command, self.interface = command, interface
        self.kind = command[0]

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        """Return a `docker exec` command. It passes on no variable of the caller."""
        where = ["--workdir", str(folder)] if folder else []
        return [*self.command, "exec", *where, self.name, *program]


class Engine(Runtime):
    """Runtime with an engine that has Docker's command line.

    - `command` begins every command to the engine.
    - `options` are used to start every container, and `removal` to remove it.
    - `capabilities` are added to the default ones.
    - `network` is the network of nodes whose spec names none.
    - `facts` is the template for `info`. It prints who manages the engine's cgroups (`systemd` or not), and the
      engine's folder.
    - `remedy` says what to do if the engine does not answer.
    - `called` is the engine's name in such a message, if that is not the label.
    """

    own_places = services = True
    # Whether a container may have no cgroup that counts it. Otherwise a container without a cgroup does not run on
    # this host.
    uncountable = False
    remedy, called = f"install it again ({spelling.command('setup')} does)", ""
    command: tuple[str, ...]
    network: Network
    options: tuple[str, ...] = ()
    removal: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    facts: str

    def check_building(self) -> str:
        """Return the version as `check` does. Raise Unavailable only if something that building an image needs is
        missing."""
        return self.check()

    def start(self, specs, on=HOST) -> list[Node]:
        """Start all containers side by side with `docker run`."""
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
        """Remove what exists of containers that did not all start, with cgroups that a killed shim has left."""
        names = [spec.name for spec in specs]
        identities = [number for number, name in self.listed() if name in names] if on is HOST else []
        self.remove(names, on)
        # A container that starts later all the same is removed by the next sweep.
        with contextlib.suppress(Unavailable):
            self._remove_rest(identities)

    def listed(self) -> list[tuple[str, str]]:
        """Return (identity, name) of each container of the workflow. The list is empty if the engine does not answer
        in time."""
        with contextlib.suppress(Unavailable):
            return self._listed(ANSWER_SECONDS)
        return []

    def _listed(self, *seconds: float) -> list[tuple[str, str]]:
        ours = ["--filter", f"label={REMOVABLE}", "--format", "{{.ID}} {{.Names}}"]
        rows = output([*self.command, "ps", "--all", "--no-trunc", *ours], *seconds).splitlines()
        return [(identity, name) for identity, _, name in (row.partition(" ") for row in rows)]

    def _remove_rest(self, identities: Sequence[str]) -> None:
        """Remove the shims and cgroups of containers that have been removed. A shim removes the cgroups itself,
        unless it was killed."""
        self.end_shims(identities)
        for identity in identities:
            cgroup.remove_named(identity)

    def image_of(self, spec: Spec) -> str:
        """Return the engine's name for the node's image."""
        return spec.image["tag"]

    def foreground(self, spec: Spec) -> list[str]:
        """Return the command on this host that makes a node, runs its `command`, and ends with it. The node stays
        until it is removed."""
        return [*self.command, "run", *self.words(spec)]

    def words(self, spec: Spec) -> list[str]:
        """Return the words after `docker run` for a node: options, its image, and the command that runs in it."""
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
        """Return options for the folders of this host that a node sees."""
        words = mounts.bind(spec.folder, spec.folder)
        for folder, inside in spec.mounts:
            words += mounts.bind(folder, inside, "readonly")
        return words

    def _groups(self, identities: Sequence[str], on: Node) -> list[list[Path]]:
        """Return the cgroups of each container that has just been started. Raise Unavailable if one runs and has none
        here."""
        # An engine in a container reports process numbers of that container, which are not this host's.
        numbers = ["0"] * len(identities)
        if on is HOST:
            numbers = output([*self.command, "inspect", "--format", "{{.State.Pid}}", *identities]).split()
        mounted = cgroup.mounts()
        found = [cgroup.of_container(*one, mounted) for one in zip(identities, map(int, numbers), strict=True)]
        for identity, number, group in zip(identities, numbers, found, strict=True):
            if number != "0" and group is None and not self.uncountable:
                raise Unavailable(
                    f"no cgroup of this host is that of its container {identity[:12]}: its engine runs on another machine, or "
                    "in a virtual one, or makes no cgroups. The processor time of its runs could not be told apart from others'"
                )
        return [[group] if group else [] for group in found]

    def stop(self, nodes) -> None:
        """Kill and remove containers with what they wrote. The network stays for the next run."""
        self.remove([node.name for node in nodes], nodes[0].on)
        root = cgroup.accounting_folder(cgroup.mounts())
        # The shim of a container removes its cgroups, unless it was killed.
        for group in (group for node in nodes for group in node.groups if group.is_dir()):
            cgroup.remove(str(group.relative_to(root)))

    def remove(self, names: Sequence[str], on: Node = HOST) -> None:
        """Kill and remove containers by name. Missing ones are ignored. Raise Unavailable if the engine refuses, or
        hangs."""
        if on is HOST:
            self.refuse_hanging()
            self.let_go(names)
        output(on.inside([*self.command, "rm", "--force", *self.removal, "--volumes", *names]), 120)

    def end_shims(self, identities: Sequence[str]) -> None:
        """End the processes that supervised containers which have been removed."""

    def let_go(self, names: Sequence[str]) -> None:
        """Resume containers that were paused, before they are removed."""

    def last_words(self, name: str) -> str:
        """Return the last line of a container's output on this host, or an empty text if there is none."""
        said = output(["sh", "-c", '"$@" 2>&1 || true', "sh", *self.command, "logs", name], 10).strip().splitlines()
        return said[-1] if said else ""

    def examine(self, image: Image) -> None:
        """Raise Outage if the launcher is gone or has changed, the engine does not answer, the network cannot be
        made, or the engine's disk is full.

        A missing network is no failure: not every run uses it, and the removal of leftovers removes it too. It is
        made here if it is missing.
        """
        super().examine(image)
        self.refuse_silent()
        try:
            self.network.set_up(HOST)
        except Unavailable as problem:
            cause = f"the network {self.network.name} cannot be made ({problem})"
            raise Outage(cause, f"make room for it ({' '.join(self.command)} network ls)") from problem
        from plimsoll.measuring import resources  # here, because a run that ends well does not need it

        resources.refuse_full(self.storage())

    def lacking(self, image: Image) -> str | None:
        """Return, in words, that an engine which answers does not have an image as it was built. Return None if it
        has it."""
        return None

    def lost(self, image: Image) -> str | None:
        """Return, in words, that the engine does not have an image. Return None if it has it or does not answer."""
        try:
            self.answer()
        except Unavailable:
            return None
        return self.lacking(image)

    def refuse_idle(self, image: str) -> None:
        """Raise Outage if the engine answers but starts no container of an image that it has, within START_SECONDS."""
        words = ["run", "--rm", *self.options, "--label", LABELLED, "--network", "none", image, "true"]
        try:
            output([*self.command, *words], START_SECONDS)
        except Unavailable as problem:
            raise Outage(
                f"{self.called or self.label} starts no container ({problem})", "repair what its message names"
            ) from problem

    def revive(self) -> None:
        self.network.set_up(HOST)

    def intact(self, nodes) -> None:
        """Raise Outage if a container is gone or no longer runs. Its own process only sleeps, or runs a service."""
        names = [node.name for node in nodes]
        try:
            running = output([*self.command, "inspect", "--format", "{{.State.Running}}", *names], ANSWER_SECONDS).split()
        except Unavailable as problem:
            self.refuse_silent()
            raise Outage(f"a container disappeared during its run ({problem})", "find out what removed it") from problem
        if running != ["true"] * len(names):
            raise Outage("a container ended during its run", "find out what stopped it, or whether the engine was restarted")

    def refuse_silent(self) -> None:
        """Raise Outage if the engine does not answer."""
        try:
            self.answer()
        except Unavailable as problem:
            raise Outage(f"{self.called or self.label} does not answer ({problem})", self.remedy) from problem

    def answer(self) -> None:
        """Make sure that the engine answers. Raise Unavailable if it does not. If it hangs, remember that for
        ANSWER_SECONDS."""
        begun = time.monotonic()
        try:
            self.ask()
        except Unavailable as problem:
            if time.monotonic() - begun >= ANSWER_SECONDS:
                HANGING[self.command] = time.monotonic(), str(problem)
            raise

    def ask(self) -> None:
        """Send the engine a query that it answers at once. Raise Unavailable if it does not."""
        output([*self.command, "info"], ANSWER_SECONDS)

    def refuse_hanging(self) -> None:
        """Raise Unavailable if the engine hung less than ANSWER_SECONDS ago."""
        moment, words = HANGING.get(self.command, (-math.inf, ""))
        if time.monotonic() - moment < ANSWER_SECONDS:
            raise Unavailable(words)

    @cached_property
    def _facts(self) -> tuple[str, str]:
        manager, _, folder = output([*self.command, "info", "--format", self.facts]).strip().partition(" ")
        return manager, folder

    def group_of(self, run: str) -> str:
        """Return a slice where systemd manages cgroups, and a plain path where it does not."""
        # A dash in the name of a slice would put it below another slice.
        return f"{LABEL}{run}.slice" if self._facts[0] == "systemd" else f"/{LABEL}/{run}"

    def storage(self) -> Path:
        return Path(self._facts[1])

    def left(self) -> list[str]:
        """Return the workflow's containers: this user's or, for root, those of all users."""
        if not shutil.which(self.command[0]):
            return []
        return [identity for identity, _ in self._listed()]

    def sweep(self) -> None:
        """Remove the containers that `left` returns, and then the network. Raise Unavailable if the engine hangs."""
        self.refuse_hanging()
        if identities := self.left():
            self.remove(identities)
            self._remove_rest(identities)
        if shutil.which(self.command[0]):
            self.network.sweep()

    def forget(self) -> list[str]:
        """Remove the project's images from the engine, and return them in words. The engine's own build cache is left
        alone."""
        if not shutil.which(self.command[0]):
            return []
        self.refuse_hanging()
        listed = [*self.command, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"]
        tags = [tag for tag in output(listed).split() if tag.removeprefix("localhost/").startswith(f"{LABEL}/")]
        if tags:
            output([*self.command, "image", "rm", "--force", *tags], 120)
        return [f"image {tag}" for tag in tags]
