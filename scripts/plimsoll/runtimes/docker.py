"""Docker: a container for each group of ranks, with its own namespaces and cgroup, on a bridge network of the study's
own."""

import contextlib
import os
import shutil
import signal
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import Outage, Unavailable
from plimsoll.host import cgroup, freezer, processes, variables
from plimsoll.interchange import Image
from plimsoll.measuring import lock
from plimsoll.runtimes.base import LABEL, LABELLED, REMOVABLE, join
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.engine import ANSWER_SECONDS, Engine
from plimsoll.runtimes.image_forms import image_gone
from plimsoll.runtimes.networks.engine_bridge import EngineBridge
from plimsoll.runtimes.privileges import CONFINED, Privileges

# Script by which set-up starts the engine.
START = "scripts/setup/docker.sh"
# PID file of an engine that systemd has not started, and the time limit for its end (s).
PID_FILE = Path("/var/run/docker.pid")
END_SECONDS = 30.0
# Folder into which shims write if set-up has started the engine.
SHIMS = Path("/tmp")
# Process that supervises a container, and the time limit for its end after the container's removal (s).
SHIM, SHIM_SECONDS = "containerd-shim", 3.0
# Part of the engine that starts containers, and the template that prints the versions of all parts.
STARTS, COMPONENTS = "containerd", "{{range .Server.Components}}{{.Name}}={{.Version}}\n{{end}}"


