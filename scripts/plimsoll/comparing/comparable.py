"""Whether two sets of results can be compared: what differs between their machines, and what may not differ."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from plimsoll import environments
from plimsoll.comparing.sets import SEVERAL, ResultSet
from plimsoll.config.studies import Study
from plimsoll.design import Design
from plimsoll.errors import first_of
from plimsoll.measuring import record

# Facts that are another at each start of some machines, and say nothing of them.
PASSING = ("memory node ",)
# The facts that are told first, and those of them, with all about caches, that make another machine.
OF_THE_MACHINE, CACHE = ("processor", "sockets, cores, hardware threads"), "cache "
FIRST = (*OF_THE_MACHINE, "kernel")
ONLY_A, ONLY_B, OTHER_SIZES = "only in A", "only in B", "other sizes"
EMULATED = "on an emulated processor, whose times say nothing about speed"
# The factors whose levels are environments.
PLACES = ("runtime", "server")
ELSEWHERE = "were measured with other sizes or in other places"
# What is told of an object that no run of a set has mapped.
ABSENT = "absent"
ALL_THE_SAME = "FORCE=1 (--force) compares all the same"
# How the name of a library ends, before its version.
LIBRARY = ".so"


class Differing(NamedTuple):
    """A fact that is not the same of both sets."""

    name: str
    a: str
    b: str


class Bits(NamedTuple):
    """What is known of the programs and libraries that both sets ran: those that are `other` builds, how many are the `same`,
    and the sets (A, B) that are `silent`, as they have no records. `versions` are the benchmarks of which the sets ran other
    versions; None where a set does not say which it ran."""

    other: list[Differing]
    same: int
    silent: list[str]
    versions: list[Differing] | None = None

    @property
    def programs(self) -> list[Differing]:
        """Other builds of programs, which are no libraries."""
        return [one for one in self.other if LIBRARY not in one.name]


class Profiles(NamedTuple):
    """The profiles that the sets were measured with."""

    a: str
    b: str


def facts(a: ResultSet, b: ResultSet) -> tuple[list[Differing], dict[str, str]]:
    """(what differs between the machines, what is the same), as far as both sets say it."""
    shared = [name for name in a.facts if name in b.facts and not name.startswith(PASSING)]
    shared = [*(name for name in FIRST if name in shared), *(name for name in shared if name not in FIRST)]
    differing = [Differing(name, a.facts[name], b.facts[name]) for name in shared if a.facts[name] != b.facts[name]]
    return differing, {name: a.facts[name] for name in shared if a.facts[name] == b.facts[name]}


def of_another_machine(differing: Sequence[Differing]) -> list[Differing]:
    """The facts that say that two sets were measured on two machines, of those that differ; none where they say nothing."""
    return [fact for fact in differing if fact.name in OF_THE_MACHINE or fact.name.startswith(CACHE)]


def bits(a: ResultSet, b: ResultSet, cells: Collection[str], study: Study) -> Bits:
    """Programs and libraries of which the sets ran other builds in cells that both have, or only one of them ran any."""
    found = [one.ran(cells) for one in (a, b)]
    silent = [side for side, own in zip("AB", found, strict=True) if not own.bits]
    of_a, of_b = (own.bits for own in found)
    names = [] if silent else sorted(of_a.keys() | of_b.keys())
    other = [name for name in names if of_a.get(name) != of_b.get(name)]
    told = [Differing(name, _builds(of_a.get(name)), _builds(of_b.get(name))) for name in other]
    versions = [one.versions(study, cells, own.images) for one, own in zip((a, b), found, strict=True)]
    return Bits(told, len(names) - len(other), silent, _other_versions(*versions))


def _other_versions(a: Mapping[str, str], b: Mapping[str, str]) -> list[Differing] | None:
    """The benchmarks of which two sets have other versions; None where one of them has none."""
    if not a or not b:
        return None
    return [
        Differing(name, a[name], b[name]) for name in sorted(a.keys() & b.keys()) if _released(a[name]) != _released(b[name])
    ]


def _released(version: str) -> str:
    """The version that a benchmark's authors gave it, without the number of a package's revision."""
    return version.rpartition("-")[0] or version


def _builds(identifiers: set[str] | None) -> str:
    return SEVERAL.join(sorted(one[:16] for one in identifiers)) if identifiers else ABSENT


def cells(a: ResultSet, b: ResultSet, observed_a: pd.DataFrame, observed_b: pd.DataFrame, design: Design) -> dict[str, str]:
    """Why each cell that cannot be compared cannot be; the tables have `cell` and `fingerprint`."""
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
    """The cells in which some program ran on an emulated processor."""
    slow = {name for name, environment in environments.known().items() if environment.emulated}
    places = [name for name in PLACES if name in observed]
    return set(observed.loc[observed[places].isin(slow).any(axis=1), "cell"])


def _same_but_for_the_host(cell: str, a: Mapping, b: Mapping, of_a: set[str], of_b: set[str], design: Design) -> bool:
    """Whether a cell's plans say that the same was measured, on another host: A's on B's host would have B's fingerprint."""
    if cell not in a or cell not in b or {a[cell].get("fingerprint")} != of_a or {b[cell].get("fingerprint")} != of_b:
        return False
    # The plan of an earlier version may lack something.
    with contextlib.suppress(KeyError):
        return record.identify(design.cells.measured({**a[cell], "host": b[cell]["host"]})) == b[cell]["fingerprint"]
    return False


def incomparable(reasons: Mapping[str, str], shared: int, profiles: Profiles) -> str:
    """Why nothing of two sets can be compared, as a sentence; nothing if something can. `shared` is the number of cells that
    can be."""
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
    """Why two sets are not compared unless somebody insists, as a sentence; nothing if they are. If it is `strict`, the bits
    have to be known and the same."""
    if found.versions:
        return f"A and B ran other benchmarks: {_told(found.versions)}; {ALL_THE_SAME}."
    if found.programs and found.versions is None:
        unknown = "which versions these are is not known, as results/images/ of A or B is not there"
        return f"A and B ran other builds of a benchmark: {_told(found.programs)}; {unknown}; {ALL_THE_SAME}."
    if strict and found.other:
        return f"A and B ran other bits (STRICT=1): {_told(found.other)}; {ALL_THE_SAME}."
    if strict and found.silent:
        records = f"there are no records of {SEVERAL.join(found.silent)}"
        return f"Whether A and B ran the same bits is not known (STRICT=1): {records}; {ALL_THE_SAME}."
    # On another machine of the same profile sizes are other ones where they follow from its caches and memory.
    if (other := _other(reasons)) and not (other_machine and profiles.a == profiles.b):
        return (
            f"{len(other)} of {shared + len(other)} cells {ELSEWHERE}{_made(profiles)}: {first_of(other)}; FORCE=1 (--force) "
            "compares the others."
        )
    return ""


def _told(differing: Sequence[Differing]) -> str:
    return first_of([f"{one.name} is {one.a} in A and {one.b} in B" for one in differing])


def _other(reasons: Mapping[str, str]) -> list[str]:
    return [cell for cell, reason in reasons.items() if reason == OTHER_SIZES]


def _made(profiles: Profiles) -> str:
    return f" (profile {profiles.a} in A, {profiles.b} in B)" if profiles.a != profiles.b else ""
