"""A machine within this one, whose Docker engine can be killed.

It has its own mounts, network and processes, and an engine at the usual place. It shares the files of this machine, and
the lock that lets only one workflow measure at a time.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.conftest import PROJECT

# It has its own empty /run, except for the shared locks. The engine's data are in a folder of the test.
SETUP = """
set -e
mount --make-rprivate /
mkdir -p {folder}/lock {folder}/docker
mount --bind /run/lock {folder}/lock
mount -t tmpfs tmpfs /run
mkdir /run/lock
mount --move {folder}/lock /run/lock
mount --bind {folder}/docker /var/lib/docker
ip link set lo up
touch {folder}/up
exec sleep infinity
"""


def missing() -> str | None:
    """Return why there can be no such machine here; None if there can be one."""
    if os.geteuid():
        return "namespaces and an engine of its own need root"
    absent = [program for program in ("unshare", "nsenter", "dockerd") if not shutil.which(program)]
    if not Path("/var/lib/docker").is_dir():
        absent.append("/var/lib/docker")
    return f"{absent[0]} is not there" if absent else None


class Machine:
    """A machine within this one. `enter` gives the command that runs another one there."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._begin(SETUP.format(folder=folder))

    def _begin(self, setup: str) -> None:
        """Start the machine's first process with a shell script, and wait until that has made the file `up` in the folder."""
        flags = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        # It outlives a caller that is killed, so it must hold none of the caller's pipes open.
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["unshare", *flags, "bash", "-c", setup], **streams)
        end = time.monotonic() + 20
        while not (self.folder / "up").exists():
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.first = children.read_text().split()[0]

    def enter(self, *command: str, folder: Path = Path("/")) -> list[str]:
        return ["nsenter", "--target", self.first, "--mount", "--net", "--pid", f"--wd={folder}", "--", *command]

    def ask(self, *command: str) -> subprocess.CompletedProcess:
        """Run a command there, and wait for its end, whatever its exit status."""
        return subprocess.run(self.enter(*command), capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)

    def run(self, *command: str) -> str:
        """Run a command there, which must succeed, and return its standard output."""
        done = self.ask(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    @property
    def set_up(self) -> Path:
        """Folder of the set-up's steps, which has the same path there."""
        return PROJECT / "scripts/setup"

    def start_engine(self) -> None:
        self.run("bash", str(self.set_up / "docker.sh"))

    def kill_engine(self) -> None:
        """Kill the engine, as the kernel does for lack of memory."""
        # Only processes of this machine are visible from inside.
        self.run("pkill", "-KILL", "-x", "dockerd")

    def wait_for_container(self, seconds: float = 120) -> None:
        """Wait until a run has containers up."""
        end = time.monotonic() + seconds
        while not self.run("docker", "ps", "--quiet", "--filter", "label=plimsoll"):
            assert time.monotonic() < end, "no run had containers"
            time.sleep(0.02)

    def remove(self) -> None:
        """End all processes of the machine. Its mounts disappear with them."""
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + 20
        while Path(f"/proc/{self.first}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        shutil.rmtree(self.folder / "docker", ignore_errors=True)
