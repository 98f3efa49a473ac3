"""Steps between this host and an engine's default container, each with one thing more than the step before.

The design `program` measures them, to find which part of a container costs a program its time. Steps of an engine are made
for each engine with Docker's command line (`of_engine`). What one option gives back of the default is a step too (`with_`).
"""

import os
import re
import resource
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes.apptainer import Singularity
from plimsoll.runtimes.base import HOST, LABEL, SHARED_MEMORY, Node, Runtime, Spec, needs_root, without_variables
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.engine import Engine
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.runtimes.podman import Podman
from plimsoll.runtimes.podman_rootless import PodmanRootless

# Folders that a program may write to without being told, and that a volume takes out of a container's layers.
WRITTEN = ("/tmp", "/var/tmp")
VOLUMES = tuple(word for folder in WRITTEN for word in ("--volume", folder))
OF_VOLUMES = f"volumes for {' and '.join(WRITTEN)}"
# Names of the capabilities by their numbers (linux/capability.h).
CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ"),
)
BOUND = re.compile(r"^CapBnd:\s*([0-9a-f]+)$", re.MULTILINE)
NO_FILTER = ("--security-opt", "seccomp=unconfined")
# Podman refuses a first process of its own (--init) where there is no process namespace.
HOST_IPC, HOST_PID = ("--ipc", "host"), ("--pid", "host", "--init=false")
# Controllers that limit a container, and resources that an engine limits (setrlimit).
CONTROLLERS = ("cpu", "memory", "cpuset")
LIMITED = ("core", "memlock", "nofile", "nproc", "stack")
NO_CONTAINER = "running a program with the image's files and no container"


def all_capabilities() -> tuple[str, ...]:
    """Return options that give a container every capability that this process may have.

    An engine that has fewer than all refuses the word ALL.
    """
    bound = int(BOUND.search(Path("/proc/self/status").read_text())[1], 16)
    held = [name for number, name in enumerate(CAPABILITIES) if bound >> number & 1]
    return (*(word for name in held for word in ("--cap-add", name)), "--security-opt", "apparmor=unconfined")


class HostNode(Node):
    """This host, with its own files."""

    kind = "host"
    separate = False

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return [*without_variables(without), *HOST.enter(program, folder)]


class AsInstalled(Runtime):
    """A program as it is installed on this host."""

    name = "host"
    label = "This host"
    colour, hatch = "#000000", ""
    has_containers = False

    def check(self) -> str:
        """Return a text that says which files the program has."""
        return "as it is installed"

    def start(self, specs, on=HOST) -> list[Node]:
        """Return one node per spec. Nothing is started."""
        return [HostNode(spec.name, on, spec=spec) for spec in specs]

    def image_problem(self, image) -> str | None:
        """Return None: the files of the image are not used."""
        return None


class Files(Runtime):
    """The image's files in no container: another root, in no namespace but one of mounts."""

    name = "files"
    label = "Image's files"
    colour, hatch = "#4d4d4d", ""
    has_containers = False

    def check(self) -> str:
        """Return what makes the root. Raise Unavailable for a user who is not root."""
        needs_root(NO_CONTAINER)
        return "changed root"

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the folders of each node, and return the nodes. A spec needs a `temporary` folder."""
        return [ChangedRoot(spec, **folders_of(spec)) for spec in specs]


def folders_of(spec: Spec) -> dict[str, Path]:
    """Make the folders that a node with another root needs, and return them by ChangedRoot's names.

    They are where this host's own temporary files are. So files cost there what they cost on this host.
    """
    made = {name: spec.temporary / name for name in ("new", "temporary", "tmp")}
    for folder in made.values():
        folder.mkdir(exist_ok=True)
        # All users may write to /tmp and /var/tmp.
        folder.chmod(0o1777)
    return made


class InCgroup(ChangedRoot):
    """The image's files in no container, in the cgroup of a `container` that only waits, with its resource limits.

    Raise Unavailable if the container has ended.
    """

    def __init__(self, spec: Spec, container: Node):
        process, mounted = min(cgroup.members(container.groups), default=None), cgroup.mounts()
        if process is None:
            raise Unavailable(f"the container {container.name} has ended")
        groups = dict.fromkeys(cgroup.of_process(process, mounted, name) for name in CONTROLLERS)
        super().__init__(spec, **folders_of(spec), limited=[group for group in groups if group])
        self.container, self.limits = container, limits_of(process)

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        return [*self.limits, *super().enter(program, folder, without=without)]


def limits_of(process: int) -> list[str]:
    """Return the prefix that gives a command the resource limits of a process."""
    held = {name: resource.prlimit(process, getattr(resource, f"RLIMIT_{name.upper()}")) for name in LIMITED}
    words = {name: ["unlimited" if one == resource.RLIM_INFINITY else str(one) for one in pair] for name, pair in held.items()}
    return ["prlimit", *(f"--{name}={soft}:{hard}" for name, (soft, hard) in words.items())]


class OfCgroup:
    """Part of an engine's step that has the cgroup of a container, and is in no container."""

    services = False

    def check(self) -> str:
        """Return the engine's version. Raise Unavailable for a user who is not root, and if the engine does not work."""
        needs_root(NO_CONTAINER)
        return super().check()

    def start(self, specs, on=HOST) -> list[Node]:
        """Start a container for each node, and return nodes in the containers' cgroups."""
        # The command of the image only waits.
        more = {"command": (), "network": HostNetwork()}
        waiting = [spec._replace(name=f"{LABEL}-{spec.run}-c0", group=self.group_of(spec.run), **more) for spec in specs]
        containers = super().start(waiting, on)
        return [InCgroup(spec, container) for spec, container in zip(specs, containers, strict=True)]

    def stop(self, nodes) -> None:
        """Remove the containers, and the group that they were in."""
        super().stop([node.container for node in nodes])
        for node in nodes:
            cgroup.remove(node.container.spec.group.strip("/"))


