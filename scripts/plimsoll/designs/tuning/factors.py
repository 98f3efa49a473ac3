"""Cells are a cluster in which one strategy, or several together, are set, with the jobs that run in it."""

from typing import NotRequired, TypedDict

from plimsoll import interchange

FACTORS = ("runtime", "strategy")
PATTERN = r"[a-z-]+/[a-z0-9_]+(?:\+[a-z0-9_]+)*"
# Joins strategies that are set together.
AND = "+"
# No strategy: Hadoop's defaults.
BASELINE = "baseline"
# The smaller of the two sizes of the jobs' data, which a run has first.
SMALL = "small"
SIZES = ("workers",)
OF_OBSERVATION: tuple[str, ...] = ()
OF_RUN = ("jobs", "lost_workers")
OBSERVES_ENVIRONMENTS = False
STAGES = False
USUAL_HOURS = None
OF_NOISE = ("runtime",)
OF_LEVELS: tuple[str, ...] = ()


class TuningCell(interchange.Cell):
    """A cell of this design."""

    strategy: str
    workers: int
    settings: dict[str, str]  # keys of Hadoop's that a job is given
    sizes: dict[str, int]  # bytes of each job's data, at least
    job_limit_seconds: float


class TuningPlan(interchange.Plan):
    """A plan of this design."""

    strategies: dict[str, dict]  # as the study has them
    cluster_hosts: NotRequired[list[interchange.ClusterHost]]  # that the workers are on


class Sides(TypedDict):
    """A counter of map tasks and of reduce tasks."""

    map: int
    reduce: int


class Counters(TypedDict):
    """What tasks have counted, as far as it is read again."""

    map_output_records: Sides
    map_output_bytes: Sides
    materialized_bytes: Sides
    shuffled_bytes: Sides
    spilled_records: Sides
    written_bytes: Sides
    cpu_milliseconds: Sides


class Job(TypedDict):
    """A job that has ended well."""

    size: str
    seconds: float
    bytes: int  # of the data, with records and how many of them are distinct
    records: int
    distinct: int
    maps: int
    counters: Counters
    served: dict[str, str]  # what the daemons said of the keys of all strategies


class TuningRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    jobs: NotRequired[list[Job]]  # in the order in which they ran
    lost: NotRequired[list[str]]  # workers that ended under a job
    settled: NotRequired[list[dict]]  # how idle each other machine was before the cluster was started
    device: NotRequired[str | None]  # the block device under the nodes' volumes, by its name on this host
    bits: NotRequired[dict[str, str]]  # sha256 of each of our programs


# What is in the files of this design's plans and records.
CELL, PLAN, RECORD = TuningCell, TuningPlan, TuningRecord
