"""Docker on another machine, which ssh reaches: containers on that machine's own network, with copies of the folders that they
are given. It is no runtime by itself: a cluster may have nodes on it."""

import contextlib
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plimsoll.environments import mounts
from plimsoll.environments.base import HOST, Node, output
from plimsoll.environments.docker import Docker
from plimsoll.environments.engine import EngineNode
from plimsoll.environments.networks import second_host
from plimsoll.environments.networks.base import Network
from plimsoll.errors import Unavailable
from plimsoll.host import machine_lock
from plimsoll.interchange import ClusterHost, Image

FACTS = "{{.NCPU}} {{.MemTotal}} {{.ServerVersion}}"
# Copying an image, and copying a run's folders, takes no longer (s).
IMAGE_SECONDS, FOLDER_SECONDS = 900.0, 60.0
# Holds the lock of the workflows on a machine while standard input is open. Any user may read the file, whoever made it.
HELD = f"""
for folder in {" ".join(map(str, machine_lock.FOLDERS))}; do [ -k "$folder" ] && break; done
file=$folder/{machine_lock.LOCK}
[ -e "$file" ] || (umask 022; : >>"$file") || exit 1
exec 9<"$file" || exit 1
flock --nonblock 9 && echo "{second_host.MARK} held" && cat >/dev/null
"""


class DockerElsewhere(Docker):
    """The engine of the machine `host`, by ssh's name for it."""

    network = Network("host")

    def __init__(self, host: str):
        self.host = host
        self.command = ("docker", "--host", f"ssh://{host}")

    def let_go(self, names) -> None:
        """The groups of its containers are not this host's."""

    def shared(self, spec) -> list[str]:
        """The node's folder is a volume there."""
        return mounts.option("volume", f"target={spec.folder}")

    def start(self, specs, on=HOST) -> list[Node]:
        """Containers that are made, get copies of their folders, and are started."""
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
        # With their whole paths, as docker makes no folder for what it copies.
        packed = ["tar", "--create", "--directory", "/", *(str(folder).lstrip("/") for folder in folders)]
        unpacked = [*self.command, "cp", "-", f"{name}:/"]
        output(["bash", "-c", f"set -o pipefail; {shlex.join(packed)} | {shlex.join(unpacked)}"], FOLDER_SECONDS)

    def stop(self, nodes) -> None:
        """What containers have written into their folders comes back first."""
        for node in nodes:
            with contextlib.suppress(Unavailable):
                folder = node.spec.folder
                output([*self.command, "cp", f"{node.name}:{folder}/.", str(folder)], FOLDER_SECONDS)
        super().stop(nodes)

    def hold(self, image: Image, archive: Path) -> None:
        """Have the image there, by its digest, from a file of this host; Unavailable if that fails."""
        if self._digest(image) != image["id"]:
            output([*self.command, "load", "--quiet", "--input", str(archive)], IMAGE_SECONDS)
        if self._digest(image) != image["id"]:
            raise Unavailable(f"the engine on {self.host} has another {image['tag']} than was built here: remove it there")

    def _digest(self, image: Image) -> str:
        shown = [*self.command, "images", "--quiet", "--no-trunc", image["tag"]]
        return output(shown, second_host.ANSWER_SECONDS).strip()


@contextlib.contextmanager
def held(host: str) -> Iterator[None]:
    """Hold a machine's lock, so that no workflow measures there meanwhile; Unavailable if another holds it."""
    words = second_host.Reached(host).enter(["sh", "-c", HELD])
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
    """What a machine is that a node of a cluster is to run on; Unavailable if ssh or its engine does not answer."""
    told = second_host.look(name)
    facts = output([*DockerElsewhere(name).command, "info", "--format", FACTS], second_host.ANSWER_SECONDS).split()
    return {
        **{key: told[key] for key in ("name", "kernel", "cpu_model")},
        "processors": int(facts[0]),
        "memory_bytes": int(facts[1]),
        "engine": f"Docker {facts[2]}",
    }
