"""What the workflow asks of a runtime."""

import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from plimsoll import launcher
from plimsoll.errors import Unavailable

BINDING = Path(__file__).with_name("with-binding.sh")
JOIN = Path(__file__).with_name("join-cgroup.sh")
# Everything that a run leaves on the machine carries this name.
LABEL = "plimsoll"


class Job:
    """One run to deploy: `identity` is unique on the machine, `folder` its working directory, `cell` a cell of the plan.

    `image` holds the paths and names of the built image (plimsoll.images), `temporary` is a short path for sockets.
    `launched` is the moment at which mpirun was started, `preload` a library of the image that every rank loads first.
    """

    launched = 0.0
    preload: str | None = None

    def __init__(self, identity: str, folder: Path, temporary: Path, cell: dict, image: dict):
        self.identity, self.folder, self.temporary, self.cell, self.image = (
            identity,
            folder,
            temporary,
            cell,
            image,
        )

    @property
    def rootfs(self) -> Path:
        """The unpacked image."""
        return Path(self.image["rootfs"])

    @property
    def names(self) -> list[str]:
        """Names of the containers, which are also their host names."""
        return [f"{LABEL}-{self.identity}-c{i}" for i in range(self.cell["containers"])]

    @property
    def pinned(self) -> bool:
        """Whether each rank has a core of its own."""
        return bool(self.cell["places"][0]["cores"])

    @property
    def apart(self) -> bool:
        """Whether the containers have processors or memory nodes of their own."""
        return len({(place["cpus"], place["nodes"]) for place in self.cell["places"]}) > 1

    @property
    def together(self) -> dict:
        """The place of all ranks."""
        places = self.cell["places"]
        return {
            "cpus": ",".join(dict.fromkeys(place["cpus"] for place in places)),
            "nodes": ",".join(dict.fromkeys(place["nodes"] for place in places)),
            "cores": [core for place in places for core in place["cores"]],
            "slots": [slot for place in places for slot in place["slots"]],
        }

    def preloaded(self, program: list[str]) -> list[str]:
        """The program in a container, with the library that is to be loaded first. Set for it alone: nothing on the way to it
        could load a library that wants MPI."""
        return ["env", f"LD_PRELOAD={self.preload}", *program] if self.preload else program

    def _options(self, hosts: list[str], places: list[dict]) -> list[str]:
        where = launcher.placement(self.folder, hosts, places, self.cell["ranks"])
        return launcher.options(self.temporary, self.cell["mpi_parameters"], where)

    def mpirun_here(self) -> list[str]:
        """The launcher on the host, with the host itself as the only node, up to where ranks and programs begin."""
        return launcher.mpirun(self.rootfs, self._options(["localhost"], [self.together]))

    def mpirun_there(self, program: list[str], script: Path, enter: list[str]) -> list[str]:
        """The program as ranks in containers with namespaces of their own.

        `enter` begins a command in the only container; several are reached by mpirun on the host through `script`, which must
        lie where they see it too.
        """
        program = self.preloaded(program)
        if self.pinned and self.apart:
            program = launcher.self_bound(self.folder, self.cell["places"], program)
        ranks = ["-np", str(self.cell["ranks"]), *program]
        if self.cell["containers"] == 1:
            return [*enter, launcher.MPIRUN, *self._options(["localhost"], self.cell["places"]), *ranks]
        copy = self.folder / script.name
        copy.write_bytes(script.read_bytes())
        copy.chmod(0o755)
        start = launcher.mpirun(self.rootfs, self._options(self.names, self.cell["places"]))
        return [*start, "--mca", "plm_rsh_agent", str(copy), *ranks]

    def by_container(self, prefixes: list[list[str]], program: list[str]) -> list[str]:
        """Program specifications for mpirun, one a container: its ranks with the container's prefix before the program."""
        words = []
        for number, prefix in enumerate(prefixes):
            words += [":"] if number else []
            words += ["-np", str(self.cell["ranks_per_container"]), *prefix, *program]
        return words

    def bound(self, prefix: list[str]) -> list[str]:
        """A rank's prefix that ends in a cpuset: with the rank's binding, if it has one, set again there."""
        return [str(BINDING), *prefix, "taskset", "-c", "BINDING"] if self.pinned else prefix


