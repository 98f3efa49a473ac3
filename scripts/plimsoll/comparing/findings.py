"""What became of each finding from one set of results to the other. Pure."""

from collections.abc import Iterable, Mapping

from plimsoll.claims import across, verdicts

TURNED, OTHERWISE, ONLY_B, ONLY_A, OPEN, ALIKE = (
    "reversed",
    "decided with other conditions",
    "decided in B only",
    "decided in A only",
    "decided in neither",
    "decided alike",
)
# In the order in which they are told.
CHANGES = (TURNED, OTHERWISE, ONLY_B, ONLY_A)
STANDINGS = (*CHANGES, ALIKE, OPEN)


def compare(a: Mapping[str, dict], b: Mapping[str, dict]) -> list[dict]:
    """One row per finding that both sets judged, those that turned first: `id`, `statement`, `standing` (one of STANDINGS), the
    verdicts `a` and `b`, and whether it was `encoded_alike` (None where a set does not say how it was asked)."""
    rows = [_row(a[name], b[name]) for name in b if name in a and not _repeats(b[name], b)]
    return sorted(rows, key=lambda row: STANDINGS.index(row["standing"]))


def _row(a: Mapping, b: Mapping) -> dict:
    return {
        **{"id": b["id"], "statement": b["statement"], "standing": standing(a, b)},
        **{"a": a["verdict"], "b": b["verdict"], "encoded_alike": across.asked_alike(a, b)},
    }


def standing(a: Mapping, b: Mapping) -> str:
    """What two results of one finding come to: in different arrangements of what its paper leaves open nothing is reversed."""
    settled = [result["verdict"] in verdicts.SETTLED for result in (a, b)]
    if all(settled):
        return TURNED if verdicts.opposite(a, b) else ALIKE if a["verdict"] == b["verdict"] else OTHERWISE
    return ONLY_A if settled[0] else ONLY_B if settled[1] else OPEN


def reversals(rows: Iterable[Mapping]) -> int:
    """How many claims that were asked alike both sets decide, and not alike."""
    return sum(row["standing"] == TURNED and row["encoded_alike"] is not False for row in rows)


def _repeats(result: Mapping, there: Mapping[str, dict]) -> bool:
    """Whether a finding says what another one says that was judged too."""
    return result.get("same_as") in there or result.get("counted_in") in there