class Docker(Engine):
    """Docker with its default seccomp profile."""

    name = "docker"
    remedy = f"end it if it hangs, and start it (bash {START} does)"
    label, called = "Docker", "the Docker engine"
    colour, hatch = "#0072b2", ""
    command = ("docker",)
    network = EngineBridge(command)
    steps = ("docker.sh",)
    daemons = ("dockerd", "containerd", "containerd-shim", "docker-proxy")
    facts = "{{.CgroupDriver}} {{.DockerRootDir}}"
    # Docker's defaults, so that its daemon.json has no effect on these. With mapped users (userns-remap) root of a
    # container could neither write into the run's folder nor have the host's network. Some log drivers do not return
    # what was printed.
    options = ("--userns", "host", "--log-driver", "json-file")

    def privileges(self) -> Privileges:
        """Return what Docker gives by default."""
        return CONFINED._replace(capabilities="docker")

    def check(self) -> str:
        """Return the version of the engine. Raise Unavailable if the engine runs without root.

        Without root nothing counts the processor time of its containers, and each of its runs would look disturbed.
        """
        version = self.check_building()
        security = output([*self.command, "info", "--format", "{{.SecurityOptions}}"], 30)
        if "name=rootless" in security:
            raise Unavailable(
                "this Docker engine runs without root, so that the time of its containers cannot be told apart from others' "
                "(podman-rootless can measure without root)"
            )
        return f"{version} (userns-remap, its containers with --userns=host)" if "name=userns" in security else version

    def check_building(self) -> str:
        """Return the version of the engine, with or without root. Raise Unavailable if it is Podman."""
        if is_podman(self.command):
            raise Unavailable(f"this `docker` is Podman; use the runtime podman{'-rootless' * bool(os.geteuid())}")
        return f"Docker {self._version(30)}"

    def versions(self) -> dict[str, str]:
        """Return the versions of the engine and its parts, and how it stores images, makes cgroups and filters system
        calls."""
        asked = (
            "storage driver={{.Driver}}\ncgroup driver={{.CgroupDriver}}\ndefault runtime={{.DefaultRuntime}}\n"
            'security={{join .SecurityOptions "; "}}'
        )
        settings = output([*self.command, "info", "--format", asked], 30)
        return {**self._parts(30), **dict(line.split("=", 1) for line in settings.splitlines() if line)}

    def programs(self) -> tuple[str, ...]:
        return ("docker", "dockerd", "containerd", "runc", "/etc/docker/daemon.json")

    def image_of(self, spec) -> str:
        """Return the image's digest. Another user of the engine may give the tag to another image."""
        return spec.image["id"]

    def make_folder(self, run: str) -> Path:
        """Make and return a folder of this host where the engine stores what containers write.

        It is for programs outside containers: a volume that no container has. It stays until it is removed.
        """
        name = self._volume(run)
        output([*self.command, "volume", "create", "--label", LABELLED, name])
        return Path(output([*self.command, "volume", "inspect", "--format", "{{.Mountpoint}}", name]).strip())

    def remove_folder(self, run: str) -> None:
        """Remove the folder of a run with its content. Do nothing if there is none."""
        output([*self.command, "volume", "rm", "--force", self._volume(run)], 60)

    def _volume(self, run: str) -> str:
        return f"{LABEL}-{run}"

    def sweep(self) -> None:
        """Remove containers, the network, and the folders of runs. A user who may not use the engine has left nothing
        there."""
        if not shutil.which(self.command[0]):
            return
        try:
            self.refuse_hanging()
            self.answer()
        except Unavailable:
            if os.geteuid() and not self._may_be_asked():
                return
            raise
        super().sweep()
        remove_words()
        listed = [*self.command, "volume", "ls", "--quiet", "--filter", f"label={REMOVABLE}"]
        if names := output(listed).split():
            output([*self.command, "volume", "rm", "--force", *names], 60)

    def end_shims(self, identities: Sequence[str]) -> None:
        """Kill the shims of removed containers that do not end within SHIM_SECONDS.

        A shim ends with its container. If containerd was killed while it started the container, nothing knows that
        shim.
        """
        end = time.monotonic() + SHIM_SECONDS
        while (
            there := [n for n in processes.pids_by_name([SHIM]) if set(identities) & set(processes.words(n))]
            if identities
            else []
        ):
            if time.monotonic() > end:
                for number in there:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(number, signal.SIGKILL)
                return
            time.sleep(0.05)

    def let_go(self, names: Sequence[str]) -> None:
        """Resume paused containers, so that the engine can remove them.

        If a program is started in a container that is just paused, the engine waits for that program. Until then it
        neither removes nor resumes the container (Docker 20.10).
        """
        if not (frozen := freezer.all_frozen(cgroup.mounts())):
            return
        wanted = [number for number, name in self.listed() if name in names or number.startswith(tuple(names))]
        # The cgroups of nested containers lie below the container's own.
        for group in frozen:
            if any(number in part for number in wanted for part in group.parts):
                freezer.thaw(group)

    def examine(self, image: Image) -> None:
        """Raise Outage if something that every engine needs fails, or if the image is not the one that was built."""
        super().examine(image)
        if lacking := self.lacking(image):
            raise image_gone(image, lacking)
        self.refuse_idle(image["id"])

    def lacking(self, image: Image) -> str | None:
        """Return, in words, that Docker does not have the image as it was built. Return None if it has it."""
        wanted = {each["tag"]: each["id"] for each in (image, *image.get("stages", {}).values())}
        shown = [*self.command, "image", "inspect", "--format", "{{.Id}}"]
        with contextlib.suppress(Unavailable):
            if output([*shown, *wanted], ANSWER_SECONDS).split() == list(wanted.values()):
                return None
        return "Docker does not have it as it was built"

    def wake(self) -> None:
        """Start the engine of this machine if it does not answer and this process may start it (`is_ours`)."""
        try:
            self.refuse_silent()
        except Outage:
            if is_ours():
                start_engine()

    def revive(self) -> None:
        """Start the engine of this machine, if this process may (`is_ours`), and make the network."""
        self.wake()
        super().revive()

    def ask(self) -> None:
        """Query the versions of all parts of the engine. Raise Unavailable if one does not answer.

        The client alone answers without the engine, and the engine answers without containerd, which starts
        containers. After its end containerd comes back within some ten seconds.
        """
        self._parts(ANSWER_SECONDS)

    def _parts(self, seconds: float) -> dict[str, str]:
        """Return the version of each part of the engine. Raise Unavailable if one does not answer."""
        said = output([*self.command, "version", "--format", COMPONENTS], seconds)
        parts = dict(line.split("=", 1) for line in said.splitlines() if line)
        if STARTS not in parts:
            raise Unavailable(f"its {STARTS} does not answer")
        return parts

    def _may_be_asked(self) -> bool:
        """Return whether the engine answers this user at all, with all of its parts or not."""
        try:
            return bool(self._version(ANSWER_SECONDS))
        except Unavailable:
            return False

    def _version(self, seconds: float) -> str:
        return output([*self.command, "version", "--format", "{{.Server.Version}}"], seconds).strip()


