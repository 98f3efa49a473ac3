"""Cells are a program that runs in instances of an environment at once, or the creation of such instances."""

from typing import NotRequired

from plimsoll import interchange

# `instances` are containers of the host, `children` are containers in each of these: 0 where they are not nested.
FACTORS = ("task", "runtime", "instances", "children")
# A program in each instance; creating the instances; creating them where their engines have the child's image already.
CPU, CREATION, PRELOADED = "cpu", "creation", "preloaded"
TASKS = (CPU, CREATION, PRELOADED)
PATTERN = "(?:cpu|creation|preloaded)/[a-z-]+/[0-9]+/[0-9]+"
SIZES: tuple[str, ...] = ()
OF_OBSERVATION: tuple[str, ...] = ()
OF_RUN = ("apart",)
TRIES_ENVIRONMENTS = False
NO_CHILDREN = "0"


class NestingCell(interchange.Cell):
    """A cell of this design."""

    task: str
    instances: str
    children: str
    limit_seconds: NotRequired[float]


class NestingPlan(interchange.Plan):
    """A plan of this design."""

    cores: int  # of the host


class NestingRecord(interchange.Record):
    """A record of this design; a run that did not count may lack any of this."""

    values: NotRequired[dict[str, float]]  # what the metrics are made of
    apart: NotRequired[float]  # how long after the first of the instances the last one began (s)
    each: NotRequired[list[dict]]  # of each instance: its moments in seconds after the common start, and its own values
    bits: NotRequired[dict[str, str]]  # sha256 of each program


def total(cell: NestingCell) -> int:
    """Containers in which something runs: the children, or the instances where nothing is nested."""
    return int(cell["instances"]) * max(1, int(cell["children"]))
