"""Claims about a table: the vocabulary of all claims (config/schemas/claims.yaml), of which a person writes what matters.

A claim needs a statement and what it compares. The rest has a usual value: its number, the first question, all metrics.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from plimsoll.claims import book, quantities
from plimsoll.config import yaml_files
from plimsoll.config.studies import Study
from plimsoll.errors import PlimsollError, quote
from plimsoll.spelling import hint

QUESTION = "RQ1"
# Keys of a file of claims for `judge`. The last two are for the claims of our own studies (config/claims).
KEYS = ("claims", "questions", "study", "words")
# Quantities of runs that Plimsoll has made itself: what carried messages, and the references of ranks.
OF_STUDIES = ("transport", "memory contention ratio")
# Values of `expected` that need to know which direction of a metric is better.
BY_DIRECTION = ("better", "worse", "not_better", "not_worse")


@dataclass(frozen=True)
class WrittenClaims:
    """Claims as they are written, with the file that they are in (`source`) and the line of each."""

    written: list[dict]
    questions: dict[str, str]
    source: str
    lines: list[int]

    @property
    def file(self) -> Path | None:
        """The file; None for claims that are in no file."""
        return Path(self.source) if self.lines else None

    def where(self, number: int) -> str:
        """Return file and line of a claim, or its number if it is in no file."""
        return f"{self.source}, line {self.lines[number]}" if self.lines else f"{self.source}, number {number + 1}"


def read(path: Path) -> WrittenClaims:
    """Return the claims of a file: of a file of claims, or of a study that has them in it or names their file.

    PlimsollError if the file is not there, is no YAML, has an unknown key, or has no claims that fit the schema of claims.
    """
    document, text = yaml_files.read(path)
    found = document.get("claims") if isinstance(document, dict) else None
    if isinstance(found, str):
        return read(path.parent / found)
    if not isinstance(found, list) or not all(isinstance(claim, dict) for claim in found) or not found:
        raise PlimsollError(
            f"{path}: it has no list of claims. Write `claims:` and below it one mapping of keys to values for each claim."
        )
    if unknown := next((key for key in document if key not in KEYS and "design" not in document), None):
        raise PlimsollError(
            f"{yaml_files.places(str(path), text)(unknown)}: unknown key {quote(unknown)}{hint(unknown, KEYS)}; a file of "
            f"claims has {' and '.join(KEYS[:2])}. Factors and columns are of a study: ./plimsoll new study NAME --data FILE."
        )
    lines = yaml_files.lines_of(text, "claims")
    return _checked(WrittenClaims(found, document.get("questions", {}), str(path), lines))


def of_list(claims: Sequence[Mapping]) -> WrittenClaims:
    """Return claims that are in no file. PlimsollError for a claim that does not fit the schema of claims."""
    if not all(isinstance(claim, Mapping) for claim in claims):
        raise PlimsollError("claims: one of them is not a mapping of keys to values.")
    return _checked(WrittenClaims([dict(claim) for claim in claims], {}, "claims", []))


def _checked(claimed: WrittenClaims) -> WrittenClaims:
    """Return claims whose keys have values of the right types (the schema of claims); PlimsollError for others.

    The table is read by the metrics and factors that claims name, so this comes before it.
    """
    usual = {"id": "table-c01", "section": "", "shown_in": [], "question": QUESTION, "metrics": ["any"], "needs": []}
    questions = claimed.questions or {QUESTION: "Which claims hold?"}
    for number, claim in enumerate(claimed.written):
        document = {"study": "table", "questions": questions, "claims": [{**usual, "kind": _kind(claim), **claim}]}
        yaml_files.check(document, "claims", claimed.where(number), below=("claims", 0))
    return claimed


def complete(claimed: WrittenClaims, study: Study) -> list[dict]:
    """Return claims with every key that the judge needs, checked against the study.

    PlimsollError, with file and line, for a claim that does not fit, or that names what the table does not have.
    """
    questions = claimed.questions or {QUESTION: study["question"]}
    claims = [_whole(claim, number, study, next(iter(questions))) for number, claim in enumerate(claimed.written, 1)]
    for number, claim in enumerate(claims):
        if claim["question"] not in questions:
            raise PlimsollError(
                f"{claimed.where(number)}: question: {quote(claim['question'])} is not among the file's questions. "
                "Add it to them, or name one of them."
            )
    places = {claim["id"]: claimed.where(number) for number, claim in enumerate(claims)}
    if len(places) < len(claims):
        again = next(claim["id"] for claim in claims if [one["id"] for one in claims].count(claim["id"]) > 1)
        raise PlimsollError(f"{places[again]}: two claims have the id {again}. Give each an id of its own.")
    book.check_against(study, claims, lambda claim: f"{places[claim['id']]}: {claim['id']}")
    for claim in (one for whole in claims for one in book.assertions_of(whole)):
        _check_sides(claim, places[claim["id"]])
        _check_direction(claim, study, places[claim["id"]])
    return claims


def _whole(claim: dict, number: int, study: Study, question: str) -> dict:
    usual = {"id": f"{study['id']}-c{number:02}", "section": "", "shown_in": [], "question": question}
    return {
        **usual,
        **{"kind": _kind(claim), "metrics": list(study["metrics"]), "needs": []},
        **deepcopy(claim),
    }


def _kind(claim: Mapping) -> str:
    if "along" in claim:
        return "trend"
    if "order" in claim:
        return "ordering"
    return "no_difference" if claim.get("expected") == "no_difference" else "difference"


def _check_sides(claim: dict, where: str) -> None:
    """Raise PlimsollError if a claim does not say what it compares, or what it expects of it.

    Raise it too for a quantity that no table has (OF_STUDIES), and for something that the machine needs.
    """
    quantity = quantities.find(claim.get("quantity"))
    if quantity.name in OF_STUDIES and "untestable" not in claim:
        raise PlimsollError(
            f"{where}: {claim['id']}: quantity: the {quantity.name} follows from what Plimsoll observes of its own runs, and "
            "a table has none."
        )
    if claim["needs"]:
        raise PlimsollError(
            f"{where}: {claim['id']}: needs: {', '.join(claim['needs'])}, but a table says nothing of the machine that made "
            "it. Delete the key. If the table cannot test the claim, write `untestable` with the reason."
        )
    if {"untestable", "along", "parts"} & claim.keys() or quantity.printed or quantity.one_side:
        return
    needed = ("expected",) if "order" in claim else ("a", "b", "expected")
    if lacking := next((key for key in needed if not claim.get(key)), None):
        raise PlimsollError(
            f"{where}: {claim['id']}: it has no {lacking!r}. A claim needs both sides (a and b) and `expected`."
        )
    if "order" not in claim and claim["a"] == claim["b"]:
        raise PlimsollError(f"{where}: {claim['id']}: a and b are the same levels, so there is nothing to compare.")


def _check_direction(claim: dict, study: Study, where: str) -> None:
    """Raise PlimsollError if a claim says better or worse of a metric whose better direction is not known."""
    unknown = [name for name in claim["metrics"] if name in study["metrics"] and not study["metrics"][name]["known"]]
    if claim.get("expected") in BY_DIRECTION and unknown:
        raise PlimsollError(
            f"{where}: {claim['id']}: expected: {claim['expected']}, but nothing says whether a higher or a "
            f"lower {quote(unknown[0])} is better. Write higher or lower instead, or give the metric `better`."
        )
