"""Decide whether two sets of results can be compared: how their machines differ, and which differences forbid it."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from plimsoll import runtimes
from plimsoll.config.studies import Study
from plimsoll.design import Design
from plimsoll.errors import first_of
from plimsoll.measuring import record
from plimsoll.result_sets.sets import SEVERAL, ResultSet

# Facts that change at each start of some machines, and so do not identify a machine.
PASSING = ("memory node ",)
# Sets are from different machines if the facts of OF_THE_MACHINE, or any fact about caches, differ. FIRST are listed
# first.
OF_THE_MACHINE, CACHE = ("processor", "sockets, cores, hardware threads"), "cache "
FIRST = (*OF_THE_MACHINE, "kernel")
ONLY_A, ONLY_B, OTHER_SIZES = "only in A", "only in B", "other sizes"
EMULATED = "on an emulated processor, whose times say nothing about speed"
# The factors whose levels are runtimes.
PLACES = ("runtime", "server")
ELSEWHERE = "were measured with other sizes or in other places"
# Stands for the build of a program or library that no run of a set has mapped into memory.
ABSENT = "absent"
ALL_THE_SAME = "--force compares all the same"
# The ending of a library's name, before its version.
LIBRARY = ".so"


class Differing(NamedTuple):
    """A fact that differs between the two sets: its name, and its value in A and in B."""

    name: str
    a: str
    b: str


class Bits(NamedTuple):
    """What is known of the programs and libraries that two sets ran in the cells that both have.

    `other` are those of which the sets ran different builds; `same` is the number of those with equal builds. `silent`
    are the sets (A, B) without records. `versions` are the benchmarks of which the sets ran different versions. A value
    of None means that a set does not say which versions it ran.
    """

    other: list[Differing]
    same: int
    silent: list[str]
    versions: list[Differing] | None = None

    @property
    def programs(self) -> list[Differing]:
        """Return the programs, without libraries, of which the sets ran different builds."""
        return [one for one in self.other if LIBRARY not in one.name]


class Profiles(NamedTuple):
    """The profiles that the two sets were measured with."""

    a: str
    b: str


def facts(a: ResultSet, b: ResultSet) -> tuple[list[Differing], dict[str, str]]:
    """Return (facts that differ between the machines, facts that are equal), of the facts that both sets state."""
    shared = [name for name in a.facts if name in b.facts and not name.startswith(PASSING)]
    shared = [*(name for name in FIRST if name in shared), *(name for name in shared if name not in FIRST)]
    differing = [Differing(name, a.facts[name], b.facts[name]) for name in shared if a.facts[name] != b.facts[name]]
    return differing, {name: a.facts[name] for name in shared if a.facts[name] == b.facts[name]}


def of_another_machine(differing: Sequence[Differing]) -> list[Differing]:
    """Return those of the differing facts that show that the sets are from two machines; empty if none does."""
    return [fact for fact in differing if fact.name in OF_THE_MACHINE or fact.name.startswith(CACHE)]


def bits(a: ResultSet, b: ResultSet, cells: Collection[str], study: Study) -> Bits:
    """Return what is known of the builds of the programs and libraries that both sets ran.

    Only runs of `cells`, which both sets have, count. A program or library that only one set ran counts as a different
    build.
    """
    found = [one.ran(cells) for one in (a, b)]
    silent = [side for side, own in zip("AB", found, strict=True) if not own.bits]
    of_a, of_b = (own.bits for own in found)
    names = [] if silent else sorted(of_a.keys() | of_b.keys())
    other = [name for name in names if of_a.get(name) != of_b.get(name)]
    told = [Differing(name, _builds(of_a.get(name)), _builds(of_b.get(name))) for name in other]
    versions = [one.versions(study, cells, own.images) for one, own in zip((a, b), found, strict=True)]
    return Bits(told, len(names) - len(other), silent, _other_versions(*versions))


def _other_versions(a: Mapping[str, str], b: Mapping[str, str]) -> list[Differing] | None:
    """Return the benchmarks of which two sets ran different versions; None if the versions of a set are unknown."""
    if not a or not b:
        return None
    return [
        Differing(name, a[name], b[name]) for name in sorted(a.keys() & b.keys()) if _released(a[name]) != _released(b[name])
    ]


def _released(version: str) -> str:
    """Return the version that a benchmark's authors gave it, without the revision number of a package."""
    return version.rpartition("-")[0] or version


def _builds(identifiers: set[str] | None) -> str:
    return SEVERAL.join(sorted(one[:16] for one in identifiers)) if identifiers else ABSENT


