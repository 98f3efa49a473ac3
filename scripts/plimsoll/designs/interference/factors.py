"""Keys of the interference design's cells, plans and records.

A cell is a microservice, or a pair of them, in one of the cases.
"""

from typing import NotRequired, TypedDict

from plimsoll import design, interchange

# Where a client and its server run. The papers do not say it: as the kernel places them, on one core, on a core each.
FREE, SAME_CORE, OTHER_CORE = "free", "same-core", "other-core"
PLACEMENTS = {
    FREE: "client and server where the kernel likes",
    SAME_CORE: "client and server on one core",
    OTHER_CORE: "client and server on a core each",
}
# Why a placement breaks the definition of a case. Claims about such a case are not tested in that placement.
OTHERS_CORE = "with limits each container has a core of its own, and the server would be on that of its client's partner"
# Netperf's losses are relative to Netperf alone (case 1). A placement that changes its speed alone would distort them.
MOVED = "the kernel may place client and server otherwise alone than beside others, which would count as interference"
WOKEN = "alone a client and a server on two cores wait to be woken, which company spares them: that would count as a gain"
APART = "two Netperf would have a core each there and share none, where without limits both have both cores"
BREAKING = {("3b", OTHER_CORE): OTHERS_CORE, ("1", FREE): MOVED, ("1", OTHER_CORE): WOKEN}
# Words in claims for a group of co-runners: with the same resource, with another one, all that the other side leaves.
SAME, OTHERS, REST = ("same resource",), ("other resource", "other kind"), "all others"
CO_RUNNERS = (REST, *SAME, *OTHERS)


class InterferenceCell(interchange.Cell):
    """A cell of the interference design."""

    case: str
    pair: str
    placement: str
    members: list[str]  # names of the microservices
    bindings: list[list[int] | None]  # of each member: processors of client and server, None if unbound
    containers: list[dict]  # each with its `members` (places in the pair), and its own `limits` or None
    host_limits: dict  # limits of all containers together
    grouped: bool  # whether a cgroup around all containers sets host_limits; otherwise a single container has them as its own
    block_io_weight: int | None
    substitutes: dict[str, str]  # by microservice: the papers' program that it stands in for
    iterations: int | None  # of a microservice alone; None for a pair
    window_seconds: float | None  # of a pair; None for a microservice alone
    iteration_limit_seconds: float


class Sight(TypedDict):
    """What a container may use, as read from inside it."""

    cpus: str
    nodes: str
    memory_bytes: int | None


class Member(TypedDict):
    """What one member of a pair did: its `place` in the pair, and its iterations."""

    benchmark: str
    place: int
    iterations: list[interchange.Iteration]


class InterferenceRecord(interchange.Record):
    """A record of the interference design. A run that does not count may lack any of these keys."""

    limits_seen: NotRequired[list[Sight]]  # one per container, read from inside it
    block_io_weight_works: NotRequired[bool | None]
    device: NotRequired[dict]  # name of the disk, and the bytes that the run read and wrote
    iterations: NotRequired[list[Member]]
    bits: NotRequired[dict[str, str]]  # SHA-256 of each program


class Factors(design.Factors):
    """Keys and columns of an interference study."""

    FACTORS = ("case", "pair", "runtime", "placement")
    PATTERN = "(?:1a?|2|3a|3b)/[a-z_+]+/[a-z-]+/[a-z-]+"
    CELL, RECORD = InterferenceCell, InterferenceRecord
    OF_OBSERVATION = ("benchmark", "co_runner", "place", "iteration", "begin", "cpu_seconds", "wall_seconds")
    OF_RUN = ("iterations", "counted", "share_counted")
    STAGES = True
    OF_NOISE = ("case",)
    OF_LEVELS = ("case",)
