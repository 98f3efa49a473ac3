"""Whether two sets of results can be compared: what differs between their machines, and what may not differ."""

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from plimsoll.comparing.sets import ResultSet
from plimsoll.design import Design

# Facts that are another at each start of some machines, and say nothing of them.
PASSING = ("memory node ",)
# The facts that are told first.
FIRST = ("processor", "sockets, cores, hardware threads", "kernel")
ONLY_A, ONLY_B, OTHER_SIZES = "only in A", "only in B", "other sizes"
ELSEWHERE = "were measured with other sizes or in other places"
# Sentences name at most so many.
NAMED = 3


class Differing(NamedTuple):
    """A fact that is not the same of both sets."""

    name: str
    a: str
    b: str


def facts(a: ResultSet, b: ResultSet) -> tuple[list[Differing], dict[str, str]]:
    """(what differs between the machines, what is the same), as far as both sets say it."""
    shared = [name for name in a.facts if name in b.facts and not name.startswith(PASSING)]
    shared = [*(name for name in FIRST if name in shared), *(name for name in shared if name not in FIRST)]
    differing = [Differing(name, a.facts[name], b.facts[name]) for name in shared if a.facts[name] != b.facts[name]]
    return differing, {name: a.facts[name] for name in shared if a.facts[name] == b.facts[name]}


def bits(a: ResultSet, b: ResultSet) -> list[Differing]:
    """Programs and libraries of which the sets ran other builds."""
    shared = sorted(a.bits.keys() & b.bits.keys())
    return [Differing(name, a.bits[name][:16], b.bits[name][:16]) for name in shared if a.bits[name] != b.bits[name]]


def cells(a: ResultSet, b: ResultSet, observed_a: pd.DataFrame, observed_b: pd.DataFrame, design: Design) -> dict[str, str]:
    """Why each cell that cannot be compared cannot be; the tables have `cell` and `fingerprint`."""
    of_a, of_b = (table.groupby("cell", sort=False)["fingerprint"].agg(set).to_dict() for table in (observed_a, observed_b))
    reasons = {cell: ONLY_A for cell in of_a if cell not in of_b} | {cell: ONLY_B for cell in of_b if cell not in of_a}
    for cell in of_a.keys() & of_b.keys():
        alike = len(of_a[cell] | of_b[cell]) == 1
        if not alike and not _same_but_for_the_host(cell, a.cells, b.cells, of_a[cell], of_b[cell], design):
            reasons[cell] = OTHER_SIZES
    return reasons


def _same_but_for_the_host(cell: str, a: Mapping, b: Mapping, of_a: set[str], of_b: set[str], design: Design) -> bool:
    """Whether a cell's plans say that the same was measured, on another host: A's on B's host would have B's fingerprint."""
    if cell not in a or cell not in b or {a[cell].get("fingerprint")} != of_a or {b[cell].get("fingerprint")} != of_b:
        return False
    # The plan of an earlier version may lack something.
    with contextlib.suppress(KeyError):
        return design.cells.fingerprint({**a[cell], "host": b[cell]["host"]}) == b[cell]["fingerprint"]
    return False


def refusal(
    reasons: Mapping[str, str], differing_bits: list[Differing], shared: int, profiles: tuple[str, str], force: bool
) -> str:
    """Why two sets are not compared, as a sentence; nothing if they are. `shared` is the number of cells that can be, and
    `profiles` are those of the sets."""
    other = [cell for cell, reason in reasons.items() if reason == OTHER_SIZES]
    made = f" (profile {profiles[0]} in A, {profiles[1]} in B)" if profiles[0] != profiles[1] else ""
    if not shared:
        what = f"{len(other)} cells {ELSEWHERE}{made}" if other else "they have no cell in common"
        return f"Nothing can be compared: {what}."
    if force:
        return ""
    if differing_bits:
        named = _named([f"{one.name} is {one.a} in A and {one.b} in B" for one in differing_bits])
        return f"A and B ran other bits: {named}; FORCE=1 (--force) compares all the same."
    if other:
        return (
            f"{len(other)} of {shared + len(other)} cells {ELSEWHERE}{made}: {_named(other)}; FORCE=1 (--force) compares the "
            "others."
        )
    return ""


def _named(names: list[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
