"""Factors of a study of a program: a cell is a runtime in a stage. A run starts the program several times in a node."""

from typing import NotRequired, TypedDict

from plimsoll import design, interchange

HOST, FILES = "host", "files"
# Stages of a study. Each has blocks of its own, and is compared with its own baseline.
FIRST, STEPS, REMEDY = "first", "steps", "remedy"
STAGES = (FIRST, STEPS, REMEDY)
# Runs that are watched and not timed, of both sides of a step that costs something.
LOOK = "look"
# Runs without a neighbour, with one on this host or in the same container, and with one in another container.
ALONE, SAME, OTHER = "alone", "same", "other"
BESIDE = (ALONE, SAME, OTHER)


# Values that every run of a program has. A metric of the user's has another name.
OWN_VALUES = ("wall", "user", "system", "processor", "memory", "start", "waits", "preempted", "faults")


class ProgramCell(interchange.Cell):
    """A cell of a study of a program."""

    stage: str
    command: list[str]
    runs: int  # that count, of one start of a node


class Timed(TypedDict):
    """One run of the program: what it took, and what it printed."""

    values: dict[str, float]  # by the name of the study's metric
    output: str  # SHA-256 of its output, without what the study's filters match


class WatchedRun(TypedDict):
    """What a watched run showed."""

    traced: bool  # whether its system calls were watched
    refused: dict[str, int]  # how often each system call was refused, by its name and error
    counts: dict[str, float]
    settings: dict[str, str]


class ProgramRecord(interchange.Record):
    """A record of a study of a program; a run that does not count may lack any of these keys."""

    timed: NotRequired[list[Timed]]
    inside: NotRequired[dict[str, str]]  # what a program sees of the machine, by name
    mapped: NotRequired[dict[str, str]]  # build identifier of each file that the program mapped, by path
    versions: NotRequired[dict[str, str]]  # product and version of each of these files that has them in its bytes, by path
    transport: NotRequired[dict]  # how the messages of MPI ranks travelled (ranks.transport)
    throttled_seconds: NotRequired[float]  # how long the container's own quota kept its programs waiting
    looked: NotRequired[WatchedRun]  # of a watched run


class Factors(design.Factors):
    """Keys and columns of a study of a program."""

    FACTORS = ("stage", "runtime")
    PATTERN = "(?:first|steps|remedy|look|alone|same|other)/[a-z-]+"
    CELL, RECORD = ProgramCell, ProgramRecord
    OF_NOISE = ("runtime",)
