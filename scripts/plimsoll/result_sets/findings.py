"""Compare the verdicts on each claim in two sets of results. All functions are pure."""

from collections.abc import Iterable, Mapping

from plimsoll.claims import host_agreement, verdicts

TURNED, OTHERWISE, ONLY_B, ONLY_A, OPEN, ALIKE = (
    "reversed",
    "decided with other conditions",
    "decided in B only",
    "decided in A only",
    "decided in neither",
    "decided alike",
)
# Changes of a verdict, in the order in which they are listed.
CHANGES = (TURNED, OTHERWISE, ONLY_B, ONLY_A)
STANDINGS = (*CHANGES, ALIKE, OPEN)


def compare(a: Mapping[str, dict], b: Mapping[str, dict]) -> list[dict]:
    """Return one row per claim that both sets judged, reversed claims first.

    A row has `id`, `statement`, `standing` (one of STANDINGS) and the verdicts `a` and `b`. `encoded_alike` says
    whether both sets tested the claim in the same way; None means that a set does not say how. Claims that repeat
    another claim in both sets are left out: one that repeats another in one set alone says something in the other.
    """
    shared = [name for name in b if name in a]
    rows = [_row(a[name], b[name]) for name in shared if not (_repeats(a[name], a) and _repeats(b[name], b))]
    return sorted(rows, key=lambda row: STANDINGS.index(row["standing"]))


def _row(a: Mapping, b: Mapping) -> dict:
    return {
        **{"id": b["id"], "statement": b["statement"], "standing": standing(a, b)},
        **{"a": a["verdict"], "b": b["verdict"], "encoded_alike": host_agreement.asked_alike(a, b)},
    }


def standing(a: Mapping, b: Mapping) -> str:
    """Return how two results of one claim relate, as one of STANDINGS.

    A claim is not reversed by verdicts in different arrangements of what its paper leaves open.
    """
    decided = [result["verdict"] in verdicts.DECIDED for result in (a, b)]
    if all(decided):
        return TURNED if verdicts.opposite(a, b) else ALIKE if a["verdict"] == b["verdict"] else OTHERWISE
    return ONLY_A if decided[0] else ONLY_B if decided[1] else OPEN


def reversals(rows: Iterable[Mapping]) -> int:
    """Return the number of reversed claims, without those that the two sets are known to have tested differently."""
    return sum(row["standing"] == TURNED and row["encoded_alike"] is not False for row in rows)


def _repeats(result: Mapping, there: Mapping[str, dict]) -> bool:
    """Return whether a claim repeats another claim that was judged too."""
    return result.get("same_as") in there or result.get("counted_in") in there
