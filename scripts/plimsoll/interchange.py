"""What stages hand to each other as JSON: which keys there are, and what they hold.

They stay dictionaries: a stage reads what another one has written, perhaps with an older version, and a record keeps every key
that it has. What a design adds to the plan, to its cells and to its records is in its `factors`.
"""

from typing import NotRequired, TypedDict

# The level of a factor that a cell does not have; the cell's path leaves it out.
ABSENT = "none"


class Processor(TypedDict):
    """A logical processor, by the kernel's number."""

    cpu: int
    core: int  # hwloc's logical number; in files of older versions the kernel's number within the socket
    socket: int  # hwloc's logical number; in files of older versions the kernel's
    node: int  # the kernel's number of the memory node that it uses
    siblings: list[int]  # logical processors of the same core, itself included


class MemoryNode(TypedDict):
    """A memory node, with the processors that are near it."""

    node: int
    cpus: list[int]  # none if it is memory alone, such as HBM, CXL or a GPU's
    distances: list[int]  # to every node, as the firmware tells them
    memory_bytes: int | None  # None if the kernel does not say


class Cache(TypedDict):
    """A cache, with the processors that share it."""

    level: int
    type: str
    bytes: int
    cpus: list[int]


class CoreKind(TypedDict):
    """Cores of one kind, on a machine whose cores differ."""

    cpus: list[int]
    name: str  # in words: type, capacity and highest frequency, as far as the kernel tells them


class SecondHost(TypedDict):
    """Another machine at the end of a network: what it is, or the `reason` why nothing can be measured with it."""

    name: str  # ssh's
    kernel: NotRequired[str]
    cpu_model: NotRequired[str]
    processor: NotRequired[int]  # one that programs may use there
    megabits: NotRequired[int]  # per second, of this host's card on the way to it
    reason: NotRequired[str]


class ClusterHost(TypedDict):
    """Another machine that a node of a cluster may run on: what it is, or the `reason` why none can."""

    name: str  # ssh's
    kernel: NotRequired[str]
    cpu_model: NotRequired[str]
    processors: NotRequired[int]
    memory_bytes: NotRequired[int]
    engine: NotRequired[str]
    reason: NotRequired[str]


class Sizes(TypedDict):
    """What problem sizes follow from: the host as it was when they were decided (plimsoll.host.sizing)."""

    host: list  # plimsoll.host.topology.identity
    node_bytes: int  # memory of the smallest memory node
    cache_bytes: int  # sum of the last-level caches
    cluster_bytes: dict[str, int]  # memory of each host of a cluster, by name


class Topology(TypedDict):
    """A host as a plan needs it: this machine, or one that a file describes."""

    cpu_model: str
    cpus: list[Processor]
    usable: list[int]  # processors that this process may use
    sockets: int
    cores: int
    nodes: list[MemoryNode]
    caches: list[Cache]
    core_kinds: NotRequired[list[CoreKind]]  # fastest first; empty or missing where all cores are alike
    memory_bytes: int
    open_vswitch: NotRequired[str]  # where it switches: `kernel` or `user space`
    hypervisor: NotRequired[bool]  # whether it is a virtual machine itself
    root: NotRequired[bool]  # whether whoever measures on it is root; on a host that is only described, yes
    cpusets: NotRequired[bool]  # whether they may make cpusets; on a host that is only described, yes
    limits: NotRequired[bool]  # and groups with limits of processors and memory; the same
    second_host: NotRequired[SecondHost]  # that the configuration names
    cluster_hosts: NotRequired[list[ClusterHost]]  # that it names
    sizes: NotRequired[Sizes]  # what a study's problem sizes follow from, where they were decided before
    perf_event_paranoid: NotRequired[str]  # the kernel's setting of who may count what
    # perf's name of each counter, None for one that is not there; a host that is only described has all of them.
    events: NotRequired[dict[str, str | None]]


class Host(Topology):
    """This machine as reports show it."""

    architecture: str
    for_designs: dict[str, str]  # what the machine is to the designs, in words
    system: dict[str, str]  # kernel, firmware and settings that a measurement may depend on
    distribution: str
    cgroup: dict
    virtualisation: str
    runtimes: dict[str, dict]  # what trying each environment gave
    name: NotRequired[str]  # among several hosts
    slurm: NotRequired[dict[str, str]]  # its `node` and `job`, where a job of Slurm described it


class StageOfImage(TypedDict):
    """A stage of an image that is an image too."""

    tag: str
    id: str


