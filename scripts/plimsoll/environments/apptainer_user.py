"""Plain Singularity in user namespaces, as a user without privileges gets it: from the unpacked image.

Each `exec` has a user namespace of its own, across which no process may read another one's memory; with `--sharens` the ranks
of a launcher share one container.
"""

import contextlib
import os
from pathlib import Path

from plimsoll.environments.apptainer import ExecNode, Singularity, executable, execute
from plimsoll.environments.base import HOST, SHARED_MEMORY, Node, hidden, output
from plimsoll.environments.confined import confine
from plimsoll.environments.namespaces import refuse_without_user_namespaces
from plimsoll.errors import Unavailable
from plimsoll.host import cgroup

# A file for each container that several share, named after the process that started them. Apptainer leaves it.
SHARING = "sharens_instance_"
GROUPS = "apptainer"


class UserNode(ExecNode):
    """Nothing is up before a program; each brings, or joins, a container in a user namespace."""

    options: tuple[str, ...] = ("--userns",)
    # No process may read the memory of one in another user namespace.
    two_copies = True

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        # Apptainer's notes about a container are the run's.
        notes = ["env", f"APPTAINER_CONFIGDIR={(self.spec.temporary or self.spec.folder) / 'apptainer'}"]
        return [*notes, *hidden(without), *execute(self.spec, *self.options, form=self.form, folder=folder), *program]


class SharensNode(UserNode):
    """The same, and the programs of one starter join the container of its first."""

    options = (*UserNode.options, "--sharens")
    two_copies = False
    # For root Apptainer makes a cgroup for the container that is shared.
    strays = True


class TwoCopiesNode(SharensNode):
    """The same, and ranks copy through shared memory although they need not."""

    two_copies = True


class SingularityUser(Singularity):
    """Singularity with a user namespace for each rank."""

    name = "singularity-user"
    label = "Singularity without privileges"
    colour, hatch = "#6b8e23", "\\\\\\"
    variant_of = "singularity"
    # An image file can be mounted only with privileges, or with FUSE.
    unpacked = True
    node: type[UserNode] = UserNode

    def check(self) -> str:
        """What the executable calls itself, if user namespaces can be made here."""
        refuse_without_user_namespaces()
        return output([executable(), "--version"]).strip()

    def refuse(self, features) -> None:
        """User namespaces are what it is about."""

    def start(self, specs, on=HOST) -> list[Node]:
        """Nodes that are entered in user namespaces; all must be at one place."""
        if len({spec.place for spec in specs}) > 1:
            raise Unavailable("without privileges no container can be confined to a place of its own")
        home, _ = confine(specs, on)
        return [self.node(spec, home, self.form) for spec in specs]


class SingularitySharens(SingularityUser):
    """Singularity with one user namespace, and one container, for all ranks."""

    name = "singularity-sharens"
    label = "Singularity without privileges, --sharens"
    colour, hatch = "#b5cc6a", "**"
    merged = True
    variant_of = "singularity-user"
    node = SharensNode

    def stop(self, nodes) -> None:
        """Remove what the ranks' container left."""
        super().stop(nodes)
        remove_shared()

    def sweep(self) -> None:
        """The same for a killed run."""
        super().sweep()
        remove_shared()


class SingularitySharensTwoCopies(SingularitySharens):
    """The same, with the copies that a user namespace for each rank takes: what of its cost are they?"""

    name = "singularity-sharens-two-copies"
    label = "Singularity without privileges, --sharens, two copies"
    colour, hatch = "#8fae45", "xx"
    variant_of = "singularity-sharens"
    node = TwoCopiesNode


def remove_shared() -> None:
    """Remove what Apptainer leaves of shared containers whose processes have ended, as their numbers come back: files named
    after who started them, and, for root, cgroups named after their first process."""
    for file in SHARED_MEMORY.glob(f"{SHARING}*"):
        with contextlib.suppress(OSError):
            if _ended(file.name.removeprefix(SHARING)) and file.stat().st_uid == os.geteuid():
                file.unlink()
    root = cgroup.accounting_folder(cgroup.mounts())
    for group in (root / GROUPS).glob("[0-9]*") if root and not os.geteuid() else ():
        if _ended(group.name):
            cgroup.remove(f"{GROUPS}/{group.name}")


def _ended(process: str) -> bool:
    return process.isdigit() and not Path(f"/proc/{process}").exists()


ENVIRONMENTS = (SingularityUser(), SingularitySharens(), SingularitySharensTwoCopies())