def cells(a: ResultSet, b: ResultSet, observed_a: pd.DataFrame, observed_b: pd.DataFrame, design: Design) -> dict[str, str]:
    """Return, for each cell that cannot be compared, the reason.

    The tables are the observations of A and B, with the columns `cell` and `fingerprint`.
    """
    of_a, of_b = (table.groupby("cell", sort=False)["fingerprint"].agg(set).to_dict() for table in (observed_a, observed_b))
    reasons = {cell: ONLY_A for cell in of_a if cell not in of_b} | {cell: ONLY_B for cell in of_b if cell not in of_a}
    emulated = _emulated(observed_b)
    for cell in of_a.keys() & of_b.keys():
        if cell in emulated:
            reasons[cell] = EMULATED
            continue
        alike = len(of_a[cell] | of_b[cell]) == 1
        if not alike and not _same_but_for_the_host(cell, a.cells, b.cells, of_a[cell], of_b[cell], design):
            reasons[cell] = OTHER_SIZES
    return reasons


def _emulated(observed: pd.DataFrame) -> set[str]:
    """Return the cells in which a program ran on an emulated processor."""
    slow = {name for name, runtime in runtimes.known().items() if runtime.emulated}
    places = [name for name in PLACES if name in observed]
    return set(observed.loc[observed[places].isin(slow).any(axis=1), "cell"])


def _same_but_for_the_host(cell: str, a: Mapping, b: Mapping, of_a: set[str], of_b: set[str], design: Design) -> bool:
    """Return whether the plans of a cell show that both sets measured the same, on different hosts.

    This is so if A's cell would have B's fingerprint on B's host. It is not if a set's observations have other
    fingerprints than its plan.
    """
    if cell not in a or cell not in b or {a[cell].get("fingerprint")} != of_a or {b[cell].get("fingerprint")} != of_b:
        return False
    # The plan of an earlier version may lack a key.
    with contextlib.suppress(KeyError):
        return record.identify(design.cells.measured({**a[cell], "host": b[cell]["host"]})) == b[cell]["fingerprint"]
    return False


def incomparable(reasons: Mapping[str, str], shared: int, profiles: Profiles) -> str:
    """Return a sentence that says why nothing of two sets can be compared; empty if something can.

    `shared` is the number of cells that can be compared.
    """
    if shared:
        return ""
    if other := _other(reasons):
        what = f"{len(other)} cells {ELSEWHERE}{_made(profiles)}"
    elif emulated := list(reasons.values()).count(EMULATED):
        what = f"{emulated} cells are {EMULATED}"
    else:
        what = "they have no cell in common"
    return f"Nothing can be compared: {what}."


def refusal(reasons: Mapping[str, str], found: Bits, shared: int, profiles: Profiles, strict: bool, other_machine: bool) -> str:
    """Return a sentence that says why two sets are compared only with `force`; empty if nothing forbids the comparison.

    With `strict`, the bits of both sets must be known and the same.
    """
    if found.versions:
        return f"A and B ran other benchmarks: {_told(found.versions)}; {ALL_THE_SAME}."
    if found.programs and found.versions is None:
        unknown = "which versions these are is not known, as results/images/ of A or B is not there"
        return f"A and B ran other builds of a benchmark: {_told(found.programs)}; {unknown}; {ALL_THE_SAME}."
    if strict and found.other:
        return f"A and B ran other bits (--strict): {_told(found.other)}; {ALL_THE_SAME}."
    if strict and found.silent:
        records = f"there are no records of {SEVERAL.join(found.silent)}"
        return f"Whether A and B ran the same bits is not known (--strict): {records}; {ALL_THE_SAME}."
    # Sizes that follow from caches and memory differ between machines. With the same profile they are no reason to
    # refuse.
    if (other := _other(reasons)) and not (other_machine and profiles.a == profiles.b):
        return (
            f"{len(other)} of {shared + len(other)} cells {ELSEWHERE}{_made(profiles)}: {first_of(other)}; --force "
            "compares the others."
        )
    return ""


def _told(differing: Sequence[Differing]) -> str:
    return first_of([f"{one.name} is {one.a} in A and {one.b} in B" for one in differing])


def _other(reasons: Mapping[str, str]) -> list[str]:
    return [cell for cell, reason in reasons.items() if reason == OTHER_SIZES]


def _made(profiles: Profiles) -> str:
    return f" (profile {profiles.a} in A, {profiles.b} in B)" if profiles.a != profiles.b else ""
