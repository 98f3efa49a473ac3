"""What the workflow asks of an environment: it starts nodes, somewhere programs run, on a node that is there already."""

import json
import os
import re
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from plimsoll.environments.networks.base import Network
from plimsoll.errors import ImageGone, Unavailable
from plimsoll.host import variables
from plimsoll.interchange import Image
from plimsoll.measuring.process import said

BINDING = Path(__file__).with_name("with-binding.sh")
JOIN = Path(__file__).with_name("join-cgroup.sh")
# Everything that a run leaves on the machine carries this name.
LABEL = "plimsoll"
# What an engine notes of each container, and by which those are found that this user may remove: root may remove everybody's.
LABELLED = f"{LABEL}={os.geteuid()}"
REMOVABLE = LABELLED if os.geteuid() else LABEL
# How long nodes may take to start (s).
START_SECONDS = 120
# The memory of a virtual machine, if nobody asks for more.
GUEST_BYTES = 256 * 2**20
# Where programs on this host, and in containers that have its IPC, share memory as files.
SHARED_MEMORY = Path("/dev/shm")
# Beside the forms of an image: the checksums of those that are one file, by the file's name.
SUMS = "sums.json"
CHANGED = "is not as it was made"
# The form of an image that is a folder.
UNPACKED = "rootfs"
# Below what an engine says of a failure.
OF_OPTIONS = re.compile("(Run|See) '.* --help'")


class Place(NamedTuple):
    """Processors and memory nodes that a node is confined to, as lists like a cpuset's."""

    cpus: str
    nodes: str


class Scratch(NamedTuple):
    """A file of this host that holds a file system (ext4), and the folder in a virtual machine where that is."""

    file: Path
    folder: str


class Spec(NamedTuple):
    """A node that is to be started.

    `run` identifies the run on the machine. `name` identifies the node, and is its host name. `image` is the description of a
    built image (plimsoll.images); an environment takes the form of it that it runs. `folder` is at the same path in the node.
    `mounts` are other folders of the host, each with its place in the node, where it can only be read; `volumes` are folders
    of a container that are not in its layers. `temporary` is a short path on the host where programs that belong together
    meet; only a node that needs it has it. A virtual machine has so many `processors`, and at `scratch.folder` a file of the
    host as a disk.

    With `place` None the node may use all processors and memory nodes, with `memory_bytes` None all memory. `block_io_weight`
    is the weight of its block I/O. `capabilities` are added to the environment's. With `network` None the node is on the
    environment's own, and `known` are names that it finds at addresses; `parent_network` is that of its parent, where it is
    nested. `group` is the cgroup in which the node's own is made (`Environment.group_of`). `user` is UID:GID, `command` is what
    keeps a container up.
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
        """The HOME of the node's programs, which is the same in every environment, and empty."""
        return variables.home_of(self.folder)


class Afterwards(NamedTuple):
    """What is known of a node that has ended: what its clock was `ahead` of this host's CLOCK_MONOTONIC (s), and `moments` of
    its start by name (s since 1970)."""

    ahead: float = 0.0
    moments: Mapping[str, float] = MappingProxyType({})


