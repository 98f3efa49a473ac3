"""Steps between this host and an engine's default container, each with one thing more than the step before.

The design `program` measures them, to find which part of a container costs a program its time. Steps of an engine are made
for each engine with Docker's command line (`of_engine`). What one option gives back of the default is a step too (`with_`).
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes.apptainer import Singularity
from plimsoll.runtimes.base import HOST, LABEL, Node, Runtime, needs_root, without_variables
from plimsoll.runtimes.changed_root import ChangedRoot
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.engine import Engine
from plimsoll.runtimes.networks.base import HostNetwork
from plimsoll.runtimes.podman import Podman
from plimsoll.runtimes.podman_rootless import PodmanRootless

# Folders that a program may write to without being told, and that a volume takes out of a container's layers.
WRITTEN = ("/tmp", "/var/tmp")
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
HOST_PROCESSES = ("--ipc", "host", "--pid", "host")


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
    containers = False

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
    containers = False

    def check(self) -> str:
        """Return what makes the root. Raise Unavailable for a user who is not root."""
        needs_root("running a program with the image's files and no container")
        return "changed root"

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the folders of each node, and return the nodes. A spec needs a `temporary` folder."""
        return [self._node(spec) for spec in specs]

    def _node(self, spec, groups: Sequence[Path] = ()) -> Node:
        new, written = spec.temporary / "root", spec.temporary / "written"
        for folder in (new, written):
            folder.mkdir(exist_ok=True)
        return ChangedRoot(spec, new, written, groups)


class FilesInGroup(Files):
    """The image's files in no container, in a cgroup of their own that limits nothing.

    A killed run's cgroup is below LABEL, and bare metal's sweep removes it.
    """

    name = "files-cgroup"
    label = "Image's files, in a cgroup"
    colour, hatch = "#7f7f7f", ".."
    variant_of = "files"

    def start(self, specs, on=HOST) -> list[Node]:
        """Make a cgroup for each node. Raise Unavailable if the kernel refuses."""
        mounted = cgroup.mounts()
        try:
            made = [cgroup.make_plain(self._group(spec), mounted) for spec in specs]
        except OSError as problem:
            raise Unavailable(f"a cgroup could not be made: {problem}") from problem
        return [self._node(spec, groups) for spec, groups in zip(specs, made, strict=True)]

    def stop(self, nodes) -> None:
        """Remove the nodes' cgroups."""
        for node in nodes:
            cgroup.remove(self._group(node.spec))

    def _group(self, spec) -> str:
        return f"{LABEL}/{spec.run}"


def of_engine(engine: Engine) -> list[Runtime]:
    """Return the steps of an engine: its default less one part after the other, and its default with one option each."""
    kind, name, label, own = type(engine), engine.name, engine.label, HostNetwork()

    def step(suffix: str, says: str, words: Sequence[str], network=None, before: str | None = None) -> Runtime:
        members = {
            "name": f"{name}-{suffix}",
            "label": f"{label}, {says}",
            "colour": None,
            "hatch": None,
            "variant_of": before or name,
            "options": property(lambda self: (*_options_of(kind, self), *words)),
            # The engine itself finds and removes leftovers of all of these.
            "left": lambda self: [],
            "sweep": lambda self: None,
            "forget": lambda self: [],
            **({"network": network} if network else {}),
        }
        return type(f"{kind.__name__}{suffix.title().replace('-', '')}", (kind,), members)()

    capable = all_capabilities()
    volumes = [word for folder in WRITTEN for word in ("--volume", folder)]
    return [
        step("open", "on the host's namespaces, unconfined", (*HOST_PROCESSES, *capable, *NO_FILTER), own, "files"),
        step("processes", "with processes and shared memory of its own, unconfined", (*capable, *NO_FILTER), own),
        step("unfiltered", "with usual capabilities", NO_FILTER, own),
        step("filtered", "with its seccomp filter, on the host's network", (), own),
        step("with-volumes", f"volumes for {' and '.join(WRITTEN)}", volumes),
        step("with-ipc", "--ipc host", ("--ipc", "host")),
        step("with-capabilities", "all capabilities", capable),
        step("with-seccomp", "--security-opt seccomp=unconfined", NO_FILTER),
    ]


def _options_of(kind: type[Engine], step: Engine) -> tuple[str, ...]:
    """Return the options of an engine's default containers. Some engines compute them."""
    given = vars(kind)["options"]
    return given.func(step) if isinstance(given, cached_property) else given


def of_split(runtime: Runtime) -> Runtime:
    """Return a runtime for ranks that are split over containers. It is the same one, under a name of its own.

    The name tells its cells from those with all ranks in one container.
    """
    kind = type(runtime)
    members = {
        "name": f"{runtime.name}-split",
        "label": f"{runtime.label}, split",
        "colour": None,
        "hatch": None,
        "variant_of": runtime.name,
        # The runtime itself finds and removes leftovers.
        "left": lambda self: [],
        "sweep": lambda self: None,
        "forget": lambda self: [],
    }
    return type(f"{kind.__name__}Split", (kind,), members)()


SPLIT = tuple(map(of_split, (Docker(), Podman(), PodmanRootless(), Singularity())))
STEPS = (AsInstalled(), Files(), FilesInGroup(), *of_engine(Docker()), *of_engine(Podman()), *SPLIT)
