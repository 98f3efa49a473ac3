"""Bare metal with another root, for programs of an image that look for their files by absolute paths.

It is no container. The kernel, the processes and the network are the host's. The cgroup is the host's too, except
where memory is limited. The names of files are the image's.
"""

from collections.abc import Sequence
from pathlib import Path

from plimsoll.runtimes.base import HOST, Node, Spec, join, needs_root, without_variables

SCRIPT = Path(__file__).with_name("changed-root.sh")


class ChangedRoot(Node):
    """This host with the files of the spec's image as its root.

    `new` is an empty folder for the root, and `temporary` becomes its /var/tmp. Programs run in the cgroups
    `limited`, if there are any. Raise Unavailable if this process is not root.
    """

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
        return [*prefix, *without_variables(without), "unshare", "--mount", "sh", str(SCRIPT), *paths, *chdir, *program]