class Image(StageOfImage):
    """An image: `tag` is its name with the identity of what it is built from, `id` Docker's digest."""

    versions: dict[str, str]
    files: dict[str, dict]  # sha256, and build identifier if it has one, by path in the image
    sif: NotRequired[str]  # path of the same files for Apptainer
    rootfs: NotRequired[str]  # path of the same files, unpacked
    archive: NotRequired[str]  # path of the image alone, for an engine that has no registry
    disk: NotRequired[str]  # path of the same files as a read-only file system, for a virtual machine
    stages: NotRequired[dict[str, StageOfImage]]  # that are images of their own
    bits: NotRequired[dict[str, str]]  # sha256 of each program, the same in all stages


class Cell(TypedDict):
    """A combination of factor levels: the keys of every design's cells. The factors themselves are keys too."""

    path: str
    runtime: str
    experiments: list[str]  # those that want the cell
    host: list  # what identifies the host (plimsoll.host.topology.identity)
    reason: str | None  # why it cannot be measured here
    useful: bool  # whether an experiment can see in it what it is wanted for
    repetitions: int
    per_block: NotRequired[int]  # how often it runs in a block, where that is not once
    # Of a cell that can be measured here, at least:
    parameters: NotRequired[dict]  # problem sizes
    expected_seconds: NotRequired[float]
    fingerprint: NotRequired[str]  # of what is measured
    short: NotRequired[str]  # why its problem is smaller than the profile asks for; empty if it is not
    # Of a cell that is measured in one launch with others that have the same `launch`:
    launch: NotRequired[str]  # the deployment: the cell's path without its part
    part: NotRequired[str]  # the cell's own folder in that launch


class CellOfRanks(Cell):
    """A cell whose run is one MPI application."""

    ranks: int
    mpi_parameters: dict[str, int | str]
    # Of a cell that can be measured here, and where no affinity is undefined:
    places: NotRequired[list[dict]]  # one per container: `cpus` and `nodes` as in a cpuset, each rank's `cores` and `slots`
    restricted: NotRequired[bool]  # whether the places leave anything of the host out


class Limits(TypedDict):
    """How often a run is attempted, and when the machine is quiet enough for it: from the profile."""

    attempts: int
    starts: int
    idle: dict[str, float]
    neighbours: dict[str, float]


class PlanHead(TypedDict):
    """What a plan says beside its cells and their order."""

    study: str
    design: str
    factors: list[str]
    image: str
    seed: int
    repetitions: int
    profile: str
    limits: Limits
    given_up: NotRequired[dict[str, str]]  # groups of required runtimes that this start has given up, with the reason
    sizes: NotRequired[Sizes]  # plans of older versions have none


class Plan(PlanHead):
    """What is measured of a study on a host."""

    cells: dict[str, Cell]  # by path
    order: list[tuple[str, int]]  # (path, repetition) in the order of measuring


class Iteration(TypedDict):
    """One iteration of a microservice, as its loop has logged it, and what came of it."""

    iteration: int
    begin: float  # seconds of a clock that has the same beginning in all containers of a host
    end: float
    values: dict[str, float] | None  # None if its output was not right
    counts: bool
    why_not: NotRequired[str | None]  # it does not count


class Before(TypedDict):
    """How idle the machine was before an attempt."""

    busy_share: float


class During(TypedDict):
    """What else the machine did during an attempt."""

    neighbour_share: NotRequired[float | None]  # None where nobody counts the time of the containers
    stolen_seconds: NotRequired[float]
    throttled_seconds: NotRequired[float]
    throttled_by: NotRequired[list[str]]
    swapped_bytes: NotRequired[int]
    stopped: NotRequired[list[str]]  # in words, what somebody stopped for a while
    apart: NotRequired[bool]


class Noise(TypedDict):
    """What else the machine did."""

    before: Before
    during: NotRequired[During]


class CellOfRun(TypedDict):
    """A cell as a record has it: without its `reason`."""

    runtime: str


class Tried(TypedDict):
    """One attempt at a run: what every design's record says of it."""

    started: float  # seconds since 1970
    raw: str  # folder of its raw output, below the study's results
    seconds: dict[str, float]  # what each part of it took
    noise: Noise
    status: str  # docs/statuses.md
    reason: str | None


class Record(Tried):
    """A run: its last attempt, and what holds for all attempts."""

    format: int
    study: str
    cell: CellOfRun
    repetition: int
    block: int
    place_in_order: int
    seed: int
    profile: str
    fingerprint: str
    image: StageOfImage
    attempts: int
    invalid_attempts: list[Tried]
    starts: NotRequired[int]  # how many starts of the workflow have tried it, if more than one
    kernels: NotRequired[dict[str, str]]  # that each library chose for the processor; records of older versions have none
    checksum: NotRequired[str]  # of the file, which reading it takes away; records of older versions have none
    system: NotRequired[str]  # identity of the system; records of older versions have none
