"""Base classes of runtimes and nodes.

A runtime (`Runtime`) starts nodes, and programs run in nodes. A node is started on another node, which already
exists.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from plimsoll.errors import Unavailable
from plimsoll.host import variables
from plimsoll.interchange import Image
from plimsoll.runtimes.image_forms import UNPACKED, form_problem, image_gone, unpacked_problem
from plimsoll.runtimes.networks.base import Network
from plimsoll.runtimes.privileges import Privileges

BINDING = Path(__file__).with_name("with-binding.sh")
JOIN = Path(__file__).with_name("join-cgroup.sh")
# All that a run makes on the machine carries this name, so that leftovers can be found.
LABEL = "plimsoll"
# Label of each container, and the filter for containers that this user may remove: root may remove those of all
# users.
LABELLED = f"{LABEL}={os.geteuid()}"
REMOVABLE = LABELLED if os.geteuid() else LABEL
# Memory of a virtual machine whose spec sets none (bytes).
GUEST_BYTES = 256 * 2**20
# Folder of the files by which programs share memory: on this host, and in containers that have its IPC namespace.
SHARED_MEMORY = Path("/dev/shm")


class Place(NamedTuple):
    """Processors and memory nodes that a node is confined to, as lists in the syntax of cpusets."""

    cpus: str
    nodes: str


class Scratch(NamedTuple):
    """Disk of a virtual machine: `file` is a file of this host that holds a file system (ext4).

    `folder` is where that file system is mounted in the virtual machine.
    """

    file: Path
    folder: str


class Spec(NamedTuple):
    """Description of a node that is to be started.

    - `run` identifies the run on the machine.
    - `name` identifies the node, and is its host name.
    - `image` describes a built image (plimsoll.images). A runtime takes the form of it that it runs.
    - `folder` is a folder of the host, which the node sees at the same path.
    - `place` confines the node. With None it may use all processors and memory nodes.
    - `memory_bytes` limits its memory. With None it may use all memory.
    - `block_io_weight` is the weight of its block I/O.
    - `mounts` are other folders and files of the host, each with its path in the node, where it is read-only.
    - `volumes` are folders of a container that are not in its layers.
    - `processors` is the number of processors of a virtual machine.
    - `scratch` is a disk of a virtual machine.
    - `capabilities` are added to those of the runtime.
    - `network` is the node's network. With None it is on the runtime's own network.
    - `parent_network` is the network of the node's parent, if the node is nested.
    - `known` gives the address of each name that the node must find.
    - `group` is the cgroup in which the node's own cgroup is made (`Runtime.group_of`).
    - `user` is UID:GID.
    - `temporary` is a short path on the host where programs that belong together meet. Only nodes that need it have
      it.
    - `command` is what keeps a container up.
    """

    run: str
    name: str
    image: Mapping[str, str]
    folder: Path
    place: Place | None = None
    memory_bytes: int | None = None
    block_io_weight: int | None = None
    mounts: tuple[tuple[str, str], ...] = ()
    volumes: tuple[str, ...] = ()
    processors: int = 1
    scratch: "Scratch | None" = None
    capabilities: tuple[str, ...] = ()
    network: Network | None = None
    parent_network: Network | None = None
    known: Mapping[str, str] = MappingProxyType({})
    group: str | None = None
    user: str | None = None
    temporary: Path | None = None
    command: tuple[str, ...] = ("sleep", "infinity")

    @property
    def home(self) -> Path:
        """HOME of the node's programs. It is the same path in every runtime, and the folder is empty."""
        return variables.home_of(self.folder)


class Afterwards(NamedTuple):
    """What is known about a node that has ended.

    `ahead` is how far its clock was ahead of this host's CLOCK_MONOTONIC (s). `moments` gives times of its start by
    name (s since 1970).
    """

    ahead: float = 0.0
    moments: Mapping[str, float] = MappingProxyType({})


