"""Types of the JSON documents that stages exchange.

The documents stay dictionaries. A stage may read what an older version has written, and a record keeps every key that
it has. The keys that a design adds to the plan, to its cells and to its records are in its `factors` module.
"""

from typing import NotRequired, TypedDict

# Level of a factor that a cell does not have. The cell's path leaves it out.
ABSENT = "none"


class Processor(TypedDict):
    """A logical processor. `cpu` is the kernel's number."""

    cpu: int
    core: int  # hwloc's logical number; in files of older versions the kernel's number within the socket
    socket: int  # hwloc's logical number; in files of older versions the kernel's
    node: int  # the kernel's number of the memory node that it uses
    siblings: list[int]  # logical processors of the same core, itself included


class MemoryNode(TypedDict):
    """A memory node, with the processors near it."""

    node: int
    cpus: list[int]  # empty for a node without processors, such as HBM, CXL or a GPU's
    distances: list[int]  # to every node, from the firmware
    memory_bytes: int | None  # None if the kernel does not say


class Cache(TypedDict):
    """A cache, with the processors that share it."""

    level: int
    type: str
    bytes: int
    cpus: list[int]


class CoreKind(TypedDict):
    """Cores of one kind, for a machine with different cores."""

    cpus: list[int]
    name: str  # in words: type, capacity and highest frequency, if the kernel gives them


class SecondHost(TypedDict):
    """Another machine at the end of a network: its facts, or the `reason` why nothing can be measured with it."""

    name: str  # its name for ssh
    kernel: NotRequired[str]
    cpu_model: NotRequired[str]
    processor: NotRequired[int]  # one that programs may use there
    megabits: NotRequired[int]  # per second, of this host's card on the way to it
    reason: NotRequired[str]


class ClusterHost(TypedDict):
    """Another machine that a cluster's node may run on: its facts, or the `reason` why none can."""

    name: str  # its name for ssh
    kernel: NotRequired[str]
    cpu_model: NotRequired[str]
    processors: NotRequired[int]
    memory_bytes: NotRequired[int]
    engine: NotRequired[str]
    reason: NotRequired[str]


class Sizes(TypedDict):
    """The facts that problem sizes follow from: the host as it was when the sizes were decided (plimsoll.host.sizing)."""

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
    open_vswitch: NotRequired[str]  # where it switches packets: `kernel` or `user space`
    hypervisor: NotRequired[bool]  # whether it is a virtual machine itself
    root: NotRequired[bool]  # whether the user who measures is root; true for a host that is only described
    cpusets: NotRequired[bool]  # whether that user may make cpusets; true for a host that is only described
    limits: NotRequired[bool]  # whether that user may limit processors and memory of groups; likewise
    second_host: NotRequired[SecondHost]  # from the configuration
    cluster_hosts: NotRequired[list[ClusterHost]]  # from the configuration
    sizes: NotRequired[Sizes]  # what a study's problem sizes follow from, if they were decided before
    perf_event_paranoid: NotRequired[str]  # the kernel's setting of who may use performance counters
    # perf's name of each counter; None for one that is unavailable. A host that is only described has all of them.
    events: NotRequired[dict[str, str | None]]
    kernel: NotRequired[str]  # its release; missing for a host that is only described


class Host(Topology):
    """This machine as reports show it."""

    architecture: str
    for_designs: dict[str, str]  # facts about the machine that designs add, in words
    system: dict[str, str]  # kernel, firmware and settings that a measurement may depend on
    distribution: str
    cgroup: dict
    virtualisation: str
    runtimes: dict[str, dict]  # result of trying each runtime
    name: NotRequired[str]  # to distinguish several hosts
    slurm: NotRequired[dict[str, str]]  # `node` and `job`, if a Slurm job described this machine


class StageOfImage(TypedDict):
    """A build stage of an image that is an image of its own."""

    tag: str
    id: str


class Image(StageOfImage):
    """An image. `tag` has its name and the identity of its build inputs, `id` is the engine's digest as Docker writes it."""

    versions: dict[str, str]
    files: dict[str, dict]  # SHA-256 and, if it has one, build identifier, by path in the image
    sif: NotRequired[str]  # path of the same files for Apptainer
    rootfs: NotRequired[str]  # path of the same files, unpacked
    archive: NotRequired[str]  # path of the image alone, for an engine that has no registry
    disk: NotRequired[str]  # path of the same files as a read-only file system, for a virtual machine
    stages: NotRequired[dict[str, StageOfImage]]  # stages that are images of their own
    bits: NotRequired[dict[str, str]]  # SHA-256 of each program, the same in all stages


