"""Docker: a container per group of ranks, each with its own namespaces and cgroup, on a bridge network of the study's own."""

import json
import os
from functools import cache
from pathlib import Path

from plimsoll import cgroup
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import LABEL, Deployment, Job, Runtime, Service, all_of, output

AGENT = Path(__file__).with_name("docker-agent.sh")
NETWORK = LABEL
# Where the network may lie; the first that no route of the host overlaps is taken.
SUBNETS = [f"10.{second}.0.0/24" for second in range(77, 127)]


class DockerDeployment(Deployment):
    """Containers that sleep; mpirun runs in the only one, or starts its daemon in each through `docker exec`."""

    def launch(self, program: list[str]) -> list[str]:
        """mpirun in the container, or on the host with the containers as its nodes."""
        enter = ["docker", "exec", "--workdir", str(self.job.folder), self.job.names[0]]
        return self.job.mpirun_there(program, AGENT, enter)

    def remove(self) -> None:
        """Kill and remove the containers; the network stays for the next run."""
        _remove(self.job.names)


class Docker(Runtime):
    """Docker with its default seccomp profile, or with capabilities added to it."""

    services = True
    daemons = ("dockerd", "containerd", "containerd-shim", "docker-proxy")

    def __init__(self, name: str, label: str, capabilities: tuple[str, ...] = (), variant_of: str | None = None):
        self.name, self.label, self.capabilities, self.variant_of = name, label, capabilities, variant_of

    def check(self) -> str:
        """Version of the engine."""
        return "Docker " + output(["docker", "version", "--format", "{{.Server.Version}}"], 30).strip()

    def deploy(self, job: Job) -> Deployment:
        """`docker run` of every container, side by side."""
        _make_network()
        options = [
            "--detach",
            "--init",
            "--label",
            LABEL,
            "--network",
            NETWORK,
            "--volume",
            f"{job.folder}:{job.folder}",
        ]
        for capability in self.capabilities:
            options += ["--cap-add", capability]
        if os.geteuid():
            options += ["--user", f"{os.geteuid()}:{os.getegid()}"]
        commands = []
        for name, place in zip(job.names, job.cell["places"], strict=True):
            own = ["--name", name, "--hostname", name]
            if job.cell["restricted"]:
                own += ["--cpuset-cpus", place["cpus"], "--cpuset-mems", place["nodes"]]
            commands.append(["docker", "run", *options, *own, job.image["tag"], "sleep", "infinity"])
        return DockerDeployment(job, _run(commands, job.names, ("docker", "system.slice")))

    def start(self, services: list[Service], parent: str, folder: Path) -> list[Path]:
        """`docker run` of every service, side by side."""
        _make_network()
        options = ["--detach", "--init", "--label", LABEL, "--network", NETWORK, "--cgroup-parent", parent]
        options += ["--volume", f"{folder}:{folder}"]
        commands = [["docker", "run", *options, *_of_service(service), service.image, *service.command] for service in services]
        return _run(commands, [service.name for service in services], (parent.strip("/"),))

    def parent(self, identity: str) -> str:
        """A slice where systemd manages groups, and a plain path where it does not."""
        # A dash in its name would put a slice below another.
        return f"{LABEL}{identity}.slice" if _engine()[0] == "systemd" else f"/{LABEL}/{identity}"

    def inside(self, name: str, program: list[str]) -> list[str]:
        """`docker exec`."""
        return ["docker", "exec", name, *program]

    def stop(self, names: list[str]) -> None:
        """`docker rm --force`; what the containers wrote goes with them."""
        _remove(names)

    def storage(self) -> Path:
        """The engine's folder."""
        return Path(_engine()[1])

    def sweep(self) -> None:
        """Remove every container that carries the workflow's label."""
        names = output(["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"]).split()
        if names:
            _remove(names)


def _of_service(service: Service) -> list[str]:
    """Options of `docker run` for one service."""
    own = ["--name", service.name, "--hostname", service.name]
    if service.limits:
        memory = str(service.limits["memory_bytes"])
        own += ["--cpuset-cpus", service.limits["cpus"], "--cpuset-mems", service.limits["nodes"]]
        own += ["--memory", memory, "--memory-swap", memory]
    for folder, inside in service.mounts:
        own += ["--volume", f"{folder}:{inside}:ro"]
    if service.weight:
        own += ["--blkio-weight", str(service.weight)]
    return own


@cache
def _engine() -> tuple[str, str]:
    """What manages the engine's cgroups (`cgroupfs` or `systemd`), and its folder."""
    driver, _, folder = output(["docker", "info", "--format", "{{.CgroupDriver}} {{.DockerRootDir}}"]).strip().partition(" ")
    return driver, folder


def _run(commands: list[list[str]], names: list[str], parents: tuple[str, ...]) -> list[Path]:
    """Start containers side by side; their cgroups, below one of the parents. Unavailable, with none left, if one fails."""
    try:
        identities = [text.strip() for text in all_of(commands)]
    except Unavailable:
        _remove(names)
        raise
    root = cgroup.accounting_folder(cgroup.mounts())
    # Docker's two drivers call a container's group differently.
    places = [f"{parent}/{name}" for i in identities for parent in parents for name in (i, f"docker-{i}.scope")]
    return [root / place for place in places if (root / place).is_dir()] if root else []


def _remove(names: list[str]) -> None:
    """Kill and remove containers with what they wrote."""
    output(["docker", "rm", "--force", "--volumes", *names], 120)


def _make_network() -> None:
    """The study's own bridge network, with a subnet that is free here: an overlapping one hangs MPI without a word."""
    try:
        output(["docker", "network", "inspect", NETWORK])
        return
    except Unavailable:
        pass
    import ipaddress  # here, because almost every run finds the network made

    taken = _routes()
    for subnet in map(ipaddress.ip_network, SUBNETS):
        if not any(subnet.overlaps(other) for other in taken):
            output(["docker", "network", "create", "--label", LABEL, "--subnet", str(subnet), NETWORK])
            return
    raise Unavailable("no free subnet was found for a Docker network of the study's own")


def _routes() -> list:
    import ipaddress

    routes = json.loads(output(["ip", "-json", "-4", "route", "show", "table", "all"]) or "[]")
    return [ipaddress.ip_network(r["dst"], strict=False) for r in routes if r.get("dst", "default") != "default"]


RUNTIMES = (
    Docker("docker", "Docker"),
    Docker("docker-ptrace", "Docker with CAP_SYS_PTRACE", ("SYS_PTRACE",), "docker"),
)
