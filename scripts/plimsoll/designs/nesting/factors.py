"""Cells are a program that runs in instances of an environment at once, the creation of such instances, or a network between a
client and a server."""

from typing import NotRequired

from plimsoll import environments, interchange

# `instances` are containers of the host, `children` are containers in each of these: 0 where they are not nested. A network has
# neither: there `runtime` is where the client runs, `server` where the server runs, and `hosts` how many hosts they are on.
FACTORS = ("task", "runtime", "instances", "children", "server", "network", "hosts")
# A program in each instance; creating the instances; creating them where their engines have the child's image already; what
# passes between a client and a server.
CPU, CREATION, PRELOADED, NETWORK = "cpu", "creation", "preloaded", "network"
TASKS = (CPU, CREATION, PRELOADED, NETWORK)
# What containers are on: the host's own network, a bridge of the engine, Open vSwitch, or a bridge whose devices have as few
# offloads as those of Open vSwitch in user space. Of a nested one, its parent's and its own: parent+child.
OPEN_VSWITCH, PLAIN = "openvswitch", "plain"
NETWORKS = ("host", "bridge", OPEN_VSWITCH, PLAIN)
# The runtime that says whether Open vSwitch, and the wires that both have, can be had.
WIRED = "docker-open-vswitch"
# Virtual machines on the host's own processor, and where there are none, on one that is emulated.
MACHINE, EMULATED_MACHINE = "vm", "vm-emulated"
ONE, TWO = "one", "two"
PATTERN = "(?:(?:cpu|creation|preloaded)/[a-z-]+/[0-9]+/[0-9]+|network/[a-z-]+/[a-z-]+/[a-z+]+/[a-z]+)"
# Where client and server run, which the paper leaves open, and how a metric that is measured so is called.
PLACEMENTS = {
    "": "client and server where the kernel likes",
    "same_core": "client and server on one core",
    "other_core": "client and server on a core each",
}
SIZES: tuple[str, ...] = ()
OF_OBSERVATION: tuple[str, ...] = ()
OF_RUN = ("apart",)
OBSERVES_ENVIRONMENTS = False
STAGES = False
USUAL_HOURS = None
OF_NOISE = ("runtime",)
OF_LEVELS = ("task",)
# Claims' words for numbers of instances, whatever the host's number of cores: at most as many, more, the largest number that is
# at most as many, the smallest that is at least twice as many, and that largest one with all above it.
UP_TO, ABOVE, CORES, TWICE, FROM = "up to the cores", "above the cores", "the cores", "twice the cores", "from the cores on"
WORDS = (UP_TO, ABOVE, CORES, TWICE, FROM)
# However many.
EVERY = "every"
# Children in all: as many in one parent as in parents of their own, the most that can be measured both ways.
MOST = "most"
# Claims' words for the networks of nested containers, and the environment at one end whose other end is bare metal.
PARENT_NETWORK, CHILD_NETWORK, ENVIRONMENT = "parent_network", "child_network", "environment"
NO_CHILDREN = "0"
BARE = "bare"


class NestingCell(interchange.Cell):
    """A cell of this design."""

    task: str
    instances: str
    children: str
    server: str
    network: str
    hosts: str
    bindings: NotRequired[dict[str, list[int] | None]]  # by placement: processors of client and server, None if they are free
    limit_seconds: NotRequired[float]


class NestingPlan(interchange.Plan):
    """A plan of this design."""

    cores: int  # of the host
    open_vswitch: str  # where it switches: `kernel` or `user space`
    hypervisor: bool  # whether the host is a virtual machine itself
    second_host: NotRequired[interchange.SecondHost]  # if it is another machine
    placement: NotRequired[str]  # the one that claims are asked of; without it, any


class NestingRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    values: NotRequired[dict[str, float]]  # what the metrics are made of
    apart: NotRequired[float]  # how long after the first of the instances the last one began (s)
    programs_apart: NotRequired[float]  # of a creation: the same of the programs in all containers, children of one parent too
    # Of a program: how idle the machine was when all instances were up, before it began. Of a network to another machine: how
    # idle that was.
    settled: NotRequired[dict]
    each: NotRequired[list[dict]]  # of each instance: its moments in seconds after the common start, and its own values
    namespaces: NotRequired[dict[str, str]]  # of a network: those of the host, the client, the server, and their parents
    privileges: NotRequired[dict[str, dict]]  # of parents and of children: `capabilities` beyond Docker's, and `seccomp`
    switched_bytes: NotRequired[int]  # of a network: what has passed between a switch and this host
    segments: NotRequired[dict[str, int]]  # of TCP, that client and server have sent, and sent again
    bits: NotRequired[dict[str, str]]  # sha256 of each program


# What is in the files of this design's plans and records.
CELL, PLAN, RECORD = NestingCell, NestingPlan, NestingRecord


def total(cell: NestingCell) -> int:
    """Containers in which something runs: the children, or the instances where nothing is nested."""
    if cell["task"] == NETWORK:
        return sum(end != BARE for end in (cell["runtime"], cell["server"]))
    return int(cell["instances"]) * max(1, int(cell["children"]))


def nested(cell: NestingCell) -> int:
    """Containers in containers."""
    if cell["task"] == NETWORK:
        return parents(cell)
    return int(cell["instances"]) * int(cell["children"])


def parents(cell: NestingCell) -> int:
    """Containers that have an engine of their own."""
    if cell["task"] == NETWORK:
        return sum(environments.find(end).nested for end in (cell["runtime"], cell["server"]))
    return 0 if cell["children"] == NO_CHILDREN else int(cell["instances"])


def of_placement(placement: str, hosts: str) -> str:
    """Where client and server run, in words; on two hosts they are always on a core each."""
    return PLACEMENTS["other_core" if hosts == TWO else placement]
