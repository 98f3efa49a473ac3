"""Where ranks may run: liu2020's mapping equations (section 5.2) as pure functions.

A mapping function takes a setting and a scheme and returns one Place a container. `LEVELS` finds it by the level's name;
a level that the study knows and that has no function here is refused at planning.
"""

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.scheme import Scheme, Setting


@dataclass(frozen=True)
class Place:
    """Processors and memory nodes that a container may use; `cores` gives each rank its own, empty for free scheduling."""

    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    cores: tuple[int, ...] = ()


def any_core(setting: Setting, scheme: Scheme) -> list[Place]:
    """Equation 2: every container may use every core of the scheme, an equal number of each socket."""
    per_socket = scheme.cores // len(setting.sockets)
    cpus = tuple(core for socket in setting.sockets for core in socket[:per_socket])
    return [Place(cpus, setting.nodes)] * scheme.containers


LEVELS: dict[str, Callable[[Setting, Scheme], list[Place]]] = {"any": any_core}
