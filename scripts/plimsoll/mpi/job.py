"""An MPI job: the nodes that it needs, and mpirun's command line once these are up."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from plimsoll.host import run_files
from plimsoll.interchange import CellOfRanks, Image
from plimsoll.mpi import launch
from plimsoll.runtimes.base import LABEL, Node, Place, Spec

ROOT = Path("/")
AGENT = """\
#!/bin/sh
# What Open MPI calls instead of ssh: "{name} NODE COMMAND...", COMMAND being words for a remote shell.
node=$1
shift
unset {variables}
case $node in
{cases}esac
echo "{name}: no node $node" >&2
exit 125
"""


class Job:
    """Ranks of a program in a working directory `folder`, the same number in each node.

    `identity` is unique on the machine, and `temporary` is a short path for sockets. `image` is the description of the
    built image (plimsoll.images). `parameters` are Open MPI's. `preload` is a library of the image that every rank
    loads first.

    `places` has one place per node. A place has `cpus` and `nodes` as in a cpuset, each rank's core (`cores`), and the
    number of that core among those that Open MPI sees there (`slots`). Both lists are empty for free scheduling. With
    `confined` each node is confined to its place.
    """

    def __init__(
        self,
        identity: str,
        folder: Path,
        temporary: Path,
        image: Image,
        places: Sequence[dict],
        ranks: int,
        confined: bool,
        parameters: dict,
        preload: str | None = None,
    ):
        self.identity, self.folder, self.temporary, self.image = identity, folder, temporary, image
        self.places, self.ranks, self.confined, self.parameters, self.preload = places, ranks, confined, parameters, preload
        # Time at which mpirun was started (s since 1970).
        self.launched = 0.0

    @classmethod
    def of_cell(cls, identity: str, folder: Path, temporary: Path, cell: CellOfRanks, image: Image) -> "Job":
        """Return the job of a cell of a plan."""
        places, confined, parameters = cell["places"], cell["restricted"], cell["mpi_parameters"]
        return cls(identity, folder, temporary, image, places, cell["ranks"], confined, parameters)

    @property
    def specs(self) -> list[Spec]:
        """Return the specification of each node, one per place."""
        user = f"{os.geteuid()}:{os.getegid()}" if os.geteuid() else None
        return [
            Spec(
                run=self.identity,
                name=f"{LABEL}-{self.identity}-c{number}",
                image=self.image,
                folder=self.folder,
                place=Place(place["cpus"], place["nodes"]) if self.confined else None,
                user=user,
                temporary=self.temporary,
            )
            for number, place in enumerate(self.places)
        ]

    @property
    def pinned(self) -> bool:
        """Return whether each rank has a core of its own."""
        return bool(self.places[0]["cores"])

    @property
    def apart(self) -> bool:
        """Return whether the nodes have processors or memory nodes of their own."""
        return len({(place["cpus"], place["nodes"]) for place in self.places}) > 1

    @property
    def together(self) -> dict:
        """Return one place for all ranks, which joins the places of the nodes."""
        return {
            "cpus": ",".join(dict.fromkeys(place["cpus"] for place in self.places)),
            "nodes": ",".join(dict.fromkeys(place["nodes"] for place in self.places)),
            "cores": [core for place in self.places for core in place["cores"]],
            "slots": [slot for place in self.places for slot in place["slots"]],
        }

    def command(self, nodes: Sequence[Node], program: list[str]) -> list[str]:
        """Return the command on this host that runs a program as the ranks, in the nodes.

        `program` is a path in the image and its arguments.
        """
        return (self._to_nodes if nodes[0].separate else self._from_here)(nodes, program)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of the command, besides those of the run."""
        return launch.environment(Path(self.image["rootfs"]))

    def _from_here(self, nodes: Sequence[Node], program: list[str]) -> list[str]:
        """Return the command where ranks are mpirun's children.

        It has one specification of what to start if all nodes are entered alike, and otherwise one per node.
        """
        if nodes[0].two_copies:
            self.parameters = {**self.parameters, **launch.TWO_COPIES}
        start = [*self._mpirun_on_host(["localhost"], [self.together])]
        # Where the image's files are at other paths, the ranks need the launcher's variables.
        without = launch.RELOCATION if nodes[0].root == ROOT else ()
        entered = [
            node.enter([], self.folder, without=without, keep_binding=self.pinned)
            + self._bound(node, node.of_image(program, self.preload))
            for node in nodes
        ]
        if all(words == entered[0] for words in entered):
            return nodes[0].on.inside([*start, "-np", str(self.ranks), *entered[0]])
        each = ["-np", str(self.ranks // len(nodes))]
        first, *others = ([*each, *words] for words in entered)
        return nodes[0].on.inside([*start, *first, *(word for words in others for word in (":", *words))])

    def _bound(self, node: Node, program: list[str]) -> list[str]:
        """Return the program, with a script that binds it where the launcher's binding does not reach it or would be wrong."""
        itself = self.pinned and (node.detached or node.by_binding)
        return launch.self_bound(self.folder, self.places, program) if itself else program

    def _to_nodes(self, nodes: Sequence[Node], program: list[str]) -> list[str]:
        """Return the command where mpirun runs in the only node, or on this host with the nodes as its hosts."""
        program = nodes[0].of_image(program, self.preload)
        if self.pinned and self.apart:
            program = launch.self_bound(self.folder, self.places, program)
        ranks = ["-np", str(self.ranks), *program]
        if len(nodes) == 1:
            mpirun = [launch.MPIRUN, *self._options(["localhost"], self.places), *ranks]
            return nodes[0].inside(mpirun, self.folder, without=launch.RELOCATION)
        start = self._mpirun_on_host([node.name for node in nodes], self.places)
        over = ["--mca", "btl_tcp_if_include", nodes[0].interface] if nodes[0].interface else []
        # Open MPI splits this value at blanks, which no temporary path has.
        return [*start, *over, "--mca", "plm_rsh_agent", f"sh {self._agent(nodes)}", *ranks]

    def _agent(self, nodes: Sequence[Node]) -> Path:
        """Write the script by which Open MPI starts its daemon in each node, and return its path."""
        name = f"{nodes[0].kind}-agent.sh"
        cases = "".join(
            f'{shlex.quote(node.name)}) exec {shlex.join(node.inside(["sh", "-c"], self.folder))} "$*" ;;\n' for node in nodes
        )
        script = AGENT.format(name=name, variables=" ".join(launch.RELOCATION), cases=cases)
        return run_files.write(self.temporary / name, script)

    def _mpirun_on_host(self, hosts: list[str], places: Sequence[dict]) -> list[str]:
        return launch.mpirun(Path(self.image["rootfs"]), self._options(hosts, places))

    def _options(self, hosts: list[str], places: Sequence[dict]) -> list[str]:
        where = launch.placement(self.folder, hosts, places, self.ranks)
        return launch.options(self.temporary, self.parameters, where)
