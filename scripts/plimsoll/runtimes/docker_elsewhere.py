"""Docker on another machine, which ssh reaches.

Containers are on that machine's own network, and get copies of their folders. It is not listed as a runtime: a
cluster may have nodes on it.
"""

import contextlib
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import machine_lock
from plimsoll.interchange import ClusterHost, Image
from plimsoll.runtimes import mounts
from plimsoll.runtimes.base import HOST, Node
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.docker import Docker
from plimsoll.runtimes.engine import EngineNode
from plimsoll.runtimes.networks import second_host
from plimsoll.runtimes.networks.base import Network

FACTS = "{{.NCPU}} {{.MemTotal}} {{.ServerVersion}}"
# Time limits for copying an image, and for copying a run's folders (s).
IMAGE_SECONDS, FOLDER_SECONDS = 900.0, 60.0
# Script that holds the lock of the workflows on a machine while standard input is open. Every user may read the
# lock's file, no matter which user made it.
HELD = f"""
for folder in {" ".join(map(str, machine_lock.FOLDERS))}; do [ -k "$folder" ] && break; done
file=$folder/{machine_lock.LOCK}
[ -e "$file" ] || (umask 022; : >>"$file") || exit 1
exec 9<"$file" || exit 1
flock --nonblock 9 && echo "{second_host.MARK} held" && cat >/dev/null
"""


class DockerElsewhere(Docker):
    """The engine of the machine `host`, which is a name for ssh."""

    network = Network("host")

    def __init__(self, host: str):
        self.host = host
        self.command = ("docker", "--host", f"ssh://{host}")

    def let_go(self, names) -> None:
        """Do nothing: the cgroups of its containers are not on this host."""

    def shared(self, spec) -> list[str]:
        """Return the option that makes the node's folder a volume on the other machine."""
        return mounts.option("volume", f"target={spec.folder}")

    def start(self, specs, on=HOST) -> list[Node]:
        """Make containers, copy their folders into them, and start them. Raise Unavailable, with none left, if that
        fails."""
        try:
            for spec in specs:
                output([*self.command, "create", *self.words(spec)])
                self._give(spec.name, [spec.folder, *(Path(folder) for folder, _ in spec.mounts)])
            output([*self.command, "start", *(spec.name for spec in specs)])
        except Unavailable:
            self.remove([spec.name for spec in specs])
            raise
        return [EngineNode(spec, on, [], self.command) for spec in specs]

    def _give(self, name: str, folders: list[Path]) -> None:
        # Folders are packed with their whole paths, because `docker cp` makes no parent folders.
        packed = ["tar", "--create", "--directory", "/", *(str(folder).lstrip("/") for folder in folders)]
        unpacked = [*self.command, "cp", "-", f"{name}:/"]
        output(["bash", "-c", f"set -o pipefail; {shlex.join(packed)} | {shlex.join(unpacked)}"], FOLDER_SECONDS)

    def stop(self, nodes) -> None:
        """Copy back what containers have written into their folders, and remove the containers."""
        for node in nodes:
            with contextlib.suppress(Unavailable):
                folder = node.spec.folder
                output([*self.command, "cp", f"{node.name}:{folder}/.", str(folder)], FOLDER_SECONDS)
        super().stop(nodes)

    def hold(self, image: Image, archive: Path) -> None:
        """Load the image there, from a file of this host, if its digest is missing. Raise Unavailable if that fails."""
        if self._digest(image) != image["id"]:
            output([*self.command, "load", "--quiet", "--input", str(archive)], IMAGE_SECONDS)
        if self._digest(image) != image["id"]:
            raise Unavailable(f"the engine on {self.host} has another {image['tag']} than was built here: remove it there")

    def _digest(self, image: Image) -> str:
        shown = [*self.command, "images", "--quiet", "--no-trunc", image["tag"]]
        return output(shown, second_host.ANSWER_SECONDS).strip()


@contextlib.contextmanager
def held(host: str) -> Iterator[None]:
    """Hold a machine's lock, so that no other workflow measures there. Raise Unavailable if another holds it."""
    words = second_host.SshMachine(host).enter(["sh", "-c", HELD])
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as holding:
        try:
            if not any(line.startswith(f"{second_host.MARK} held") for line in holding.stdout):
                raise Unavailable(f"another workflow is measuring on {host}, or ssh does not reach it any more")
            yield
        finally:
            holding.stdin.close()


def look(name: str) -> ClusterHost:
    """Return the description of a machine on which a node of a cluster is to run. Raise Unavailable if ssh or its
    engine does not answer."""
    told = second_host.look(name)
    facts = output([*DockerElsewhere(name).command, "info", "--format", FACTS], second_host.ANSWER_SECONDS).split()
    return {
        **{key: told[key] for key in ("name", "kernel", "cpu_model")},
        "processors": int(facts[0]),
        "memory_bytes": int(facts[1]),
        "engine": f"Docker {facts[2]}",
    }