class Node(ABC):
    """Place where programs run: this host, a container, or a virtual machine (guest).

    - `name` is also its host name.
    - `on` is the node that it was started on. For this host it is None.
    - `groups` are the cgroups of this host that count its processor time.
    - `root` is the folder under which programs in the node find the image's files.
    - `kind` is the sort of node, in a word or two.
    - `separate`: the node has a host name and processes of its own, and what runs the node starts programs in it. In
      any other node a program is a child of the process that starts it.
    - `strays`: a program leaves the cgroup of the process that starts it, although it is its child.
    - `detached`: a program only looks like a child of the process that starts it. It is the child of another process,
      and has neither the starter's cgroup nor the starter's binding.
    - `two_copies`: Open MPI has to copy each message twice, through shared memory.
    - `own_kernel`: programs in the node run on another kernel, which has a clock of its own. Its namespaces have
      numbers of their own.
    - `whole`: the node is bound as a whole, to one processor for all programs in it.
    - `uncounted`: the processor time of its programs is unknown. They are neither children of their starter nor in a
      cgroup of their own.
    - `by_binding`: a binding, and not a cgroup, keeps the node on its processors. Open MPI does not see that binding.
    - `interface` is the network interface that its programs have to use where they see several.
    """

    kind: str
    separate = True
    strays = False
    detached = False
    two_copies = False
    own_kernel = False
    whole = False
    uncounted = False
    root = Path("/")
    interface: str | None = None

    def __init__(self, name: str, on: "Node | None" = None, groups: Sequence[Path] = (), spec: Spec | None = None):
        self.name, self.on, self.groups, self.spec = name, on, list(groups), spec
        self.by_binding = bool(on and on.by_binding)

    @abstractmethod
    def enter(
        self, program: list[str], folder: Path | None = None, *, without: Sequence[str] = (), keep_binding: bool = False
    ) -> list[str]:
        """Return the command that runs a program in this node, in `folder`. The command must be started on the node
        `on`.

        `without` names variables of the caller that must not reach the program. A program that is the caller's child
        loses the caller's binding to processors when it enters a cpuset (before Linux 6.2). With `keep_binding` it
        keeps the binding.
        """

    def inside(self, program: list[str], folder: Path | None = None, *, without: Sequence[str] = ()) -> list[str]:
        """Return the command on this host that runs a program in the node, through all nodes between."""
        words = self.enter(program, folder, without=without)
        return self.on.inside(words) if self.on else words

    def ahead(self) -> float:
        """Return how far the node's clock is ahead of this host's CLOCK_MONOTONIC (s)."""
        return 0.0

    def of_image(self, program: list[str], preload: str | None = None) -> list[str]:
        """Return the words that start a program of the image, with its arguments, in the node.

        `preload` is a library of the image that is loaded before the others. It is set for the program alone, because
        no command on the way to the program could load it.
        """
        return ["env", f"LD_PRELOAD={preload}", *program] if preload else program


class Host(Node):
    """This host as a node."""

    kind = "host"
    separate = False

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return [*(["env", f"--chdir={folder}"] if folder else []), *without_variables(without), *program]


HOST = Host("localhost")


