"""What the workflow asks of a runtime."""

import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from plimsoll import launcher
from plimsoll.errors import Unavailable

# Everything that a run leaves on the machine carries this name.
LABEL = "plimsoll"


class Job:
    """One run to deploy: `identity` is unique on the machine, `folder` its working directory, `cell` a cell of the plan.

    `image` holds the paths and names of the built image (plimsoll.images), `temporary` is a short path for sockets.
    """

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

    def mpirun(self) -> list[str]:
        """The launcher, up to where hosts, ranks and programs begin."""
        oversubscribe = self.cell["ranks"] > self.cell["cores"]
        return launcher.mpirun(self.rootfs, self.temporary, self.cell["mpi_parameters"], oversubscribe)

    def agent(self, script: Path) -> list[str]:
        """Options that make mpirun reach the containers through a script, which must lie where they see it too."""
        copy = self.folder / script.name
        copy.write_bytes(script.read_bytes())
        copy.chmod(0o755)
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"{name} slots={self.cell['ranks_per_container']}\n" for name in self.names))
        return ["--hostfile", str(hosts), "--mca", "plm_rsh_agent", str(copy), "-np", str(self.cell["ranks"])]

    def on_cores(self) -> list[str]:
        """Prefix that keeps a command and its children on the cores of the cell, where these are not all the host has."""
        if not self.cell["restricted"]:
            return []
        cpus = ",".join(dict.fromkeys(place["cpus"] for place in self.cell["places"]))
        return ["taskset", "--cpu-list", cpus]


class Deployment:
    """Containers that are up. `launch` starts a program as the cell's ranks in them; `groups` are the cgroups of the
    containers, whose processor time is the run's own."""

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


class Runtime(ABC):
    """A way to run ranks in containers.

    `containers` is false for bare metal; `daemons` names the processes that work for the containers outside them;
    `variant_of` names the runtime that this one is compared with, if it is another with one thing changed.
    """

    name: str
    label: str
    containers = True
    daemons: tuple[str, ...] = ()
    variant_of: str | None = None

    @abstractmethod
    def check(self) -> str:
        """Version of what runs the containers; Unavailable with the reason if it does not answer."""

    @abstractmethod
    def deploy(self, job: Job) -> Deployment:
        """Start the cell's containers; Unavailable or CalledProcessError if that fails, with nothing left behind."""

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
