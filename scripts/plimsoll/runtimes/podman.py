"""Podman for root, beside Docker: containers without a daemon above them, with the same runc, on a bridge of the
study's own."""

import os
import resource
import subprocess
from functools import cached_property
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.interchange import Image
from plimsoll.measuring.process import kill
from plimsoll.runtimes.base import HOST, Node, needs_root
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.engine import ANSWER_SECONDS, Engine
from plimsoll.runtimes.image_forms import image_gone
from plimsoll.runtimes.networks.engine_bridge import EngineBridge
from plimsoll.runtimes.privileges import CONFINED, Privileges

# A process with this capability may raise its limits (capabilities(7)).
CAP_SYS_RESOURCE = 24


class Podman(Engine):
    """Podman with its default seccomp profile. It runs Docker's images, found by Docker's digest, so both run the
    same bits."""

    name = "podman"
    label = "Podman"
    colour, hatch = "#d55e00", "++"
    # It uses Docker's runc, so that runc makes no further difference to Docker.
    command = ("podman", "--runtime", "runc")
    # Without `--time`, `rm` waits ten seconds for programs that do not end on SIGTERM. Without `--ignore` it removes
    # no container if one of the named ones is missing, and prints nothing.
    removal = ("--time", "0", "--ignore")
    # Podman's subnets must differ from Docker's: the host has no route to a network of Podman's while nothing is on
    # it.
    network = EngineBridge(command, first=127)
    # `conmon` holds each container. The programs after `podman` set up a container, or a program in one.
    daemons = ("conmon", "podman", "netavark", "aardvark-dns", "runc")
    packages = ("podman", "netavark", "aardvark-dns", "catatonit", "runc")
    variant_of = "docker"
    facts = "{{.Host.CgroupManager}} {{.Store.GraphRoot}}"
    # The host's user namespace, whatever the user's containers.conf says: root of another one could not write into
    # the run's folder.
    user_namespace = "host"

    def privileges(self) -> Privileges:
        """Return what Podman gives by default."""
        return CONFINED._replace(capabilities="podman")

    def check(self) -> str:
        """Return the version of Podman and the name of its OCI runtime. Raise Unavailable without root: only root's
        containers have networks that mpirun on the host reaches."""
        needs_root("Podman with a network of its own")
        return output(
            [*self.command, "info", "--format", "Podman {{.Version.Version}} ({{.Host.OCIRuntime.Name}})"], 30
        ).strip()

    def versions(self) -> dict[str, str]:
        """Return the versions of Podman and its parts, and how it stores images and makes cgroups."""
        asked = (
            "Podman={{.Version.Version}}\nruntime={{.Host.OCIRuntime.Package}}\nconmon={{.Host.Conmon.Package}}\n"
            "storage driver={{.Store.GraphDriverName}}\ncgroup manager={{.Host.CgroupManager}}"
        )
        return dict(line.split("=", 1) for line in output([*self.command, "info", "--format", asked], 30).splitlines())

    def programs(self) -> tuple[str, ...]:
        return ("podman", "runc", "conmon", "netavark")

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Options of every container. The limits of processes and open files are Podman's own where it can set them,
        and this process's elsewhere."""
        words = ["--pull", "never", "--userns", self.user_namespace]
        if not _may_raise_limits():
            files, processes = resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_NPROC)
            # The limit may be above pid_max, and conmon has lowered its own limit to that.
            most = min(n for n in (processes[1], int(Path("/proc/sys/kernel/pid_max").read_text())) if n >= 0)
            words += ["--ulimit", f"nofile={files[0]}:{files[1]}", "--ulimit", f"nproc={most}:{most}"]
        return tuple(words)

    def examine(self, image: Image) -> None:
        """Raise Outage if something that every engine needs fails, or if Podman neither has the image nor can get it
        from Docker."""
        super().examine(image)
        if lacking := self.lacking(image):
            raise image_gone(image, lacking)
        if _has(self.command, image["id"]):
            self.refuse_idle(image["id"])

    def lacking(self, image: Image) -> str | None:
        """Return, in words, that Podman lacks a part of an image and cannot get it from Docker. Return None if it has
        or can get all of it."""
        every = (image, *image.get("stages", {}).values())
        there = all(any(_has(command, each["id"]) for command in (self.command, Docker.command)) for each in every)
        return None if there else "neither Podman nor Docker has it as it was built"

    def left(self) -> list[str]:
        """Return the workflow's containers. The list is empty if this user can have none."""
        return super().left() if self.for_this_user() else []

    def sweep(self) -> None:
        """Remove the workflow's containers and network, if this user can have any."""
        if self.for_this_user():
            super().sweep()

    def forget(self) -> list[str]:
        """Remove the project's images, if this user can have any. Return them in words."""
        return super().forget() if self.for_this_user() else []

    def for_this_user(self) -> bool:
        """Return whether this user can have containers of this runtime: root."""
        return not os.geteuid()

    def image_of(self, spec) -> str:
        """Return the image's digest, which is the same as Docker's."""
        return spec.image["id"].removeprefix("sha256:")

    def start(self, specs, on=HOST) -> list[Node]:
        """Start all containers with `podman run`. An image that Podman does not have comes from Docker first."""
        try:
            return super().start(specs, on)
        except Unavailable:
            wanted = {self.image_of(spec): spec.image["tag"] for spec in specs}
            there = set(output([*self.command, "images", "--quiet", "--no-trunc"]).split())
            missing = [tag for identity, tag in wanted.items() if f"sha256:{identity}" not in there]
            if not missing:
                raise
        for tag in missing:
            self._load(tag)
        return super().start(specs, on)

    def _load(self, tag: str, seconds: float = 300) -> None:
        """Load Docker's image of a tag into Podman, with its digest. Raise Unavailable if that fails."""
        with subprocess.Popen(
            [*Docker.command, "save", tag], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as saved:
            try:
                load = [*self.command, "load", "--quiet"]
                done = subprocess.run(load, stdin=saved.stdout, capture_output=True, text=True, timeout=seconds)
            except subprocess.TimeoutExpired as problem:
                kill(saved)
                raise Unavailable(f"the image {tag} was not loaded into Podman within {seconds:g} s") from problem
            # Without a reader `docker save` ends, if it has not ended yet.
            saved.stdout.close()
            words = saved.stderr.read() + done.stderr
        if saved.returncode or done.returncode:
            said = words.strip().splitlines() or ["it printed nothing"]
            raise Unavailable(f"Docker's image {tag} could not be loaded into Podman: {said[0]}")


def _has(command: tuple[str, ...], identity: str) -> bool:
    try:
        return bool(output([*command, "image", "inspect", "--format", "{{.Id}}", identity], ANSWER_SECONDS))
    except Unavailable:
        return False


def _may_raise_limits() -> bool:
    (effective,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    return bool(int(effective, 16) >> CAP_SYS_RESOURCE & 1)


RUNTIMES = (Podman(),)
