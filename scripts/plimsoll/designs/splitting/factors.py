"""Cells are deployments of one MPI application: how many containers, on which cores, of which runtime."""

from typing import NotRequired, TypedDict

from plimsoll import interchange

# The last is the benchmark's section; all sections of a deployment are shown together.
FACTORS = ("hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument", "section")
OF_DEPLOYMENT = FACTORS[:-1]
PATTERN = "[a-z]+/[a-z]+/[EHOS][0-9]+/[a-z-]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+"
SIZES = ("containers", "ranks", "ranks_per_container", "cores")
OF_OBSERVATION: tuple[str, ...] = ()
OF_RUN = ("transport", "single_copy", "network_bytes")
OBSERVES_ENVIRONMENTS = True
STAGES = True
USUAL_HOURS = 1.0
OF_NOISE = ("runtime",)
OF_LEVELS = ("mode",)
# Factors that an experiment names levels of.
OF_EXPERIMENT = ("hardware", "mode", "runtime", "yield")


class SplittingPlan(interchange.Plan):
    """A plan of this design."""

    benchmark: str
    sockets: dict[str, list[int]]  # cores of each
    instruments: dict[str, dict]  # what each can see on the host
    in_place_of: NotRequired[dict[str, str]]  # in an arrangement: the runtime that is asked of, by the one that a claim names


# The name of the factor is a word of the language.
_Yield = TypedDict("_Yield", {"yield": str})


class SplittingCell(interchange.CellOfRanks, _Yield):
    """A cell of this design."""

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
    keep_timeouts: bool  # whether a run that hits its limit counts, as censored
    everything: NotRequired[dict[str, str]]  # the `cpus` and `nodes` of the whole host
    time_limit_seconds: NotRequired[float]
    # What the instrument counts, and the memory nodes of the host, of a cell under the instrument `events`:
    events: NotRequired[dict[str, str]]
    nodes: NotRequired[int]


class SplittingRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    launch: NotRequired[list[str]]  # the sections of the launch, in their order
    command: NotRequired[list[str]]
    exit_code: NotRequired[int | None]  # None for a run that was stopped at its limit
    ranks: NotRequired[list[dict]]  # what each saw (containers/hpcc/rank_report.c)
    values: NotRequired[dict[str, float]]
    bits: NotRequired[dict[str, str]]  # build identifier of each object that the ranks mapped
    transport: NotRequired[dict]  # what carried the messages


# What is in the files of this design's plans and records.
CELL, PLAN, RECORD = SplittingCell, SplittingPlan, SplittingRecord
