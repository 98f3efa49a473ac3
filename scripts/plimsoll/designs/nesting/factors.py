"""Keys of the nesting design's cells, plans and records.

A cell is about a program in several instances of a runtime at once, the creation of such instances, or a network
between a client and a server.
"""

from typing import NotRequired

from plimsoll import design, interchange, runtimes

# The tasks. CPU runs a program in each instance. CREATION creates the instances. PRELOADED creates them with the
# child's image already in their engines. NETWORK exchanges data between a client and a server.
CPU, CREATION, PRELOADED, NETWORK = "cpu", "creation", "preloaded", "network"
TASKS = (CPU, CREATION, PRELOADED, NETWORK)
# Networks of containers: the host's own, a bridge of the engine, Open vSwitch, and a plain bridge. The plain bridge's
# devices have as few offloads as those of Open vSwitch in user space. A nested container has two, its parent's and its
# own: parent+child.
OPEN_VSWITCH, PLAIN = "openvswitch", "plain"
NETWORKS = ("host", "bridge", OPEN_VSWITCH, PLAIN)
# The runtime whose trial shows whether Open vSwitch works, and the wires that Open vSwitch and the plain bridge share.
WIRED = "docker-open-vswitch"
ONE, TWO = "one", "two"
# Where client and server run, which the paper does not say. The key is also the suffix of a metric measured so.
PLACEMENTS = {
    "": "client and server where the kernel likes",
    "same_core": "client and server on one core",
    "other_core": "client and server on a core each",
}
# Words in claims for numbers of instances, relative to the host's number of cores. UP_TO and ABOVE are all numbers up
# to it and above it. CORES is the largest number up to it. TWICE is the smallest that is at least twice as large. FROM
# is CORES and everything above.
UP_TO, ABOVE, CORES, TWICE, FROM = "up to the cores", "above the cores", "the cores", "twice the cores", "from the cores on"
WORDS = (UP_TO, ABOVE, CORES, TWICE, FROM)
# Word in claims for any number.
EVERY = "every"
# Word in claims for a total number of children: the largest that can be measured both in one parent and in a parent
# each.
MOST = "most"
# Words in claims for the networks of a nested container, and for the runtime at the end that is not on bare metal.
PARENT_NETWORK, CHILD_NETWORK, ENVIRONMENT = "parent_network", "child_network", "environment"
NO_CHILDREN = "0"
BARE = "bare"


class NestingCell(interchange.Cell):
    """A cell of the nesting design."""

    task: str
    instances: str
    children: str
    server: str
    network: str
    hosts: str
    bindings: NotRequired[dict[str, list[int] | None]]  # by placement: processors of client and server, None if unbound
    limit_seconds: NotRequired[float]


class NestingPlan(interchange.Plan):
    """A plan of the nesting design."""

    cores: int  # number of the host's cores
    open_vswitch: str  # where Open vSwitch switches: `kernel` or `user space`
    hypervisor: bool  # whether the host is a virtual machine itself
    second_host: NotRequired[interchange.SecondHost]  # only if it is another machine
    placement: NotRequired[str]  # the placement for which claims are tested; any, if missing


class NestingRecord(interchange.Record):
    """A record of the nesting design. A run that does not count may lack any of these keys."""

    values: NotRequired[dict[str, float]]  # from which the metrics are made
    apart: NotRequired[float]  # seconds from the beginning of the first instance to that of the last
    programs_apart: NotRequired[float]  # creation only: the same for the programs in all containers, siblings included
    # Task `cpu`: how idle the machine was when all instances were up, before the program began. Networks to another
    # machine: how idle that machine was.
    settled: NotRequired[dict]
    each: NotRequired[list[dict]]  # per instance: its moments in seconds after the common start, and its own values
    namespaces: NotRequired[dict[str, str]]  # networks only: of the host, the client, the server, and their parents
    privileges: NotRequired[dict[str, dict]]  # of parents and children: `capabilities` beyond Docker's, and `seccomp`
    switched_bytes: NotRequired[int]  # networks only: bytes that passed between a switch and this host
    segments: NotRequired[dict[str, int]]  # TCP segments that client and server have sent and retransmitted
    bits: NotRequired[dict[str, str]]  # SHA-256 of each program


def total(cell: NestingCell) -> int:
    """Return the number of containers in which a program runs: the children, or the instances where nothing is nested."""
    if cell["task"] == NETWORK:
        return sum(end != BARE for end in (cell["runtime"], cell["server"]))
    return int(cell["instances"]) * max(1, int(cell["children"]))


def nested_containers(cell: NestingCell) -> int:
    """Return the number of nested containers."""
    if cell["task"] == NETWORK:
        return parents(cell)
    return int(cell["instances"]) * int(cell["children"])


def parents(cell: NestingCell) -> int:
    """Return the number of containers that have an engine of their own."""
    if cell["task"] == NETWORK:
        return sum(runtimes.find(end).nested for end in (cell["runtime"], cell["server"]))
    return 0 if cell["children"] == NO_CHILDREN else int(cell["instances"])


def of_placement(placement: str, hosts: str) -> str:
    """Return in words where client and server run. On two hosts they are always on a core each."""
    return PLACEMENTS["other_core" if hosts == TWO else placement]


class Factors(design.Factors):
    """Keys and columns of a study of nesting."""

    # `instances` are containers on the host, and `children` the containers in each of them: 0 where nothing is nested. A
    # network has neither. There, `runtime` is where the client runs, `server` where the server runs, and `hosts` how many
    # hosts they are on.
    FACTORS = ("task", "runtime", "instances", "children", "server", "network", "hosts")
    PATTERN = "(?:(?:cpu|creation|preloaded)/[a-z-]+/[0-9]+/[0-9]+|network/[a-z-]+/[a-z-]+/[a-z+]+/[a-z]+)"
    CELL, PLAN, RECORD = NestingCell, NestingPlan, NestingRecord
    OF_RUN = ("apart",)
    OF_NOISE = ("runtime",)
    OF_LEVELS = ("task",)