class Cell(TypedDict):
    """A combination of factor levels: the keys of every design's cells. Each factor is a key too."""

    path: str
    runtime: str
    experiments: list[str]  # experiments that need the cell
    host: list  # what identifies the host (plimsoll.host.topology.identity)
    reason: str | None  # why it cannot be measured here; None if it can
    useful: bool  # whether its experiment can learn from it what it should
    repetitions: int
    per_block: NotRequired[int]  # how often it runs in a block, if not once
    # A cell that can be measured here has at least:
    parameters: NotRequired[dict]  # problem sizes
    expected_seconds: NotRequired[float]
    fingerprint: NotRequired[str]  # identity of the measured problem and deployment
    short: NotRequired[str]  # why its problem is smaller than the profile requests; empty if it is not
    # A cell that is measured in one launch together with others, which have the same `launch`, has:
    launch: NotRequired[str]  # the deployment: the cell's path without its part
    part: NotRequired[str]  # the cell's own folder in that launch


class CellOfRanks(Cell):
    """A cell whose run is one MPI application."""

    ranks: int
    mpi_parameters: dict[str, int | str]
    # A cell that can be measured here, with no affinity undefined, has:
    places: NotRequired[list[dict]]  # one per container: `cpus` and `nodes` as in a cpuset, each rank's `cores` and `slots`
    restricted: NotRequired[bool]  # whether the places leave out a part of the host


class Limits(TypedDict):
    """How often a run is attempted, and when the machine is quiet enough for it. The profile sets these."""

    attempts: int
    starts: int
    idle: dict[str, float]
    neighbours: dict[str, float]


class PlanHead(TypedDict):
    """The keys of a plan besides its cells and their order."""

    study: str
    design: str
    factors: list[str]
    image: str
    seed: int
    repetitions: int
    profile: str
    limits: Limits
    given_up: NotRequired[dict[str, str]]  # reason for each group of a required runtime that this start has given up
    sizes: NotRequired[Sizes]  # plans of older versions have none


class Plan(PlanHead):
    """The cells of a study that are measured on a host, and the order of the runs."""

    cells: dict[str, Cell]  # by path
    order: list[tuple[str, int]]  # (path, repetition) in the order of measuring


class Iteration(TypedDict):
    """An iteration of a microservice, as its loop has logged it, with its result."""

    iteration: int
    begin: float  # seconds of a clock that all containers of a host share
    end: float
    values: dict[str, float] | None  # None if its output was wrong
    counts: bool
    why_not: NotRequired[str | None]  # reason why it does not count


class Before(TypedDict):
    """How idle the machine was before an attempt."""

    busy_share: float


class During(TypedDict):
    """What other programs did on the machine during an attempt."""

    neighbour_share: NotRequired[float | None]  # None if the containers' processor time is not counted
    stolen_seconds: NotRequired[float]
    throttled_seconds: NotRequired[float]
    throttled_by: NotRequired[list[str]]
    swapped_bytes: NotRequired[int]
    stopped: NotRequired[list[str]]  # in words: programs of the run that were stopped for a while
    apart: NotRequired[bool]


class Noise(TypedDict):
    """What other programs did on the machine, before and during an attempt."""

    before: Before
    during: NotRequired[During]


class CellOfRun(TypedDict):
    """A cell as it is in a record: without its `reason`."""

    runtime: str


class AttemptRecord(TypedDict):
    """One attempt at a run: the keys that every design's record has for it."""

    started: float  # seconds since 1970
    raw: str  # folder of its raw output, below the study's results
    seconds: dict[str, float]  # duration of each part of it
    noise: Noise
    status: str  # docs/reference/statuses.md
    reason: str | None


class Record(AttemptRecord):
    """A run: its last attempt, and what holds for all its attempts."""

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
    invalid_attempts: list[AttemptRecord]
    starts: NotRequired[int]  # starts of the workflow that have tried it, if more than one
    kernels: NotRequired[dict[str, str]]  # kernels that each library chose for the processor; not in records of older versions
    checksum: NotRequired[str]  # checksum of the file, which reading removes; not in records of older versions
    system: NotRequired[str]  # identity of the system; not in records of older versions