def join(groups: list[Path]) -> list[str]:
    """Prefix that puts a command into cgroups."""
    return [str(JOIN), *map(str, groups), "--"]


class Deployment:
    """Containers that are up. `launch` starts a program as the cell's ranks in them; `groups` are the cgroups of the
    containers, whose processor time is the run's own; `ranks_are_children` says that ranks are children of the process that
    launches them, `strays` that they leave its cgroup all the same."""

    ranks_are_children = False
    strays = False

    def __init__(self, job: Job, groups: list[Path] | None = None):
        self.job, self.groups = job, groups or []

    def launch(self, program: list[str]) -> list[str]:
        """Command that runs the program (a path in the image and its arguments) as the cell's ranks."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Environment of that command."""
        return launcher.environment(self.job.rootfs)

    def remove(self) -> None:
        """Take the containers down; called once, whatever happened."""


@dataclass(frozen=True)
class Service:
    """A container that stays up: its `name` (also its host name), `image`, and `command`.

    `limits` are `cpus`, `nodes` (lists as in a cpuset) and `memory_bytes`, or None; `weight` is that of its block I/O; `mounts`
    are folders of the host and where they are in it, to be read only. Limits that all services of a run share are the `parent`
    group's.
    """

    name: str
    image: str
    command: tuple[str, ...]
    limits: dict | None = None
    weight: int | None = None
    mounts: tuple[tuple[str, str], ...] = ()


class Runtime(ABC):
    """A way to run ranks in containers.

    One that has `services` can also keep single containers up, and start programs in them.

    `containers` is false for bare metal; `daemons` names the processes that work for the containers outside them;
    `variant_of` names the runtime that this one is compared with, if it is another with one thing changed.
    """

    name: str
    label: str
    containers = True
    services = False
    daemons: tuple[str, ...] = ()
    variant_of: str | None = None

    @abstractmethod
    def check(self) -> str:
        """Version of what runs the containers; Unavailable with the reason if it does not answer."""

    @abstractmethod
    def deploy(self, job: Job) -> Deployment:
        """Start the cell's containers; Unavailable or CalledProcessError if that fails, with nothing left behind."""

    def start(self, services: list[Service], parent: str, folder: Path) -> list[Path]:
        """Start services on the study's own network, in a group `parent` of their own, with `folder` at the same path in them;
        their groups. Unavailable if one does not start, with nothing left behind."""
        raise NotImplementedError

    def parent(self, identity: str) -> str:
        """Path of a run's own group for all its services, below each controller's root."""
        raise NotImplementedError

    def inside(self, name: str, program: list[str]) -> list[str]:
        """Command that runs a program in a service."""
        raise NotImplementedError

    def stop(self, names: list[str]) -> None:
        """Kill and remove services."""
        raise NotImplementedError

    def storage(self) -> Path:
        """Where what services write lies on the host."""
        raise NotImplementedError

    def sweep(self) -> None:  # noqa: B027 - most runtimes leave nothing behind
        """Remove what a killed run left behind."""


def output(command: list[str], seconds: float = 60) -> str:
    """Standard output of a command; Unavailable with its last words if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"'{' '.join(command[:3])}' did not answer within {seconds:g} s") from error
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise Unavailable(f"'{' '.join(command[:3])}' failed: {words[-1]}")
    return done.stdout


def all_of(commands: list[list[str]], seconds: float = 120) -> list[str]:
    """Standard outputs of commands that run side by side; Unavailable if one fails, after all have ended."""
    processes = [
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    outputs, problem = [], None
    for command, process in zip(commands, processes, strict=True):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        outputs.append(out)
        if process.returncode:
            words = (err or out).strip().splitlines() or [f"exit status {process.returncode}"]
            problem = f"'{' '.join(command[:3])}' failed: {words[-1]}"
    if problem:
        raise Unavailable(problem)
    return outputs
