"""Factors of a study of tuning: a cell is a cluster with one or several strategies set, and the jobs that run in it."""

from typing import NotRequired, TypedDict

from plimsoll import design, interchange

# Joins the names of strategies that are set together.
AND = "+"
# Name of the cell without a strategy: Hadoop's defaults.
BASELINE = "baseline"
# The smaller of the two sizes of data. A run measures it first.
SMALL = "small"


class TuningCell(interchange.Cell):
    """A cell of a study of tuning."""

    strategy: str
    workers: int
    settings: dict[str, str]  # Hadoop's keys and values that a job is given
    sizes: dict[str, int]  # minimal size of each job's data, in bytes
    job_limit_seconds: float


class TuningPlan(interchange.Plan):
    """A plan of a study of tuning."""

    strategies: dict[str, dict]  # as in the study
    cluster_hosts: NotRequired[list[interchange.ClusterHost]]  # machines of the workers


class Sides(TypedDict):
    """Values of a counter for map tasks and for reduce tasks."""

    map: int
    reduce: int


class Counters(TypedDict):
    """The counters of a job's tasks that are read from a record again."""

    map_output_records: Sides
    map_output_bytes: Sides
    materialized_bytes: Sides
    shuffled_bytes: Sides
    spilled_records: Sides
    written_bytes: Sides
    cpu_milliseconds: Sides


class Job(TypedDict):
    """A job that ended well."""

    size: str
    seconds: float
    bytes: int  # of the data; `records` is their number of records, and `distinct` how many of these are distinct
    records: int
    distinct: int
    maps: int
    counters: Counters
    served: dict[str, str]  # values that the daemons served for the keys of all strategies


class TuningRecord(interchange.Record):
    """A record of a study of tuning; a run that does not count may lack any of these keys."""

    jobs: NotRequired[list[Job]]  # in the order in which they ran
    lost: NotRequired[list[str]]  # workers that ended during a job
    settled: NotRequired[list[dict]]  # how idle each other machine was before the cluster was started
    device: NotRequired[str | None]  # the block device under the nodes' volumes, by its name on this host
    bits: NotRequired[dict[str, str]]  # sha256 of each of our programs


class Factors(design.Factors):
    """Keys and columns of a study of tuning."""

    FACTORS = ("runtime", "strategy")
    PATTERN = r"[a-z-]+/[a-z0-9_]+(?:\+[a-z0-9_]+)*"
    CELL, PLAN, RECORD = TuningCell, TuningPlan, TuningRecord
    SIZES = ("workers",)
    OF_RUN = ("jobs", "lost_workers")
    OF_NOISE = ("runtime",)