class Runtime(ABC):
    """Runtime: a way to start nodes.

    - `name` is used in studies and in the configuration, `label` in text for people.
    - `colour` and `hatch` are its signs in figures. With None the figures choose them.
    - `form` is the form of an image in the store from which nodes are started, if that is a file. Engines keep images
      of their own.
    - `has_containers` is false where nodes are not contained.
    - `merged`: the nodes of a run become one container.
    - `nested`: each node is in a container of its own, its parent.
    - `own_kernels`: nodes are virtual machines.
    - `own_places`: what runs the nodes confines each of them to its place. Otherwise that takes cpusets, which not
      every user may make.
    - `bound`: nodes that are all at one place can be bound to its processors without a cpuset.
    - `services`: nodes stay up, with limits, so that one can be kept and programs started in it.
    - `daemons` names the processes that work for the nodes outside them.
    - `packages` are the Debian packages that it needs besides those that set-up installs for all. `a|b` means one of
      them.
    - `steps` are its scripts of set-up.
    - `emulated`: the processor is emulated, so that times say nothing about speed.
    - `variant_of` names another runtime. This one differs from it in something, and is compared with it. Claims do not
      depend on it: a claim that names no runtime is about those of its paper.
    """

    name: str
    label: str
    colour: str | None = None
    hatch: str | None = None
    form = UNPACKED
    has_containers = True
    merged = False
    nested = False
    own_places = bound = services = False
    daemons: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    own_kernels = emulated = False
    variant_of: str | None = None

    @abstractmethod
    def check(self) -> str:
        """Return the version of what runs the nodes. Raise Unavailable, with the reason, if it does not answer."""

    def versions(self) -> dict[str, str]:
        """Return, by name, the version of each program on which results in the nodes depend. Raise Unavailable if one
        does not answer."""
        return {}

    def privileges(self) -> Privileges:
        """Return what a node may do on this host if root starts it."""
        raise NotImplementedError

    def programs(self) -> tuple[str, ...]:
        """Return names or paths of these programs on this host, and paths of files with their settings."""
        return ()

    def tried(self) -> None:  # noqa: B027 - most make nothing
        """Clean up what the first nodes of a workflow have made on this host. Raise Unavailable if that fails."""

    def refuse(self, features: Mapping) -> None:  # noqa: B027 - of most nothing is known beforehand
        """Raise Unavailable if two nodes, as seen from inside, lack what programs in them need.

        `features` is the result of `isolation.observe`.
        """

    def bridges(self) -> dict[int, str] | None:
        """Return, by interface number, the bridge that each interface is a port of. Return None if the bridges of
        running nodes are this host's."""
        return None

    def outward(self) -> str:
        """Return, in words, what connects the network of running nodes to this host's. Return an empty text if their
        bridge is on this host."""
        return ""

    @abstractmethod
    def start(self, specs: Sequence[Spec], on: Node = HOST) -> list[Node]:
        """Start the nodes of a run side by side. Raise Unavailable, with nothing left behind, if one does not start."""

    def stop(self, nodes: Sequence[Node]) -> None:  # noqa: B027 - not every node needs it
        """Take nodes down. It is called once, also after a failure."""

    def left(self) -> list[str]:
        """Return the names of all nodes that exist, of any run."""
        return []

    def sweep(self) -> None:  # noqa: B027 - not every runtime leaves something
        """Remove the leftovers of a killed run."""

    def forget(self) -> list[str]:
        """Remove what stays between runs for the next one. Return, in words, what was removed. Call `sweep` before."""
        return []

    def examine(self, image: Image) -> None:
        """Raise Outage if something that runs of an image need is gone, or does not answer.

        It is called only after an attempt that did not end well.
        """
        if problem := self.image_problem(image):
            raise image_gone(image, problem)

    def image_problem(self, image: Image) -> str | None:
        """Return, in words, what is wrong with the files of an image from which nodes are started. Return None if
        they are as they were made. It reads all of them."""
        is_file = self.form != UNPACKED and self.form in image
        return unpacked_problem(image) or (form_problem(image, self.form) if is_file else None)

    def lost(self, image: Image) -> str | None:
        """Return, in words, that what starts nodes no longer has an image. Return None if it has the image, needs
        none, or does not answer."""
        return None

    def wake(self) -> None:  # noqa: B027 - most runtimes have nothing that could be asleep
        """Make what starts nodes answer, if it does not and this can be done from here. Called before anything is
        tried."""

    def revive(self) -> None:  # noqa: B027 - most runtimes have nothing that could be started
        """Start or make again what runs need and `examine` did not find, if this can be done from here."""

    def intact(self, nodes: Sequence[Node]) -> None:  # noqa: B027 - nodes that are no processes cannot end
        """Raise Outage if one of the nodes is no longer up. Nothing that is measured ends a node."""

    def collect(self, specs: Sequence[Spec]) -> "list[Afterwards]":
        """Return what is known about nodes that were started by `foreground` and have ended.

        Raise Unavailable if one failed without any output of its command. Only for runtimes with `foreground`.
        """
        return [Afterwards()] * len(specs)

    def group_of(self, run: str) -> str:
        """Return the path of a run's own cgroup for its nodes, below the root of each controller. Only for runtimes
        with `services`."""
        raise NotImplementedError

    def storage(self) -> Path:
        """Return the path on the host of the data that nodes write. Only for runtimes with `services`."""
        raise NotImplementedError


def needs_root(what: str) -> None:
    """Raise Unavailable if this process is not root. `what` names the action that needs root."""
    if os.geteuid():
        raise Unavailable(f"{what} needs root on this machine")


def join(groups: Sequence[Path]) -> list[str]:
    """Return the prefix that puts a command into cgroups."""
    return [str(JOIN), *map(str, groups), "--"]


def binding_kept(prefix: list[str]) -> list[str]:
    """Return `prefix` extended so that a command keeps its starter's binding to processors. `prefix` ends in a
    cpuset, where the binding is set again."""
    return [str(BINDING), *prefix, "taskset", "-c", "BINDING"]


def without_variables(names: Sequence[str]) -> list[str]:
    """Return the prefix that removes variables from the environment of a command. It is empty if there are no names."""
    return ["env", *(word for name in names for word in ("-u", name))] if names else []
