"""Charliecloud: `ch-run` of every program, in a user namespace and a mount namespace, from the unpacked image.

`ch-run` mounts folders only where the image has folders, and it mounts the image read-only. So nodes start from a second
tree of the image's files. Its files are hard links. It has one empty folder more for each node: the node's own.
"""

import contextlib
import os
import shutil
from pathlib import Path

from plimsoll import paths
from plimsoll.errors import Unavailable
from plimsoll.interchange import Image
from plimsoll.runtimes.base import HOST, Node, Runtime, Spec, binding_kept, join, without_variables
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.cpuset_node import confine, release
from plimsoll.runtimes.image_forms import UNPACKED
from plimsoll.runtimes.namespaces import refuse_without_user_namespaces
from plimsoll.runtimes.privileges import IN_NAMESPACE, Privileges

PACKAGE = "charliecloud-runtime"
# `ch-run` refuses to start without this variable. No program in a node has it.
USER = "USER=plimsoll"
# It prints its version as if that were an error.
VERSION = f"{USER} exec ch-run --version 2>&1"
# Folder beside an image's unpacked files: the second tree, and a link for each node to the node's folder.
BESIDE, TREE, NODES = "charliecloud", "rootfs", "nodes"
LINK_SECONDS = 300.0
# Folders and files that `ch-run` covers with those of the host, or with its own. It refuses an image that lacks one.
FOLDERS, FILES = ("dev", "proc", "sys", "tmp"), ("etc/passwd", "etc/group")


class CharliecloudNode(Node):
    """Node in which each program brings its own container. Nothing is up before a program."""

    kind = "charliecloud"
    separate = False
    # No process may read the memory of one in another user namespace.
    two_copies = True

    def __init__(self, spec: Spec, on: Node, cpusets: list[Path]):
        super().__init__(spec.name, on, spec=spec)
        self.cpusets = cpusets

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        prefix = join(self.cpusets) if self.cpusets else []
        own = self.spec.folder
        return [
            *(binding_kept(prefix) if prefix and keep_binding else prefix),
            *(without_variables(without) or ["env"]),
            f"--chdir={own}",
            USER,
            f"HOME={self.spec.home}",
            *("ch-run", "--unset-env=USER"),
            # ch-run takes a colon for the end of a path, so the folder is named as the one in which ch-run starts.
            f"--bind=/proc/self/cwd:{own}",
            f"--cd={folder or own}",
            str(_beside(self.spec.image) / TREE),
            "--",
            *program,
        ]


class Charliecloud(Runtime):
    """Charliecloud, with a user namespace for each rank."""

    name = "charliecloud"
    label = "Charliecloud"
    bound = True
    packages = (PACKAGE,)

    def privileges(self) -> Privileges:
        """Return what `ch-run` gives."""
        why = "it is what `ch-run` gives to every user; the capabilities hold for what its user namespace owns"
        return Privileges(IN_NAMESPACE, shares=("ipc", "net", "pid", "uts"), mounts=("FOLDER", "/tmp"), why=why)

    def check(self) -> str:
        """Return the version that `ch-run` prints. Raise Unavailable if it is not installed, or if no user namespace can
        be made here."""
        if not shutil.which("ch-run"):
            raise Unavailable(f"ch-run (Debian's package {PACKAGE}) is not installed")
        refuse_without_user_namespaces()
        return f"Charliecloud {output(['sh', '-c', VERSION]).strip()}"

    def versions(self) -> dict[str, str]:
        """Return the version of Charliecloud, by its name."""
        return {"Charliecloud": self.check()}

    def programs(self) -> tuple[str, ...]:
        """Return the name of its program."""
        return ("ch-run",)

    def start(self, specs, on=HOST) -> list[Node]:
        """Make the folder of each node in the second tree, and the cpusets that the places need."""
        home, cpusets = confine(specs, on)
        try:
            for spec in specs:
                _make(spec)
        except (OSError, Unavailable) as problem:
            _remove(_beside(specs[0].image))
            release([CharliecloudNode(spec, home, []) for spec in specs])
            raise Unavailable(f"the image's files could not be prepared for ch-run: {problem}") from problem
        return [CharliecloudNode(spec, home, cpusets[i : i + 1]) for i, spec in enumerate(specs)]

    def stop(self, nodes) -> None:
        """Remove the nodes' folders from the second tree, and their cpusets."""
        release(nodes)
        for node in nodes:
            _forget(_beside(node.spec.image) / NODES / node.name)

    def left(self) -> list[str]:
        return [link.name for link in _left()]

    def sweep(self) -> None:
        for link in _left():
            _forget(link)

    def forget(self) -> list[str]:
        """Remove the second trees of this user's images. Return, in words, what was removed."""
        trees = list(paths.image_store().glob(f"*/{BESIDE}"))
        for beside in trees:
            _remove(beside)
        return [f"{beside}: files of the image for ch-run" for beside in trees]


def _beside(image: Image) -> Path:
    return Path(image["rootfs"]).with_name(BESIDE)


def _left() -> list[Path]:
    """Return the links of all nodes that exist, of any run of this user."""
    return sorted(paths.image_store().glob(f"*/{BESIDE}/{NODES}/*"))


def _make(spec: Spec) -> None:
    """Make the node's folder in the second tree, after the tree if there is none or an outdated one. Raise Unavailable or
    OSError if that fails."""
    beside, rootfs = _beside(spec.image), Path(spec.image["rootfs"])
    if not _is_linked(beside / TREE, spec.image):
        _remove(beside)
        (beside / NODES).mkdir(parents=True)
        output(["cp", "--archive", "--link", str(rootfs), str(beside / TREE)], LINK_SECONDS)
        _complete(beside / TREE)
    link = beside / NODES / spec.name
    link.unlink(missing_ok=True)
    link.symlink_to(spec.folder)
    (beside / TREE / spec.folder.relative_to("/")).mkdir(parents=True, exist_ok=True)


def _complete(tree: Path) -> None:
    for name in FOLDERS:
        (tree / name).mkdir(exist_ok=True)
    (tree / "etc").mkdir(exist_ok=True)
    for name in FILES:
        if not (tree / name).exists():
            (tree / name).touch()


def _is_linked(tree: Path, image: Image) -> bool:
    """Return whether the tree has the image's unpacked files. An image that was made again has others."""
    try:
        return all((tree / path).samefile(Path(image["rootfs"], path)) for path in image["files"])
    except OSError:
        return False


def _forget(link: Path) -> None:
    """Remove a node's folder, and the folders above it that the image does not have, from the second tree."""
    with contextlib.suppress(OSError):
        inside = Path(os.readlink(link)).relative_to("/")
        beside = link.parent.parent
        for path in (inside, *inside.parents):
            if (beside.with_name(UNPACKED) / path).is_dir():
                break
            with contextlib.suppress(FileNotFoundError):
                (beside / TREE / path).rmdir()
    link.unlink(missing_ok=True)


def _remove(beside: Path) -> None:
    shutil.rmtree(beside, ignore_errors=True)


RUNTIMES = (Charliecloud(),)
