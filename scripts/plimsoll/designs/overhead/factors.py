"""Cells are a benchmark in an environment, over and over for a time window."""

from typing import NotRequired

from plimsoll import interchange

# `storage` is where a benchmark of the disk writes: where the environment has it by itself, or in a container a volume. Others
# have none.
FACTORS = ("benchmark", "runtime", "storage")
PATTERN = "[a-z_]+/[a-z-]+(?:/[a-z]+)?"
OWN, VOLUME = "own", "volume"
STORAGE = (OWN, VOLUME)
# Virtual machines on the host's own processor, and where there are none, on one that is emulated.
MACHINE, EMULATED_MACHINE = "vm", "vm-emulated"
BARE = "bare"
SIZES: tuple[str, ...] = ()
OF_OBSERVATION = ("iteration", "moment", "wall_seconds")
OF_RUN = ("iterations", "counted")
OBSERVES_ENVIRONMENTS = False
STAGES = False
USUAL_HOURS = None
OF_NOISE = ("runtime",)
OF_LEVELS: tuple[str, ...] = ()


class OverheadCell(interchange.Cell):
    """A cell of this design."""

    benchmark: str
    storage: str
    processors: int  # that a program sees
    memory_bytes: int | None  # of all that runs, where the disk is measured; of a virtual machine always
    warm_up_seconds: float
    window_seconds: float
    interval_seconds: float
    iteration_limit_seconds: float


class OverheadPlan(interchange.Plan):
    """A plan of this design."""

    hypervisor: bool  # whether the host is a virtual machine itself
    second_host: NotRequired[interchange.SecondHost]  # if it is another machine


class Started(interchange.Iteration):
    """An iteration, with the `moment` at which it was started (s since 1970)."""

    moment: float


class OverheadRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    seen: NotRequired[dict]  # what the programs may use, read where they run
    device: NotRequired[str | None]  # the block device under a benchmark of the disk, by its name on this host
    settled: NotRequired[dict]  # how idle the second host was, if it is another machine
    iterations: NotRequired[list[Started]]  # of the warm-up too
    bits: NotRequired[dict[str, str]]  # sha256 of each program


# What is in the files of this design's plans and records.
CELL, PLAN, RECORD = OverheadCell, OverheadPlan, OverheadRecord
