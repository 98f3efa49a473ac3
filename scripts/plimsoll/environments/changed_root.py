"""Bare metal with another root: for programs of an image that look for their files by absolute paths.

It is no container: the kernel, the processes and the network are the host's, and so is the cgroup unless memory is to be
limited. The names of files are the image's.
"""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.environments.base import HOST, Node, Spec, hidden, join, needs_root

SCRIPT = Path(__file__).with_name("changed-root.sh")


class ChangedRoot(Node):
    """This host with the files of the spec's image; `new` is an empty folder for the root, `temporary` is its /var/tmp. What
    runs in it is in the cgroups `limited`, if there are any."""

    kind = "changed root"
    separate = False

    def __init__(self, spec: Spec, new: Path, temporary: Path, limited: Sequence[Path] = ()):
        needs_root("running programs of an image with another root")
        super().__init__(spec.name, HOST, limited, spec)
        self.new, self.temporary, self.limited = new, temporary, list(limited)

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        chdir = ["env", f"--chdir={folder}"] if folder else []
        prefix = join(self.limited) if self.limited else []
        paths = map(str, (self.spec.image["rootfs"], self.new, self.spec.folder, self.temporary))
        return [*prefix, *hidden(without), "unshare", "--mount", "sh", str(SCRIPT), *paths, *chdir, *program]