class Node(ABC):
    """Somewhere programs run: this host, a container, a guest.

    `name` is also its host name; `on` is the node that it was started on, None for this host; `groups` are the cgroups of this
    host that its processor time is counted in; `root` is where programs in it find the image's files.

    A node that is `separate` has a host name and processes of its own: what runs the node starts a program in it. In any other
    node a program is a child of whoever starts it; with `strays` it leaves the starter's cgroup all the same. One that is
    `detached` only looks like the starter's: it is the child of something else, and has neither the starter's cgroup nor its
    binding. With `two_copies` Open MPI is told to copy each message twice, through shared memory. One with `own_kernel` is
    another machine to what runs in it: it has a clock of its own, and its namespaces have numbers of their own. One that is
    bound as a `whole` has one processor for all programs in it. `kind` is the sort of node in one word. `interface` is the
    network interface that its programs have to use, where they see others too. Of one that is `uncounted` nobody says how much
    processor time its programs use: they are neither their starter's children nor in a group of their own. With
    `by_binding` a binding keeps a node to its processors, and not a cgroup: Open MPI does not see it.
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
        """The command that runs a program in this node, in `folder`. It is to be given on the node that this one is on.

        `without` names variables of the caller that must not reach the program. A program that is the caller's child loses the
        caller's binding to processors where it enters a cpuset (before Linux 6.2); with `keep_binding` it keeps it.
        """

    def inside(self, program: list[str], folder: Path | None = None, *, without: Sequence[str] = ()) -> list[str]:
        """Command on this host that runs a program in the node, through all the nodes between."""
        words = self.enter(program, folder, without=without)
        return self.on.inside(words) if self.on else words

    def ahead(self) -> float:
        """What has to be added to this host's CLOCK_MONOTONIC to get the node's (s)."""
        return 0.0

    def of_image(self, program: list[str], preload: str | None = None) -> list[str]:
        """A program of the image and its arguments, as words to start in the node; `preload` is a library of the image that is
        loaded before the others. It is set for the program alone: nothing on the way to it could load such a library."""
        return ["env", f"LD_PRELOAD={preload}", *program] if preload else program


class Host(Node):
    """This host."""

    kind = "host"
    separate = False

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return [*(["env", f"--chdir={folder}"] if folder else []), *hidden(without), *program]


HOST = Host("localhost")


class Environment(ABC):
    """A way to start nodes.

    Studies and the configuration call it `name`, people call it `label`. `colour` and `hatch` are its signs in figures; None
    leaves them to the figures. `containers` is false where nodes are not contained, and `merged` is true where the nodes of a
    run become one container. With `nested` each node is in a container of its own, its parent; with `own_kernels` nodes are
    virtual machines. With `own_places` what runs the nodes confines each to its place; otherwise that takes cpusets, which not
    every user may make. With `bound` nodes that are all at one place can be bound to its processors without one. With
    `services` its nodes stay up by themselves, with limits, so that one can be kept and programs started in it. `daemons` names
    the processes that work for the nodes outside them. `packages` are the Debian packages that it needs besides those that
    set-up installs for all (`a|b` is one of them), and `steps` the scripts of set-up. An environment that is another one with
    something changed names that one as `variant_of`, and is compared with it. Where the processor is `emulated` times say
    nothing about speed. `form` is the form of an image that lies in the store and from which nodes are started, if that is a
    file; what engines have of an image is their own.
    """

    name: str
    label: str
    colour: str | None = None
    hatch: str | None = None
    form = UNPACKED
    containers = True
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
        """Version of what runs the nodes; Unavailable with the reason if it does not answer."""

    def versions(self) -> dict[str, str]:
        """The version of each program that what runs in the nodes depends on; Unavailable if one does not answer."""
        return {}

    def programs(self) -> tuple[str, ...]:
        """Names or paths of these programs on this host, and paths of files with their settings."""
        return ()

    def tried(self) -> None:  # noqa: B027 - most make nothing
        """Put right what the first nodes of a workflow have made on this host. Unavailable if that fails."""

    def refuse(self, features: Mapping) -> None:  # noqa: B027 - of most nothing is known beforehand
        """Unavailable if what was seen from inside two nodes is not what runs in them need."""

    def bridges(self) -> dict[int, str] | None:
        """The bridge that an interface is a port of, by the interface's number, where the bridges of nodes that are up are not
        this host's; otherwise None."""
        return None

    def outward(self) -> str:
        """What leads from the network of nodes that are up to this host's; nothing where their bridge is on this host."""
        return ""

    @abstractmethod
    def start(self, specs: Sequence[Spec], on: Node = HOST) -> list[Node]:
        """Start the nodes of a run, side by side; Unavailable if one does not start, with nothing left behind."""

    def stop(self, nodes: Sequence[Node]) -> None:  # noqa: B027 - not every node needs it
        """Take nodes down; called once, whatever happened."""

    def left(self) -> list[str]:
        """Names of the nodes of any run that are there."""
        return []

    def sweep(self) -> None:  # noqa: B027 - not every environment leaves something
        """Remove what a killed run left behind."""

    def forget(self) -> list[str]:
        """Remove what stays between runs for the next one; in words, what that was. `sweep` comes before."""
        return []

    def examine(self, image: Image) -> None:
        """Outage if what runs of an image need is not there any more, or does not answer. Asked only after an attempt that did
        not end well."""
        if problem := self.image_problem(image):
            raise gone(image, problem)

    def image_problem(self, image: Image) -> str | None:
        """In words, what is wrong with the files of an image that nodes are started from; None if they are as they were made.
        It reads them all."""
        is_file = self.form != UNPACKED and self.form in image
        return unpacked_problem(image) or (form_problem(image, self.form) if is_file else None)

    def lost(self, image: Image) -> str | None:
        """In words, that what starts nodes has no longer got an image; None if it has, needs none, or does not answer."""
        return None

    def wake(self) -> None:  # noqa: B027 - most environments have nothing that could be asleep
        """Have what starts nodes answer, if it does not and that can be done from here; before anything is tried."""

    def revive(self) -> None:  # noqa: B027 - most environments have nothing that could be started
        """Start again, or make again, what runs need and `examine` did not find, if that can be done from here."""

    def intact(self, nodes: Sequence[Node]) -> None:  # noqa: B027 - nodes that are no processes cannot end
        """Outage if one of the nodes is not up any more: nothing that is measured ends one."""

    def collect(self, specs: Sequence[Spec]) -> "list[Afterwards]":
        """What is known of nodes that were started by `foreground` and have ended; Unavailable if one of them failed without
        a word from its command. Of environments with `foreground` only."""
        return [Afterwards()] * len(specs)

    def group_of(self, run: str) -> str:
        """Path of a run's own cgroup for its nodes, below each controller's root; of environments with `services` only."""
        raise NotImplementedError

    def storage(self) -> Path:
        """Where what nodes write lies on the host; of environments with `services` only."""
        raise NotImplementedError


