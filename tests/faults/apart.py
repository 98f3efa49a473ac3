"""A machine within this one that shares nothing with it that a fault may strike, and that can be switched off and on."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from plimsoll import paths

from tests.conftest import PROJECT
from tests.faults import processes
from tests.workflow import machine

# The machine has its own folders for temporary files, locks and shared memory, and its own notes of engines and
# networks. Its own store of images shares the files with this host's. Its first process waits for every process that it
# inherits.
SETUP = """
set -e
mount --make-rprivate /
mkdir -p {folder}/docker {folder}/tmp {folder}/var-tmp {folder}/cni
chmod 1777 {folder}/tmp {folder}/var-tmp
mount -t tmpfs tmpfs /run
mkdir -m 1777 /run/lock
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --bind {folder}/docker /var/lib/docker
mkdir -p /var/lib/cni
mount --bind {folder}/cni /var/lib/cni
mount --bind {folder}/images {images}
# Of its own network; the mount of the host shows the host's interfaces.
mkdir -p {folder}/cgroup
mount --rbind /sys/fs/cgroup {folder}/cgroup
mount -t sysfs sysfs /sys
mount --move {folder}/cgroup /sys/fs/cgroup
# The project's programs may be in one of the places for temporary files.
mkdir -p {folder}/project
mount --bind {project} {folder}/project
mount --bind {folder}/tmp /tmp
mount --bind {folder}/var-tmp /var/tmp
mkdir -p {project}
mount --move {folder}/project {project}
ip link set lo up
touch {folder}/up
while :; do sleep infinity & wait $!; done
"""
OWN_ENGINE = ("dockerd", "containerd")


class Machine(machine.Machine):
    """A machine with its own home; `variables` are the environment variables of its user."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        # The project may be in a folder of which the machine has its own.
        shutil.copytree(super().set_up, self.set_up)
        if not (folder / "images").is_dir():
            subprocess.run(["cp", "--archive", "--link", str(paths.image_store()), str(folder / "images")], check=True)
        self.switch_on()

    @property
    def set_up(self) -> Path:
        return self.folder / "scripts/setup"

    def switch_on(self) -> None:
        """Start the machine, with the files on its disk, and its engine."""
        (self.folder / "up").unlink(missing_ok=True)
        self._begin(SETUP.format(folder=self.folder, images=paths.image_store(), project=PROJECT))
        self.start_engine()

    def switch_off(self) -> None:
        """End all processes at once, like a power failure. With them go all things in memory: mounts, networks, locks
        and cgroups."""
        everything = processes.below([int(self.first)])
        groups = {group for one in everything for group in _groups(one.number)}
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self.first), signal.SIGKILL)
        self.process.wait()
        end = time.monotonic() + 20
        while any(Path(f"/proc/{one.number}").exists() for one in everything) and time.monotonic() < end:
            time.sleep(0.05)
        for group in sorted(groups, reverse=True):
            with contextlib.suppress(OSError):
                group.rmdir()

    @property
    def space(self) -> str:
        """Namespace of the machine's processes."""
        return os.readlink(f"/proc/{self.first}/ns/pid")

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a fresh login there."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TERM")}
        return {**kept, "HOME": str(self.home), "USER": "root"}

    def seen(self, path: str) -> Path:
        """Return a path of the machine as this host sees it."""
        return Path(f"/proc/{self.first}/root{path}")

    def start(self, *command: str, folder: Path, out, **variables: str) -> subprocess.Popen:
        """Start a command there, as its user would."""
        return subprocess.Popen(
            self.enter(*command, folder=folder),
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def remove(self) -> None:
        """Switch the machine off for good, and remove all that it has on the disk."""
        self.switch_off()
        shutil.rmtree(self.folder, ignore_errors=True)


def _groups(process: int) -> set[Path]:
    """Return the cgroups of a process that are its machine's own, with those above them."""
    found = set()
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "plimsoll" in path or "/docker/" in path:
                for root in _roots(controllers):
                    group = root / path.lstrip("/")
                    found |= {group, *(above for above in group.parents if above != root and root in above.parents)}
    return {group for group in found if group.name != "docker"}


def _roots(controllers: str) -> list[Path]:
    rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    if not controllers:
        return [Path(row[1]) for row in rows if row[2] == "cgroup2"]
    wanted = set(controllers.split(","))
    return [Path(row[1]) for row in rows if row[2] == "cgroup" and wanted & set(row[3].split(","))]
