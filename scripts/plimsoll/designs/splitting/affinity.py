"""Processors and memory nodes that containers and ranks may use: liu2020's mapping equations 1 to 5 (section 5.2).

Each mapping is a pure function. It takes a hardware setting and a scheme, and returns one Place per container (equation 1).

The paper numbers cores s * P + x, with P cores per socket. Here x is an index into the socket's own list of cores. Both are
the same on the paper's host, and the index is also right where sockets are numbered differently.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from plimsoll.designs.splitting.scheme import SOCKETS, Scheme, Setting
from plimsoll.errors import Unavailable


@dataclass(frozen=True)
class Place:
    """Processors and memory nodes that a container may use.

    `cores` is the core of each rank; it is empty if the ranks are scheduled freely.
    """

    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    cores: tuple[int, ...] = ()


@dataclass(frozen=True)
class Level:
    """A level of the factor affinity.

    `mapping` returns the places of containers, and `sockets` is the number of sockets that it needs. `by_container` says
    whether each container has cores of its own. `bound` says that containers are confined to their places even if these are
    the whole host.
    """

    mapping: Callable[[Setting, Scheme, bool], list[Place]]
    sockets: int = 1
    by_container: bool = True
    bound: bool = False


def places(level: str, setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """Return the place of every container of a scheme at a level of affinity.

    One rank alone has the first core and its memory node at every level. With `share`, containers of less than one core share
    a core: figure 40 has such containers, the equations do not. Raises Unavailable if the equations define no place.
    """
    if scheme.alone:
        return [Place(setting.sockets[0][:1], setting.nodes[0][:1])]
    return LEVELS[level].mapping(setting, scheme, share)


def refusal(level: str, hardware: str) -> str | None:
    """Return why a level is undefined for a hardware setting, whatever the scheme; None if it is defined."""
    wanted, there = LEVELS[level].sockets, SOCKETS[hardware]
    return f"{level} is defined over {wanted} sockets, and {hardware} has {there}" if there < wanted else None


def any_core(setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """Equation 2: every container may use all cores of the scheme, with an equal number from each socket."""
    per_socket = scheme.cores // len(setting.sockets)
    cpus = tuple(core for socket in setting.sockets for core in socket[:per_socket])
    return [Place(cpus, setting.all_nodes)] * scheme.containers


def pinned(setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """PIN (section 4.3): containers as in equation 2, with each rank bound to one core.

    The paper does not give the order. Here ranks are counted container by container, and cores socket by socket.
    """
    free = any_core(setting, scheme)[0]
    cores = [free.cpus[rank // scheme.ratio] for rank in range(scheme.ranks)]
    each = scheme.ranks_per_container
    return [Place(free.cpus, free.nodes, tuple(cores[i * each : (i + 1) * each])) for i in range(scheme.containers)]


def of_all_sockets(setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """CPU, equation 3: each container has its own cores, an equal number from each socket, and all memory nodes.

    Raises Unavailable if a container has no whole number of cores per socket, unless cores are shared (`share`).
    """
    per_socket = Fraction(scheme.cores, scheme.containers * len(setting.sockets))
    ranges = [_slice(i, per_socket, share) for i in range(scheme.containers)]
    return [Place(tuple(core for socket in setting.sockets for core in socket[cores]), setting.all_nodes) for cores in ranges]


def of_one_socket(setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """CPUMEM, equation 4: each container has its own cores, all of one socket, and the memory nodes of that socket.

    Raises Unavailable if a container needs more than one socket, or has no whole number of cores and `share` is false.
    """
    of_containers = []
    for socket, place in _sockets_of_containers(setting, scheme):
        cores = _slice(place, Fraction(scheme.cores, scheme.containers), share)
        of_containers.append(Place(setting.sockets[socket][cores], setting.nodes[socket]))
    return of_containers


def of_one_socket_pinned(setting: Setting, scheme: Scheme, share: bool = False) -> list[Place]:
    """CPUMEMPIN, equation 5: CPUMEM, with each rank bound to a core of its container, `ratio` ranks per core."""
    return [
        Place(place.cpus, place.nodes, tuple(place.cpus[j // scheme.ratio] for j in range(scheme.ranks_per_container)))
        for place in of_one_socket(setting, scheme, share)
    ]


def _slice(number: int, width: Fraction, share: bool) -> slice:
    """Return stretch `number` of a list of cores, each stretch `width` cores wide.

    With `share`, the ends of a fractional stretch are rounded outwards. Otherwise it raises Unavailable.
    """
    if width.denominator != 1 and not share:
        raise Unavailable(f"a container would have {width} core of a socket, which is not a whole number")
    return slice(math.floor(number * width), math.ceil((number + 1) * width))


def _sockets_of_containers(setting: Setting, scheme: Scheme) -> list[tuple[int, int]]:
    """Return (s, index among the containers of socket s) for each container; each socket has N_cps containers.

    Raises Unavailable if there are fewer containers than sockets.
    """
    per_socket = Fraction(scheme.containers, len(setting.sockets))
    if per_socket < 1:
        raise Unavailable(f"a container needs the cores of {1 / per_socket} sockets, and cannot be held in one")
    return [divmod(i, int(per_socket)) for i in range(scheme.containers)]


LEVELS: dict[str, Level] = {
    "any": Level(any_core, by_container=False),
    "pin": Level(pinned, by_container=False),
    # Containers are bound to the setting's memory nodes, even on a host that has no others.
    "mem": Level(any_core, by_container=False, bound=True),
    "cpu": Level(of_all_sockets, sockets=2),
    "cpumem": Level(of_one_socket),
    "cpumempin": Level(of_one_socket_pinned),
}
