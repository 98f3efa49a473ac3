"""What differed between the two sides of a comparison, as it was observed: libraries, limits, settings, and counts."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pandas as pd

from plimsoll.designs.program import effects, watched_run, words
from plimsoll.designs.program.factors import BESIDE, FIRST, LOOK, STEPS, WatchedRun
from plimsoll.designs.program.watched_run import TOLD_FACTOR
from plimsoll.errors import plain
from plimsoll.measuring import record, status
from plimsoll.mpi.reports import NOTHING

# Counts of a run of the program. They are shown if they differ by at least TOLD_FACTOR.
COUNTS = {"waits": "context switches (waits)", "preempted": "context switches (preempted)", "faults": "page faults"}
# Libraries that often decide about speed, by the name of their file, in this order. At most MOST_FILES files are shown.
LINEAR_ALGEBRA = ("blas", "lapack", "mkl", "blis")
FIRST_NAMED = (*LINEAR_ALGEBRA, "libc", "libm", "ld-linux-x86-64", "libgomp", "libmpi")
OF_LINEAR_ALGEBRA = re.compile("|".join(LINEAR_ALGEBRA))
MOST_FILES = 8
# Digits of a build identifier that are shown.
BUILD_DIGITS = 12
# Counts below this are not told: they may differ by chance.
FEW = 50
# Begins the sentence about a step of which a side was not watched.
NOT_COMPARED = "refused calls, written files, and what libraries and MPI chose are not compared"
# Changes that are at least this large, and are not chance, are a cost. p is adjusted for the comparisons of a stage.
COSTLY, CHANCE = 0.01, 0.05


class MappedFile(NamedTuple):
    """A file that a program mapped: its path, its build identifier, and its product with a version, if that is known."""

    path: str
    build: str
    version: str | None

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    @property
    def short_build(self) -> str:
        """The build identifier, in words and shortened."""
        return f"build {self.build[:BUILD_DIGITS]}"


def is_costly(row) -> bool:
    """Return whether a comparison shows a change of at least COSTLY, in whichever direction, that is not chance."""
    return bool(row.p_holm < CHANCE and abs(row.change) >= COSTLY)


def watched_steps(found: pd.DataFrame) -> list:
    """Return the comparisons whose two sides are watched: each step that costs something, as rows of `found`.

    A default beside the baseline is a step if nothing between them was measured. What gives a step back has no new sides.
    """
    split = set(found.loc[(found["stage"] == STEPS) | (found["adds"] == effects.CONTAINER), "default"])
    return [
        row
        for row in found[found["stage"].isin((FIRST, STEPS))].itertuples()
        if is_costly(row) and not (row.adds == effects.DEFAULT and row.default in split)
    ]


def of_steps(records: Path, ladder: pd.DataFrame) -> list[dict]:
    """Return, for each comparison with a cost, its runtimes and a sentence for each difference that was observed.

    How messages of MPI travelled comes first. `library` is the first library that differs, if one does.
    """
    told, steps = [], {row.Index for row in watched_steps(ladder)}
    for row in ladder.itertuples():
        if is_costly(row) and row.stage not in BESIDE:
            names = (row.against, row.runtime)
            sides = [_observed(records, row.stage, name) for name in names]
            if all(sides):
                last = [side[-1] for side in sides]
                watched = _watched(records, names, row.Index in steps)
                differs = [*messages(*last), *watched, *differences(*sides)]
                library = first_library(*last)
                told.append(
                    {"runtime": row.runtime, "against": row.against, "adds": row.adds, "library": library, "differs": differs}
                )
    return told


def _observed(records: Path, stage: str, runtime: str) -> list[dict]:
    """Return the records of a cell that count."""
    return [one for one in _made(records, stage, runtime) if one["status"] in status.COUNTED]


def _made(records: Path, stage: str, runtime: str) -> list[dict]:
    """Return the records of a cell, also those that do not count."""
    return list(map(record.read, sorted((records / stage / runtime).glob("*.json"))))


def _looked(records: Path, runtime: str) -> WatchedRun | None:
    """Return what the watched run in a runtime showed; None if there is no such run that counts."""
    seen = _observed(records, LOOK, runtime)
    return seen[-1].get("looked") if seen else None


def _watched(records: Path, runtimes: Sequence[str], is_step: bool) -> list[str]:
    """Return a sentence for each difference between the watched runs of two runtimes.

    Where one of them has no such run, return one sentence that says so. Return nothing if they are not the sides of a step.
    """
    looked = [_looked(records, runtime) for runtime in runtimes]
    if all(looked):
        return watched_run.differences(*looked)
    missing = [_unwatched(records, runtime) for runtime, seen in zip(runtimes, looked, strict=True) if not seen]
    return [f"{NOT_COMPARED}, because these were not watched: {', '.join(missing)}"] if is_step else []


def _unwatched(records: Path, runtime: str) -> str:
    """Return the name of a runtime without a watched run that counts. If one was made, its reason follows in brackets."""
    label, made = words.level("runtime", runtime), _made(records, LOOK, runtime)
    reason = made[-1]["reason"] if made else None
    return f"{label} ({plain(reason).rstrip('.')})" if reason else label


def differences(before: list[dict], after: list[dict]) -> list[str]:
    """Return a sentence for each difference between the records of two cells, without that of their messages."""
    a, b = before[-1], after[-1]
    return [
        *watched_run.settings(a["inside"], b["inside"]),
        *_libraries(a, b),
        *_counts(before, after),
    ]


def messages(a: Mapping, b: Mapping) -> list[str]:
    """Return a sentence if the messages of MPI ranks were seen to travel in another way."""
    seen = [side["transport"] for side in (a, b) if "transport" in side]
    ways = [carried(transport) for transport in seen if transport["carried_by"] != NOTHING]
    return [f"messages: {ways[0]} before, {ways[1]} after"] if len(set(ways)) > 1 else []


def carried(transport: Mapping) -> str:
    """Return how messages travelled, in words: the transport, and for shared memory whether single copies are allowed."""
    way = transport["carried_by"]
    return f"{way} (single copy {transport['single_copy']})" if "shared memory" in way else way


def changed_files(before: Mapping, after: Mapping) -> list[tuple[MappedFile | None, MappedFile | None]]:
    """Return the mapped files that differ between two records, as pairs. One is None if only the other side has the file.

    Files are matched by what their names begin with. FIRST_NAMED come first, in their order.
    """
    in_a, in_b = (_by_name(side) for side in (before, after))
    names = sorted({*in_a, *in_b}, key=lambda one: (FIRST_NAMED.index(one) if one in FIRST_NAMED else len(FIRST_NAMED), one))
    return [(in_a.get(name), in_b.get(name)) for name in names if _differ(name, in_a.get(name), in_b.get(name))]


def _differ(name: str, one: MappedFile | None, other: MappedFile | None) -> bool:
    if one is None or other is None:
        return True
    return one.build != other.build or (name in LINEAR_ALGEBRA and one.path != other.path)


def _by_name(side: Mapping) -> dict[str, MappedFile]:
    """Return the mapped files of a record by the names that they are matched by. A file with a version comes before others."""
    versions = side.get("versions", {})
    files = [MappedFile(path, build, versions.get(path)) for path, build in side["mapped"].items()]
    return {_name(file.path): file for file in sorted(files, key=lambda file: file.version is not None)}


def _name(path: str) -> str:
    """Return the name by which a file is matched: for linear algebra the kind of the library, otherwise what its name begins
    with."""
    name = Path(path).name.partition(".so")[0]
    found = OF_LINEAR_ALGEBRA.search(name)
    return found[0] if found else name


def first_library(before: Mapping, after: Mapping) -> dict[str, str] | None:
    """Return the first of the files that differ between two records, in a few words: `before` and `after`.

    A side without the file has an empty text. Return None if no file differs.
    """
    pairs = changed_files(before, after)
    return dict(zip(("before", "after"), _in_short(*pairs[0]), strict=True)) if pairs else None


def _in_short(one: MappedFile | None, other: MappedFile | None) -> tuple[str, str]:
    """Return the shortest words that tell two files apart: their versions or names, their builds, or their paths."""
    if one is None or other is None:
        return one.name if one else "", other.name if other else ""
    ways = [(file.version or file.name, f"{file.name} {file.short_build}", file.path) for file in (one, other)]
    return next(pair for pair in zip(*ways, strict=True) if pair[0] != pair[1])


def _libraries(before: Mapping, after: Mapping) -> list[str]:
    """Return sentences about files with another build identifier."""
    told = [_of_files(*pair) for pair in changed_files(before, after)]
    more = len(told) - MOST_FILES
    return told if more <= 1 else [*told[:MOST_FILES], f"{more} other files that it maps differ"]


def _of_files(one: MappedFile | None, other: MappedFile | None) -> str:
    if one is None or other is None:
        return f"{(one or other).path} is mapped only {'before' if one else 'after'}"
    told = [f"{file.path} ({', '.join(filter(None, (file.version, file.short_build)))})" for file in (one, other)]
    return f"{told[0]} before, {told[1]} after"


def _counts(before: list[dict], after: list[dict]) -> list[str]:
    told = []
    for key, label in COUNTS.items():
        a, b = (mean(timed["values"][key] for one in side for timed in one["timed"]) for side in (before, after))
        low, high = sorted((a, b))
        if high >= FEW and high >= TOLD_FACTOR * low:
            told.append(f"{label}: {a:.0f} before, {b:.0f} after, in the mean of a run")
    for name in ("throttled_seconds", "stolen_seconds"):
        a, b = (
            sum(one.get(name, 0.0) + (one["noise"].get("during", {}).get(name) or 0.0) for one in side)
            for side in (before, after)
        )
        if max(a, b) > 0.05 and max(a, b) > TOLD_FACTOR * min(a, b):
            told.append(f"{name.replace('_', ' ')}: {a:.2f} before, {b:.2f} after, in all runs")
    return told