class DockerPtrace(Docker):
    """Docker whose seccomp profile lets ranks read each other's memory."""

    name = "docker-ptrace"
    label = "Docker with CAP_SYS_PTRACE"
    colour, hatch = "#56b4e9", ".."
    capabilities = ("SYS_PTRACE",)
    variant_of = "docker"

    def privileges(self) -> Privileges:
        """Return what Docker gives by default, and one capability."""
        why = "ranks in one container read each other's memory; it is what is measured"
        return super().privileges()._replace(added=("CAP_SYS_PTRACE",), why=why)


def is_podman(command: Sequence[str]) -> bool:
    """Return whether the command `docker` is Podman: its client, as in the package podman-docker, or Docker's client
    with Podman's service."""
    told = output([*command, "--version"], ANSWER_SECONDS)
    with contextlib.suppress(Unavailable):
        told += output([*command, "version", "--format", COMPONENTS], ANSWER_SECONDS)
    return "podman" in told.lower()


def is_ours() -> bool:
    """Return whether this process may start the engine of this machine.

    It may if it is root, the engine is Docker's, and no other engine is named.
    """
    if os.geteuid() or not shutil.which("dockerd") or variables.docker_host(os.environ):
        return False
    return not is_podman(Docker.command)


def start_engine() -> None:
    """Start the engine as set-up does. Raise Unavailable if it does not answer in time."""
    from plimsoll.measuring import resources  # here, because a run that ends well does not need it

    # The engine outlives the run, so it must neither be taken for a process of the run nor be counted as one.
    root = cgroup.mounts().get("unified")
    apart = [*(join([root]) if root else []), "env", "-u", lock.VARIABLE]
    limit = f"{resources.WAIT_SECONDS:g}"
    try:
        output([*apart, "timeout", "--kill-after=5", limit, "bash", str(paths.PROJECT / START)], resources.WAIT_SECONDS + 10)
    except Unavailable as problem:
        raise Unavailable(f"{START} could not start the Docker engine within {limit} s") from problem


def remove_words() -> None:
    """Remove files that killed shims have left of our containers. Each holds the command line of a program that a
    shim was starting there."""
    for path in SHIMS.glob("runc-process*"):
        with contextlib.suppress(OSError):
            seen = path.lstat()
            own = stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid()
            if own and f'"HOSTNAME={LABEL}-'.encode() in path.read_bytes():
                path.unlink()


def restart_engine() -> None:
    """End the engine of this machine and start it again.

    Raise Unavailable, with the reason, if this process may not end it: for a user without root, for an engine
    elsewhere, or if it runs others' containers. Raise Unavailable also if it does not start in time.
    """
    if not is_ours():
        raise Unavailable("only root can start the engine of this machine again")
    running = output(["docker", "ps", "--format", "{{.Names}}"], 30).split()
    if running:
        raise Unavailable(f"it runs containers ({', '.join(running)})")
    _end_engine()
    start_engine()


def _end_engine() -> None:
    if Path("/run/systemd/system").is_dir():
        # The socket would start the engine again at the next command.
        output(["systemctl", "stop", "docker.socket", "docker.service"], 60)
        return
    process = Path("/proc", PID_FILE.read_text().strip()) if PID_FILE.exists() else None
    if process is None or not process.exists():
        raise Unavailable(f"{PID_FILE} names no process")
    os.kill(int(process.name), signal.SIGTERM)
    end = time.monotonic() + END_SECONDS
    while not _ended(process):
        if time.monotonic() > end:
            raise Unavailable(f"it did not end within {END_SECONDS:g} s")
        time.sleep(0.1)


def _ended(process: Path) -> bool:
    """Return whether a process, given by its folder in /proc, has ended. A zombie has ended: its number stays until
    its parent has read its exit status."""
    try:
        return "\nState:\tZ" in (process / "status").read_text()
    except OSError:
        return True


RUNTIMES = (Docker(), DockerPtrace())
