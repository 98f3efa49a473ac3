"""Factors of a study of overhead: a cell is a benchmark in a runtime, which runs over and over for a time window."""

from typing import NotRequired

from plimsoll import design, interchange

OWN, VOLUME = "own", "volume"
STORAGE = (OWN, VOLUME)
BARE = "bare"


class OverheadCell(interchange.Cell):
    """A cell of a study of overhead."""

    benchmark: str
    storage: str
    processors: int  # number that a program may use
    memory_bytes: int | None  # limit, where the disk is measured; always set for a virtual machine
    warm_up_seconds: float
    window_seconds: float
    interval_seconds: float
    iteration_limit_seconds: float


class OverheadPlan(interchange.Plan):
    """A plan of a study of overhead."""

    hypervisor: bool  # whether the host itself is a virtual machine
    second_host: NotRequired[interchange.SecondHost]  # if it is another machine


class Started(interchange.Iteration):
    """An iteration, with the `moment` at which it was started (s since 1970)."""

    moment: float


class OverheadRecord(interchange.Record):
    """A record of a study of overhead; a run that does not count may lack any of these keys."""

    seen: NotRequired[dict]  # what programs may use, read where they run
    device: NotRequired[str | None]  # the block device under a benchmark of the disk, by its name on this host
    settled: NotRequired[dict]  # how idle the second host was, if it is another machine
    iterations: NotRequired[list[Started]]  # including the warm-up's
    bits: NotRequired[dict[str, str]]  # sha256 of each program


class Factors(design.Factors):
    """Keys and columns of a study of overhead."""

    # `storage` is where a benchmark of the disk writes: the runtime's own files, or in a container a volume. Other
    # benchmarks have no storage.
    FACTORS = ("benchmark", "runtime", "storage")
    PATTERN = "[a-z_]+/[a-z-]+(?:/[a-z]+)?"
    CELL, PLAN, RECORD = OverheadCell, OverheadPlan, OverheadRecord
    OF_OBSERVATION = ("iteration", "moment", "wall_seconds")
    OF_RUN = ("iterations", "counted")
    OF_NOISE = ("runtime",)
