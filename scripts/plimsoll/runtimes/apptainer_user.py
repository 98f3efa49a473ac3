"""Plain Singularity in user namespaces, from the unpacked image, as users without privileges have it.

Each `exec` has a user namespace of its own. No process may read the memory of one in another user namespace. With
`--sharens` the ranks of a launcher share one container.
"""

import contextlib
import os
from pathlib import Path

from plimsoll.errors import Unavailable
from plimsoll.host import cgroup
from plimsoll.runtimes.apptainer import ExecNode, Singularity, executable, execute
from plimsoll.runtimes.base import HOST, SHARED_MEMORY, Node, without_variables
from plimsoll.runtimes.commands import output
from plimsoll.runtimes.cpuset_node import confine
from plimsoll.runtimes.namespaces import refuse_without_user_namespaces
from plimsoll.runtimes.privileges import Privileges

# Name of a file for each container that several processes share, before the number of the process that started them.
# Apptainer leaves the file behind.
SHARING = "sharens_instance_"
GROUPS = "apptainer"


class UserNode(ExecNode):
    """Node in which each program brings, or joins, a container in a user namespace. Nothing is up before a program."""

    options: tuple[str, ...] = ("--userns",)
    # No process may read the memory of one in another user namespace.
    two_copies = True

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        # Apptainer's notes about a container belong to the run, so they are in its folder.
        notes = ["env", f"APPTAINER_CONFIGDIR={(self.spec.temporary or self.spec.folder) / 'apptainer'}"]
        return [
            *notes,
            *without_variables(without),
            *execute(self.spec, *self.options, form=self.form, folder=folder),
            *program,
        ]


class SharensNode(UserNode):
    """UserNode in which all programs of one starter join the container of the first."""

    options = (*UserNode.options, "--sharens")
    two_copies = False
    # For root, Apptainer makes a cgroup for the shared container.
    strays = True


class TwoCopiesNode(SharensNode):
    """SharensNode whose ranks copy through shared memory, although they need not."""

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

    def privileges(self) -> Privileges:
        """Return what `apptainer exec` gives in a user namespace."""
        why = "it is what `apptainer exec --userns` gives to every user"
        return super().privileges()._replace(shares=("ipc", "net", "pid", "uts"), why=why)

    def check(self) -> str:
        """Return the version that the executable prints. Raise Unavailable if no user namespaces can be made here."""
        refuse_without_user_namespaces()
        return output([executable(), "--version"]).strip()

    def refuse(self, features) -> None:
        """Do nothing: user namespaces are what this runtime is about."""

    def start(self, specs, on=HOST) -> list[Node]:
        """Return nodes that are entered in user namespaces. Raise Unavailable if they are not all at one place."""
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
        """Take the nodes down, and remove the leftovers of the ranks' container."""
        super().stop(nodes)
        remove_shared()

    def sweep(self) -> None:
        """Remove the leftovers of a killed run, with those of its ranks' container."""
        super().sweep()
        remove_shared()


class SingularitySharensTwoCopies(SingularitySharens):
    """SingularitySharens with the two copies that a user namespace for each rank needs. It shows what part of the
    cost of these namespaces is the copies."""

    name = "singularity-sharens-two-copies"
    label = "Singularity without privileges, --sharens, two copies"
    colour, hatch = "#8fae45", "xx"
    variant_of = "singularity-sharens"
    node = TwoCopiesNode


def remove_shared() -> None:
    """Remove what Apptainer leaves of shared containers whose processes have ended, because process numbers come
    back.

    These are files named after the process that started the container. For root there are also cgroups, named after
    the container's first process.
    """
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


RUNTIMES = (SingularityUser(), SingularitySharens(), SingularitySharensTwoCopies())
