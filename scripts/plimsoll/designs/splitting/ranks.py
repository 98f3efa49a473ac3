"""Reports that the ranks of a run write (containers/hpcc/rank_report.c). Every run imports this module."""

import os
from pathlib import Path
from typing import TypedDict

from plimsoll import documents
from plimsoll.host import cpulist, run_files
from plimsoll.workloads import kernels, program_output
from plimsoll.workloads.base import InvalidOutput

# Decimal places of each time in a report.
DIGITS = 6


class Rank(TypedDict):
    """The checked part of a rank's report."""

    rank: int
    hostname: str
    cpus_allowed: str
    mems_allowed: str
    namespaces: dict[str, str]
    benchmark_seconds: float
    context_switches: dict[str, int]
    migrations: int | None  # None if the kernel does not count them
    shared_memory_segments: int
    single_copy: str
    network_bytes: dict[str, int]
    work: list[tuple[float, float]]  # begin and end of each piece of work, in seconds of the host's clock
    blas: kernels.Chosen
    objects: list[tuple[str, str]]  # mapped objects, with their build identifiers


def read(folder: Path, number: int) -> list[Rank]:
    """Return the reports of `number` ranks, in order. InvalidOutput if one is missing or does not hold what it should."""
    return [_rank(folder / f"ranks/{rank}.json", rank) for rank in range(number)]


def begin_moment(folder: Path, number: int) -> float | None:
    """Return when the last of `number` ranks began its benchmark (seconds since 1970); None if one has not begun."""
    moments = []
    for rank in range(number):
        try:
            with run_files.reading(folder / f"ranks/{rank}.begun") as file:
                moments.append(os.fstat(file.fileno()).st_mtime)
        except OSError:
            return None
    return max(moments)


def _rank(path: Path, number: int) -> Rank:
    try:
        report = program_output.document(path, DIGITS)
    except InvalidOutput as problem:
        raise InvalidOutput(f"rank {number} left no report") from problem
    try:
        documents.fit(report, Rank)
        for name in ("cpus_allowed", "mems_allowed"):
            if not cpulist.parse(report[name]):
                raise ValueError(f"its {name} is empty")
    except (documents.Misfit, ValueError) as problem:
        raise InvalidOutput(f"the report of rank {number} is not what it should be: {problem}") from problem
    counted = [*report["context_switches"].values(), *report["network_bytes"].values(), report["migrations"] or 0]
    backwards = any(begun >= ended for begun, ended in report["work"])
    if report["rank"] != number or report["benchmark_seconds"] <= 0 or min(counted) < 0 or backwards:
        raise InvalidOutput(f"the report of rank {number} is not what it should be: a number in it cannot be")
    return report