def variant(runtime: Runtime, suffix: str, says: str, parts: tuple[type, ...] = (), **more) -> Runtime:
    """Return a runtime like another one. Its name ends in `suffix`, and its label in `says`.

    `parts` are classes before that of the other one, and `more` are members of its own class.
    """
    kind = type(runtime)
    members = {
        "name": f"{runtime.name}-{suffix}",
        "label": f"{runtime.label}, {says}",
        "colour": None,
        "hatch": None,
        "variant_of": runtime.name,
        # The other runtime itself finds and removes leftovers.
        "left": lambda self: [],
        "sweep": lambda self: None,
        "forget": lambda self: [],
        **more,
    }
    return type(f"{kind.__name__}{suffix.title().replace('-', '')}", (*parts, kind), members)()


def step(engine: Engine, suffix: str, says: str, words: Sequence[str] = (), **more) -> Runtime:
    """Return a variant of an engine, whose containers have the engine's default options and these `words`."""
    kind = type(engine)
    return variant(engine, suffix, says, options=property(lambda self: (*_options_of(kind, self), *words)), **more)


def of_engine(engine: Engine) -> list[Runtime]:
    """Return the steps of an engine: its default less one part after the other, and its default with one option each."""
    capable, own = all_capabilities(), {"network": HostNetwork()}
    free = (*capable, *NO_FILTER)
    shared = (*HOST_IPC, *HOST_PID, *free)
    return [
        variant(engine, "cgroup", "its cgroup and limits alone", (OfCgroup,)),
        step(engine, "volumes", f"on the host's namespaces, unconfined, {OF_VOLUMES}", (*shared, *VOLUMES), **own),
        step(engine, "open", "on the host's namespaces, unconfined", shared, **own),
        step(engine, "pid", "with processes of its own, unconfined", (*HOST_IPC, *free), **own),
        step(engine, "ipc", "with shared memory of its own, unconfined", free, **own),
        step(engine, "unfiltered", "with usual capabilities", NO_FILTER, **own),
        step(engine, "filtered", "with its seccomp filter, on the host's network", **own),
        step(engine, "with-volumes", OF_VOLUMES, VOLUMES),
        step(engine, "with-shm", "shared memory as large as this host's", _as_much_shared_memory()),
        step(engine, "with-ipc", "--ipc host", HOST_IPC),
        step(engine, "with-capabilities", "all capabilities", capable),
        step(engine, "with-seccomp", "--security-opt seccomp=unconfined", NO_FILTER),
    ]


def of_rootless(engine: Engine) -> list[Runtime]:
    """Return the steps of an engine without root. They begin in a container: the files in no container need root."""
    own = {"network": HostNetwork()}
    return [
        step(engine, "volumes", f"on the host's network, {OF_VOLUMES}", VOLUMES, **own),
        step(engine, "filtered", "on the host's network", **own),
        step(engine, "with-volumes", OF_VOLUMES, VOLUMES),
    ]


def _as_much_shared_memory() -> tuple[str, ...]:
    """Return the option that gives a container as much shared memory as this host has."""
    if not SHARED_MEMORY.is_dir():
        return ()
    seen = os.statvfs(SHARED_MEMORY)
    return ("--shm-size", str(seen.f_blocks * seen.f_frsize))


def _options_of(kind: type[Engine], step: Engine) -> tuple[str, ...]:
    """Return the options of an engine's default containers. Some engines compute them."""
    given = kind.options
    return given.func(step) if isinstance(given, cached_property) else given


# Ranks that are split over containers. The name tells their cells from those with all ranks in one container.
SPLIT = tuple(variant(one, "split", "split") for one in (Docker(), Podman(), PodmanRootless(), Singularity()))
STEPS = (AsInstalled(), Files(), *of_engine(Docker()), *of_engine(Podman()), *of_rootless(PodmanRootless()), *SPLIT)
