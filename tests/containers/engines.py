"""A machine within this one whose Docker engine has settings of its own (daemon.json), and runs that are measured there."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from plimsoll.images import store
from plimsoll.interchange import Image
from plimsoll.measuring import record

from tests.conftest import PROJECT
from tests.workflow import machine

# Whose numbers the engine gives to root of containers, where it maps users: lines for /etc/subuid and /etc/subgid.
MAPPED = "daemon:200000:65536\n"
# One that maps users looks for these lines; the files of the host are not changed.
MAP = "mount --bind {folder}/mapped /etc/subuid && mount --bind {folder}/mapped /etc/subgid"
# Its first process waits for whatever it inherits, and must outlive this command.
START = """
setsid --fork dockerd --config-file {folder}/daemon.json >{folder}/engine.log 2>&1 </dev/null
end=$((SECONDS + 60))
until docker info >/dev/null 2>&1; do [ $SECONDS -lt $end ] && sleep 0.1 || exit 1; done
"""
END = "kill $(cat /var/run/docker.pid) && while [ -e /var/run/docker.pid ]; do sleep 0.1; done"


class Machine(machine.Machine):
    """`settings` is what its engine's daemon.json holds. `image` is there, by its digest."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        (folder / "mapped").write_text(MAPPED)
        self.run("sh", "-c", MAP.format(folder=folder))

    @contextlib.contextmanager
    def engine(self, image: Image, **settings: object) -> Iterator[None]:
        """An engine with these settings, and an image."""
        (self.folder / "daemon.json").write_text(json.dumps(settings))
        self.run("bash", "-c", START.format(folder=self.folder))
        try:
            if self.ask("docker", "image", "inspect", image["id"]).returncode:
                self.run("docker", "load", "--quiet", "--input", str(store.folder_of(image) / store.ARCHIVE))
            yield
        finally:
            self.run("bash", "-c", END)

    def python(self, *words: str, seconds: float = 400) -> subprocess.CompletedProcess:
        """This Python with the package of the project, to its end."""
        command = self.enter("env", f"PYTHONPATH={PROJECT / 'scripts'}", sys.executable, *words, folder=PROJECT)
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)

    def measure(self, folder: Path, image: Path, path: str) -> dict:
        """The record of a run of the plan in a study's folder."""
        plan, target = folder / "plan.json", record.path_of(folder / "runs", path, 1)
        asked = json.loads(plan.read_text())["cells"][path]["fingerprint"]
        done = self.python("-m", "plimsoll.measure", str(plan), str(image), path, "1", asked, str(target))
        assert done.returncode == 0, (done.stdout, done.stderr)
        return record.read(target)
