"""Cells are a microservice alone, or a pair of them, in one of the cases."""

from typing import NotRequired, TypedDict

from plimsoll import interchange

FACTORS = ("case", "pair", "runtime", "placement")
PATTERN = "(?:1a?|2|3a|3b)/[a-z_+]+/[a-z-]+/[a-z-]+"
# Where a client and its server run, which the papers leave open: where the kernel likes, both on one core, on a core each.
FREE, SAME_CORE, OTHER_CORE = "free", "same-core", "other-core"
PLACEMENTS = {
    FREE: "client and server where the kernel likes",
    SAME_CORE: "client and server on one core",
    OTHER_CORE: "client and server on a core each",
}
# Placements in which a case is not what it is said to be: no statement about it is asked in them.
OTHERS_CORE = "with limits each container has a core of its own, and the server would be on that of its client's partner"
# Netperf alone is what its losses are relative to.
MOVED = "the kernel may place client and server otherwise alone than beside others, which would count as interference"
WOKEN = "alone a client and a server on two cores wait to be woken, which company spares them: that would count as a gain"
BREAKING = {("3b", OTHER_CORE): OTHERS_CORE, ("1", FREE): MOVED, ("1", OTHER_CORE): WOKEN}
SIZES: tuple[str, ...] = ()
OF_OBSERVATION = ("benchmark", "co_runner", "place", "iteration", "begin", "cpu_seconds", "wall_seconds")
OF_RUN = ("iterations", "counted", "share_counted")
OBSERVES_ENVIRONMENTS = False
STAGES = True
USUAL_HOURS = None
OF_NOISE = ("case",)
OF_LEVELS = ("case",)
# What claims say of a co-runner without naming it.
SAME, OTHERS, REST = ("same resource",), ("other resource", "other kind"), "all others"
CO_RUNNERS = (REST, *SAME, *OTHERS)


class InterferenceCell(interchange.Cell):
    """A cell of this design."""

    case: str
    pair: str
    placement: str
    members: list[str]  # microservices
    bindings: list[list[int] | None]  # of each member: processors of its client and its server, None if they are free
    containers: list[dict]  # each with the places of its `members` in the pair, and its `limits` or None
    host_limits: dict  # of all containers together
    grouped: bool  # whether a cgroup around the containers sets them; otherwise one that is alone has them as its own
    block_io_weight: int | None
    substitutes: dict[str, str]  # what stands in for a program that was not supplied
    iterations: int | None  # of a microservice alone
    window_seconds: float | None  # of a pair
    iteration_limit_seconds: float


class Sight(TypedDict):
    """What a container may use."""

    cpus: str
    nodes: str
    memory_bytes: int | None


class Member(TypedDict):
    """What a member of the pair did: its `place` there, and its iterations."""

    benchmark: str
    place: int
    iterations: list[interchange.Iteration]


class InterferenceRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    limits_seen: NotRequired[list[Sight]]  # by each container, from inside
    block_io_weight_works: NotRequired[bool | None]
    device: NotRequired[dict]  # what the run read and wrote
    iterations: NotRequired[list[Member]]
    bits: NotRequired[dict[str, str]]  # sha256 of each program


# What is in the files of this design's plans and records.
CELL, PLAN, RECORD = InterferenceCell, interchange.Plan, InterferenceRecord
