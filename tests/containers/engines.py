"""A machine within this one whose Docker engine has its own settings (daemon.json), and runs that are measured there."""

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

# User numbers that an engine which maps users gives to the root of its containers: a line for /etc/subuid and /etc/subgid.
MAPPED = "daemon:200000:65536\n"
# An engine that maps users reads these lines. They are mounted, so the files of the host are not changed.
MAP = "mount --bind {folder}/mapped /etc/subuid && mount --bind {folder}/mapped /etc/subgid"
# The engine must outlive this command. The machine's first process waits for every process that it inherits.
START = """
setsid --fork dockerd --config-file {folder}/daemon.json >{folder}/engine.log 2>&1 </dev/null
end=$((SECONDS + 60))
until docker info >/dev/null 2>&1; do [ $SECONDS -lt $end ] && sleep 0.1 || exit 1; done
"""
END = "kill $(cat /var/run/docker.pid) && while [ -e /var/run/docker.pid ]; do sleep 0.1; done"


class Machine(machine.Machine):
    """A machine without a running engine; `engine` starts one with given settings."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        (folder / "mapped").write_text(MAPPED)
        self.run("sh", "-c", MAP.format(folder=folder))

    @contextlib.contextmanager
    def engine(self, image: Image, **settings: object) -> Iterator[None]:
        """Run an engine with these settings of daemon.json. It has the image, by its digest."""
        (self.folder / "daemon.json").write_text(json.dumps(settings))
        self.run("bash", "-c", START.format(folder=self.folder))
        try:
            if self.ask("docker", "image", "inspect", image["id"]).returncode:
                self.run("docker", "load", "--quiet", "--input", str(store.folder_of(image) / store.ARCHIVE))
            yield
        finally:
            self.run("bash", "-c", END)

    def python(self, *words: str, seconds: float = 400) -> subprocess.CompletedProcess:
        """Run this Python with the project's package there, and wait for its end."""
        command = self.enter("env", f"PYTHONPATH={PROJECT / 'scripts'}", sys.executable, *words, folder=PROJECT)
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)

    def measure(self, folder: Path, image: Path, path: str) -> dict:
        """Measure a run of the plan in a study's folder, and return its record."""
        plan, target = folder / "plan.json", record.path_of(folder / "runs", path, 1)
        asked = json.loads(plan.read_text())["cells"][path]["fingerprint"]
        done = self.python("-m", "plimsoll.measure", str(plan), str(image), path, "1", asked, str(target))
        assert done.returncode == 0, (done.stdout, done.stderr)
        return record.read(target)
