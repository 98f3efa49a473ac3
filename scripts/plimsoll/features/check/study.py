"""One study in own results and in the reference: its claims, and what is expected to differ between the machines."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from plimsoll.claims import verdicts
from plimsoll.interchange import Cell
from plimsoll.result_sets import comparable, findings
from plimsoll.result_sets.comparable import Differing
from plimsoll.result_sets.sets import ResultSet

REVERSED, CONDITIONS, HERE, THERE, ALIKE, NEITHER = STANDINGS = (
    "reversed",
    "decided with other conditions",
    "decided here only",
    "decided there only",
    "decided alike",
    "decided in neither",
)
# The words of a comparison of A (the reference, there) and B (here).
WORDS = {
    findings.TURNED: REVERSED,
    findings.OTHERWISE: CONDITIONS,
    findings.ONLY_B: HERE,
    findings.ONLY_A: THERE,
    findings.ALIKE: ALIKE,
    findings.OPEN: NEITHER,
}
# Facts of a machine by which other verdicts are expected (beginnings of their names).
EXPECTED = ("processor", "sockets, cores", "memory", "cache ", "hardware setting ", "virtualisation", "kernel")
MORE_TIME = "inconclusive {}: more time may decide it"
OTHERWISE = "tested in another way there, by an earlier encoding: it does not count"


class Claim(NamedTuple):
    """A claim that both sets judged: its `standing` (one of STANDINGS), both verdicts, and a reason why they may differ."""

    id: str
    statement: str
    standing: str
    here: str
    there: str
    expected: str

    @property
    def counts_as_reversed(self) -> bool:
        """Return whether the claim is reversed, and was tested in the same way in both sets."""
        return self.standing == REVERSED and self.expected != OTHERWISE


class CheckedStudy(NamedTuple):
    """A study in both sets: its claims, the facts of the machines that differ, and the runtimes unavailable here with
    the reason."""

    claims: list[Claim]
    machines: list[Differing]
    unavailable: dict[str, str]

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of claims by standing."""
        counted = Counter(claim.standing for claim in self.claims)
        return {standing: counted[standing] for standing in STANDINGS}

    @property
    def reversals(self) -> list[Claim]:
        """Return the claims that count as reversed."""
        return [claim for claim in self.claims if claim.counts_as_reversed]


def check(there: ResultSet, here: ResultSet) -> CheckedStudy:
    """Compare a study in the reference (`there`) and in own results (`here`).

    Raise PlimsollError for a set that cannot be read.
    """
    of_there, of_here = there.verdicts_together, here.verdicts_together
    rows = findings.compare(of_there, of_here)
    claims = [_claim(row, of_there[row["id"]], of_here[row["id"]]) for row in rows]
    differing, _ = comparable.facts(there, here)
    machines = [fact for fact in differing if fact.name.startswith(EXPECTED)]
    return CheckedStudy(claims, machines, unavailable(here.cells.values()))


def _claim(row: Mapping, there: Mapping, here: Mapping) -> Claim:
    named = (row["id"], row["statement"], WORDS[row["standing"]], here["verdict"], there["verdict"])
    if row["encoded_alike"] is False and row["standing"] == findings.TURNED:
        return Claim(*named, OTHERWISE)
    return Claim(*named, _expected(here, "here") or _expected(there, "there") if row["standing"] != findings.ALIKE else "")


def _expected(result: Mapping, where: str) -> str:
    """Return why a result decides nothing; empty if it does."""
    if result["verdict"] == verdicts.NOT_TESTABLE:
        return f"not testable {where}: {result['reason']}"
    return MORE_TIME.format(where) if result["verdict"] == verdicts.INCONCLUSIVE else ""


def unavailable(cells: Iterable[Cell]) -> dict[str, str]:
    """Return the runtimes of which no cell can be measured here, with the reason of their first cell."""
    cells = list(cells)
    there = {cell["runtime"] for cell in cells if not cell["reason"]}
    # The last cell that is seen gives the reason, so the first one comes last.
    return {cell["runtime"]: cell["reason"] for cell in reversed(cells) if cell["runtime"] not in there}