def name_of(tag: str) -> str:
    """The name of an image, as a folder of containers/ has it."""
    return tag.partition(":")[0].rpartition("/")[2]


def gone(image: Image, what: str) -> ImageGone:
    """The Outage of an image that is no longer what was built, or lacks one of its forms."""
    remedy = f"delete results/images/{name_of(image['tag'])}.json, so that the image is built anew"
    how = "has changed" if what.endswith(CHANGED) else "was removed"
    return ImageGone(f"the image {image['tag']} {how} ({what})", remedy)


def unpacked_problem(image: Image) -> str | None:
    """In words, which unpacked file of an image is gone or has changed since it was built; None if all are as they were. It
    reads them all."""
    for path, known in image["files"].items() if "rootfs" in image else ():
        if what := problem_of(Path(image["rootfs"], path), known["sha256"]):
            return f"its unpacked file {path} {what}"
    return None


def form_problem(image: Image, form: str) -> str | None:
    """In words, what is wrong with a form of an image that is one file; None if it is as it was made."""
    path = Path(image.get(form, ""))
    try:
        sums = json.loads(path.with_name(SUMS).read_text())
    except (OSError, ValueError):
        sums = {}  # of an image that was made before there were any
    what = problem_of(path, sums.get(path.name))
    return f"its {form} {what}" if what else None


def problem_of(path: Path, wanted: str | None) -> str | None:
    """In words, what is wrong with a file that had the SHA-256 `wanted`, if that is known."""
    import hashlib  # here, because a run that ends well has no use for it

    try:
        with open(path, "rb") as file:
            differs = wanted is not None and hashlib.file_digest(file, "sha256").hexdigest() != wanted
    except OSError:
        return "is not there"
    return CHANGED if differs else None


def needs_root(what: str) -> None:
    """Unavailable unless this process is root."""
    if os.geteuid():
        raise Unavailable(f"{what} needs root on this machine")


def join(groups: Sequence[Path]) -> list[str]:
    """Prefix that puts a command into cgroups."""
    return [str(JOIN), *map(str, groups), "--"]


def binding_kept(prefix: list[str]) -> list[str]:
    """A prefix that ends in a cpuset, with the binding of whoever starts it set again there."""
    return [str(BINDING), *prefix, "taskset", "-c", "BINDING"]


def hidden(names: Sequence[str]) -> list[str]:
    """Prefix that takes variables out of the environment of what follows."""
    return ["env", *(word for name in names for word in ("-u", name))] if names else []


def output(command: list[str], seconds: float = 60) -> str:
    """Standard output of a command; Unavailable with its last words if it fails or takes too long, Outage if it cannot be
    killed then."""
    try:
        process = _begun(command)
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except PermissionError as error:
        raise Unavailable(f"{command[0]} may not be run by this user") from error
    told = said(process, seconds)
    if told is None:
        raise Unavailable(f"'{' '.join(command[:3])}' did not answer within {seconds:g} s")
    if process.returncode:
        raise Unavailable(_failed(command, process.returncode, told[1] or told[0]))
    return told[0]


def _begun(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _failed(command: list[str], code: int, said: str) -> str:
    return f"'{' '.join(command[:3])}' failed: {last_words(said, code)}"


def last_words(said: str, code: int) -> str:
    """The last line that a command said, without where its options are told; its exit status if it said nothing."""
    lines = [line for line in said.splitlines() if line.strip() and not OF_OPTIONS.match(line)]
    return lines[-1].strip() if lines else f"exit status {code}"


def all_of(commands: list[list[str]], seconds: float = START_SECONDS) -> list[str]:
    """Standard outputs of commands that run side by side; Unavailable if one fails, after all have ended, Outage if one cannot
    be killed."""
    processes = [_begun(command) for command in commands]
    outputs, problem = [], None
    for command, process in zip(commands, processes, strict=True):
        out, err = said(process, seconds) or ("", f"it did not end within {seconds:g} s")
        outputs.append(out)
        if process.returncode:
            problem = _failed(command, process.returncode, err or out)
    if problem:
        raise Unavailable(problem)
    return outputs
