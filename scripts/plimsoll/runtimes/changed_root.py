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

    `new` is an empty folder for the root, and `temporary` becomes its /var/tmp. `tmp` becomes its /tmp, which is in
    memory without it. Programs run in the cgroups `limited`, if there are any. Raise Unavailable if this process is not
    root.
    """

    kind = "changed root"
    separate = False

    def __init__(self, spec: Spec, new: Path, temporary: Path, limited: Sequence[Path] = (), tmp: Path | None = None):
        needs_root("running programs of an image with another root")
        super().__init__(spec.name, HOST, limited, spec)
        self.new, self.temporary, self.limited, self.tmp = new, temporary, list(limited), tmp

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        chdir = ["env", f"--chdir={folder}"] if folder else []
        prefix = join(self.limited) if self.limited else []
        on_disk = ["--tmp", str(self.tmp)] if self.tmp else []
        paths = map(str, (self.spec.image["rootfs"], self.new, self.spec.folder, self.temporary))
        script = ["unshare", "--mount", "sh", str(SCRIPT), *on_disk, *paths]
        return [*prefix, *without_variables(without), *script, *chdir, *program]
