"""Verdicts as JUnit's XML: a contradicted claim is a failure."""

from collections.abc import Sequence

from plimsoll.claims import verdicts
from plimsoll.pages import junit

OUTCOMES = {
    verdicts.CONTRADICTED: junit.FAILURE,
    verdicts.INCONCLUSIVE: junit.SKIPPED,
    verdicts.NOT_TESTABLE: junit.SKIPPED,
}


def text(name: str, results: Sequence[dict], sentences: Sequence[str]) -> str:
    """Return the document: one test case per claim. `sentences` has what the verdict on each rests on, in words."""
    cases = [_case(name, result, words) for result, words in zip(results, sentences, strict=True)]
    return junit.text("plimsoll judge", [junit.Suite(name, cases)])


def _case(name: str, result: dict, words: str) -> junit.Case:
    verdict = result["verdict"]
    title = f"{result['id']}: {result['statement']}"
    return junit.Case(f"{name}.claims", title, OUTCOMES.get(verdict), f"{verdict}: {words}", verdict)
