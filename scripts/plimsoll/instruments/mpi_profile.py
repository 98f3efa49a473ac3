"""Time and number of calls of MPI functions (liu2020, section 3.2.1), by a library that is preloaded into the ranks."""

from pathlib import Path
from typing import TypedDict

from plimsoll import documents
from plimsoll.errors import quote
from plimsoll.instruments.base import Instrument
from plimsoll.workloads import program_output
from plimsoll.workloads.base import InvalidOutput

# Columns of liu2020's table 1, each with its group and the functions that it stands for.
PATTERNS = {
    "blocking_pingpong_transfer": ("point_to_point", ("MPI_Send", "MPI_Ssend", "MPI_Recv")),
    "blocking_concurrent_transfer": ("point_to_point", ("MPI_Sendrecv",)),
    "nonblocking_transfer": ("point_to_point", ("MPI_Isend", "MPI_Issend", "MPI_Irecv")),
    "nonblocking_synchronise": (
        "point_to_point",
        ("MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Test", "MPI_Testany", "MPI_Cancel", "MPI_Iprobe"),
    ),
    "barrier": ("collective", ("MPI_Barrier",)),
    "alltoall": ("collective", ("MPI_Alltoall",)),
    "bcast": ("collective", ("MPI_Bcast",)),
    "gather": ("collective", ("MPI_Gather",)),
    "global_reduce": ("collective", ("MPI_Reduce", "MPI_Allreduce")),
}
GROUPS = ("point_to_point", "collective")
PATTERN_OF = {function: pattern for pattern, (_, functions) in PATTERNS.items() for function in functions}
# Seconds inside and outside MPI functions must add up to the wall time, within this share of it.
TOLERANCE = 0.001
# Digits of each time after the decimal point.
DIGITS = 9


class Section(TypedDict):
    """What a rank did in one part of the program: calls and seconds of each function."""

    name: str
    wall_seconds: float
    outside_seconds: float
    functions: dict[str, tuple[int, float]]


class Profile(TypedDict):
    """What a rank's profile holds."""

    rank: int
    sections: list[Section]


class MpiProfile(Instrument):
    """The library of containers/hpcc/mpi_profile.c in every rank."""

    name = "mpi"
    preload = "/opt/plimsoll/lib/libmpi_profile.so"

    def values(self, ranks: list[dict], region: str) -> dict[str, float]:
        return summarise([section(self.job.folder, rank["rank"], region) for rank in ranks])


def section(folder: Path, rank: int, region: str) -> dict:
    """Return a rank's profile of one part of the program.

    Raise InvalidOutput if the rank left no such profile, or if its times do not add up.
    """
    profile = _of_region(folder / f"ranks/{rank}.profile.json", rank, region)
    inside = sum(seconds for _, seconds in profile["functions"].values())
    wall, outside = profile["wall_seconds"], profile["outside_seconds"]
    if not wall > 0 or abs(wall - inside - outside) > TOLERANCE * wall:
        raise InvalidOutput(
            f"rank {rank} was {inside:.6f} s inside MPI functions and {outside:.6f} s outside them, which is not the "
            f"{wall:.6f} s that {region} took"
        )
    return profile


def _of_region(path: Path, rank: int, region: str) -> dict:
    try:
        profiled = program_output.document(path, DIGITS)
        documents.fit(profiled, Profile)
        (profile,) = [part for part in profiled["sections"] if part["name"] == region]
    except (InvalidOutput, documents.Misfit, ValueError) as error:
        raise InvalidOutput(f"rank {rank} left no profile of {region}") from error
    if profiled["rank"] != rank:
        raise InvalidOutput(f"the profile of rank {rank} is that of rank {profiled['rank']}")
    for function, (calls, seconds) in profile["functions"].items():
        if function not in PATTERN_OF or calls < 1 or seconds < 0:
            raise InvalidOutput(f"rank {rank} called {quote(function)} {calls} times, for {seconds:g} s")
    return profile


def summarise(profiles: list[dict]) -> dict[str, float]:
    """Return values of a run from its ranks' profiles.

    `wall_seconds` is the mean over the ranks. `all`, each group, each pattern and each function have three values:

    - `mpi_seconds/..`: mean per rank
    - `mpi_share/..`: share of the ranks' wall time together, 0 to 1
    - `mpi_calls/..`: calls of all ranks together, as in table 1
    """
    wall = sum(profile["wall_seconds"] for profile in profiles)
    totals: dict[str, list[float]] = {name: [0, 0.0] for name in ("all", *GROUPS, *PATTERNS)}
    for profile in profiles:
        for function, (calls, seconds) in profile["functions"].items():
            pattern = PATTERN_OF[function]
            for name in ("all", PATTERNS[pattern][0], pattern, function):
                total = totals.setdefault(name, [0, 0.0])
                total[0] += calls
                total[1] += seconds
    values: dict[str, float] = {"wall_seconds": wall / len(profiles)}
    for name, (calls, seconds) in totals.items():
        values[f"mpi_calls/{name}"] = calls
        values[f"mpi_seconds/{name}"] = seconds / len(profiles)
        values[f"mpi_share/{name}"] = seconds / wall
    return values


INSTRUMENTS = (MpiProfile,)
