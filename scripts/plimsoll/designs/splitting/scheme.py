"""Hardware settings and deployment schemes (liu2020, section 4.3, tables 2 and 4), scaled to the host."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import topology
from plimsoll.interchange import Topology

SOCKETS = {"uma": 1, "numa": 2}
# Over-subscribed runs have twice as many ranks on the same cores. Halved runs have the same ranks on half of the cores, as in
# the paper, whose hosts have more cores than its runs use.
MODES = EXACT, OVER, HALVED = "exact", "over", "halved"
ALONE = "S1"
# Number of cores that the paper's settings use.
LARGEST = 16


@dataclass(frozen=True)
class Setting:
    """A hardware setting on this host.

    `sockets` lists the cores that the setting may use, by socket. `nodes` lists the memory nodes of the cores that it does
    use, by socket, starting with the first core's node. `largest` is the paper's number of cores.
    """

    name: str
    sockets: tuple[tuple[int, ...], ...]
    nodes: tuple[tuple[int, ...], ...]
    largest: int

    @property
    def all_nodes(self) -> tuple[int, ...]:
        """Return the memory nodes of all sockets."""
        return tuple(sorted({node for of_socket in self.nodes for node in of_socket}))

    @property
    def cores(self) -> int:
        """Return C, the number of cores of an exactly subscribed run.

        It is the largest power of two per socket that fits, at most the paper's number in all.
        """
        return _cores(self.sockets, self.largest)


@dataclass(frozen=True)
class Scheme:
    """One row of liu2020's table 4: `containers` of `ranks_per_container` ranks on `cores` cores."""

    name: str
    mode: str
    containers: int
    ranks: int
    cores: int

    @property
    def ranks_per_container(self) -> int:
        """Return the paper's N_mpi, the number of ranks per container."""
        return self.ranks // self.containers

    @property
    def beyond(self) -> bool:
        """Return whether the scheme has more containers than cores; table 4 has no such scheme."""
        return self.containers > self.cores

    @property
    def alone(self) -> bool:
        """Return whether the scheme is one rank on one core that no other rank uses: the reference of figures 27 and 28."""
        return self.name == ALONE

    @property
    def ratio(self) -> int:
        """Return the paper's r, the number of ranks per core."""
        return self.ranks // self.cores


def containers(name: str) -> int:
    """Return the number of containers of a scheme: 4 for E3. Scheme n of a series has 2^(n-1) (liu2020, table 4)."""
    return 1 if name == ALONE else 2 ** (int(name[1:]) - 1)


def single(name: str) -> str:
    """Return the scheme with one container and as many ranks as a scheme has: E1 for E3."""
    return f"{name[0]}1"


def of_bare_metal(name: str) -> tuple[str, str]:
    """Return the schemes of bare metal to compare a scheme with. The first that was measured is used.

    The first is the same scheme, which exists where bare metal's ranks are grouped on cores of their own. The second is the
    single scheme, which stands for all schemes elsewhere.
    """
    return name, single(name)


def _cores(sockets: Sequence[Sequence[int]], largest: int) -> int:
    per_socket = min(len(socket) for socket in sockets)
    return min(largest, _power_of_two(per_socket) * len(sockets))


def _power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def setting(name: str, host: Topology, largest: int) -> Setting:
    """Return the hardware setting `name` on a host with this topology; `largest` is the paper's number of cores (16).

    Raises Unavailable if the host has too few sockets or memory nodes.
    """
    wanted = SOCKETS[name]
    by_socket = topology.cores_of_sockets(host)
    node_of = {cpu["cpu"]: cpu["node"] for cpu in host["cpus"]}
    sockets = tuple(tuple(cores) for cores in list(by_socket.values())[:wanted])
    each = _cores(sockets, largest) // wanted
    nodes = tuple(tuple(dict.fromkeys(node_of[core] for core in cores[:each])) for cores in sockets)
    made = Setting(name, sockets, nodes, largest)
    if len(sockets) < wanted or len(made.all_nodes) < wanted:
        raise Unavailable(
            f"the {name} setting needs {wanted} sockets with a memory node each, and this host has "
            f"{len(by_socket)} socket(s) and {len(topology.memory_nodes(host))} memory node(s)"
        )
    return made


def schemes(hardware: Setting) -> list[Scheme]:
    """Return the schemes of a setting: E1, E2, ..., O1, O2, ..., H1 and S1.

    With the paper's 16 cores these are its table 4: 16 ranks on 16 cores in 1 to 16 containers, and on 8 cores in 1 to 8. With
    fewer cores they are C ranks on C cores in 1 to C containers, and 2C ranks on the same C cores.

    Over-subscribed schemes continue to more containers than cores, up to one container per rank (figures 15 and 40); `beyond`
    marks these. H1 has C ranks in one container on C / 2 cores; it exists only if each socket keeps a core. The last scheme,
    S1, is one rank on one core (`alone`).
    """
    cores = hardware.cores
    full = cores == hardware.largest
    over_cores, over_ranks = (cores // 2, cores) if full else (cores, 2 * cores)
    rows = [*_series("E", EXACT, cores, cores), *_series("O", OVER, over_ranks, over_cores)]
    if cores // 2 >= len(hardware.sockets):
        rows.append(Scheme("H1", HALVED, 1, cores, cores // 2))
    return [*rows, Scheme(ALONE, EXACT, 1, 1, 1)]


def _series(letter: str, mode: str, ranks: int, cores: int) -> list[Scheme]:
    rows = [Scheme(f"{letter}{i + 1}", mode, 2**i, ranks, cores) for i in range(ranks.bit_length())]
    for row in rows:
        if row.ranks % row.containers:
            raise PlimsollError(
                f"{row.ranks} ranks cannot be divided evenly among the {row.containers} containers of {row.name}: "
                "make the study's factors.processes a power of two."
            )
    return rows
