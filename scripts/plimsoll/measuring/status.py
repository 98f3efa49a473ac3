"""Every status that a run can have: its name, what it means, and what follows from it.

`make docs` writes the table of docs/reference/statuses.md from this one.
"""

from typing import NamedTuple


class Status(NamedTuple):
    """One status: its `name`, its `meaning` in sentences, whether such a run `counts` (gives observations), and whether
    it is tried `again` when the workflow starts the next time."""

    name: str
    meaning: str
    counts: bool = False
    again: bool = False


VALID = "valid"
CENSORED = "censored"
DISTURBED = "disturbed"
INVALID = "invalid"
FAILED = "failed"
TIMEOUT = "timeout"
INTERRUPTED = "interrupted"
DAMAGED = "damaged"
STALE = "stale"

STATUSES = (
    Status(VALID, "The run ended well on a quiet machine, and every check of its output was passed.", counts=True),
    Status(
        CENSORED,
        "The run was stopped at its time limit, in an experiment that keeps such runs: its time is at least the limit.",
        counts=True,
    ),
    Status(
        DISTURBED,
        "Something disturbed the run. Others used more processor time than the profile allows, or a hypervisor stole as much. "
        "Or a quota of a cgroup or heat kept processors from it. Or more than 1 MiB, and more than that in each second, was "
        "moved to or from swap space. Or the clock was set, the machine slept, or the run was paused.",
        again=True,
    ),
    Status(
        INVALID,
        "The machine was not idle before the run, or a program of the run still ran after its end. Or its output, its bits or "
        "the places of its ranks are not as they must be. Or it did more than the cores or the memory can.",
        again=True,
    ),
    Status(FAILED, "The benchmark or its containers ended with an error.", again=True),
    Status(TIMEOUT, "The run was stopped at its time limit.", again=True),
    Status(
        INTERRUPTED,
        "A resource failed under an attempt: engine, image, network, second host, disk or memory of the host. It is no "
        "measurement, and does not count among the profile's attempts. A record lists it, but no run ends with it.",
    ),
    Status(
        DAMAGED,
        "The record's file is not complete. It is kept until you delete it or a new measurement puts it aside.",
    ),
    Status(STALE, "The record is of other parameters than the plan's. It is put aside.", again=True),
)
NAMES = tuple(status.name for status in STATUSES)
# Statuses of runs that give observations.
COUNTED = tuple(status.name for status in STATUSES if status.counts)
# Statuses of runs that the next start of the workflow measures again.
AGAIN = tuple(status.name for status in STATUSES if status.again)
