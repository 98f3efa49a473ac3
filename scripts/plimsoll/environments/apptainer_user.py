"""Plain Singularity as a user without privileges gets it: in a user namespace, from the unpacked image.

Each `exec` has a user namespace of its own, across which no process may read another one's memory; with `--sharens` the ranks
of a launcher share one container.
"""

from plimsoll.environments.apptainer import ExecNode, Singularity, execute
from plimsoll.environments.base import HOST, Node, hidden, output
from plimsoll.errors import Unavailable


class UserNode(ExecNode):
    """Nothing is up before a program; each brings, or joins, a container in a user namespace."""

    options: tuple[str, ...] = ("--userns",)
    private_users = True

    def enter(self, program, folder=None, *, without=(), keep_binding=False) -> list[str]:
        # Without privileges no image file can be mounted.
        return [*hidden(without), *execute(self.spec, *self.options, image=self.spec.image["rootfs"]), *program]


class SharensNode(UserNode):
    """The same, and the programs of one starter join the container of its first."""

    options = (*UserNode.options, "--sharens")
    private_users = False


class SingularityUser(Singularity):
    """Singularity with a user namespace for each rank."""

    name = "singularity-user"
    label = "Singularity without privileges"
    colour, hatch = "#6b8e23", "\\\\\\"
    variant_of = "singularity"
    unpacked = True
    node: type[UserNode] = UserNode

    def check(self) -> str:
        """What the executable calls itself, if user namespaces can be made here."""
        try:
            output(["unshare", "--user", "true"], 10)
        except Unavailable as reason:
            raise Unavailable(f"this kernel or its settings allow no user namespace ({reason})") from reason
        return super().check()

    def start(self, specs, on=HOST) -> list[Node]:
        """Nodes that are entered in user namespaces; all must be at one place."""
        if len({spec.place for spec in specs}) > 1:
            raise Unavailable("without privileges no container can be confined to a place of its own")
        return [self.node(node.spec, node.on) for node in super().start(specs, on)]


class SingularitySharens(SingularityUser):
    """Singularity with one user namespace, and one container, for all ranks."""

    name = "singularity-sharens"
    label = "Singularity without privileges, --sharens"
    colour, hatch = "#b5cc6a", "**"
    merged = True
    variant_of = "singularity-user"
    node = SharensNode


ENVIRONMENTS = (SingularityUser(), SingularitySharens())
