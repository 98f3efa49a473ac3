"""Factors of a splitting study: a cell is a deployment of one MPI application, by containers, cores and runtime."""

from typing import NotRequired, TypedDict

from plimsoll import design, interchange

# Factors whose levels an experiment names.
OF_EXPERIMENT = ("hardware", "mode", "runtime", "yield")


class SplittingPlan(interchange.Plan):
    """A plan of a splitting study."""

    benchmark: str
    sockets: dict[str, list[int]]  # cores by socket
    instruments: dict[str, dict]  # settings of each instrument on the host
    kernel: NotRequired[str]  # the host's release of Linux; plans of older versions have none
    in_place_of: NotRequired[dict[str, str]]  # in an arrangement: the runtime that is compared, by the runtime of the claim


# `yield` is a keyword of Python, so it cannot be written as a class attribute.
_Yield = TypedDict("_Yield", {"yield": str})


class SplittingCell(interchange.CellOfRanks, _Yield):
    """A cell of a splitting study."""

    hardware: str
    mode: str
    scheme: str
    affinity: str
    sizes: str
    instrument: str
    section: str
    containers: int
    ranks_per_container: int
    cores: int
    keep_timeouts: bool  # whether a run that reaches its time limit counts, as censored
    everything: NotRequired[dict[str, str]]  # `cpus` and `nodes` of the whole host
    time_limit_seconds: NotRequired[float]
    # Only of a cell under the instrument `events`: what it counts, and the number of the host's memory nodes.
    events: NotRequired[dict[str, str]]
    nodes: NotRequired[int]


class SplittingRecord(interchange.Record):
    """A record of a splitting study; a run that does not count may lack any of these keys."""

    launch: NotRequired[list[str]]  # sections of the launch, in the order in which they ran
    command: NotRequired[list[str]]
    exit_code: NotRequired[int | None]  # None if the run was stopped at its time limit
    ranks: NotRequired[list[dict]]  # each rank's report (containers/hpcc/rank_report.c)
    values: NotRequired[dict[str, float]]
    bits: NotRequired[dict[str, str]]  # build identifier of each object that the ranks mapped
    transport: NotRequired[dict]  # how messages travelled


class Factors(design.Factors):
    """Keys and columns of a splitting study."""

    # The last factor is the benchmark's section. All sections of a deployment are shown together.
    FACTORS = ("hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument", "section")
    PATTERN = "[a-z]+/[a-z]+/[EHOS][0-9]+/[a-z-]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+"
    CELL, PLAN, RECORD = SplittingCell, SplittingPlan, SplittingRecord
    SIZES = ("containers", "ranks", "ranks_per_container", "cores")
    OF_RUN = ("transport", "single_copy", "network_bytes")
    OBSERVES_RUNTIMES = True
    STAGES = True
    USUAL_HOURS = 1.0
    OF_NOISE = ("runtime",)
    OF_LEVELS = ("mode",)


# Factors of a deployment: all but the section.
OF_DEPLOYMENT = Factors.FACTORS[:-1]
