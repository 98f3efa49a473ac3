"""Claims that the cells of another study answer: where the studies' results come together."""

from collections.abc import Sequence

from plimsoll.claims import book, verdicts
from plimsoll.claims.encodings import WHOLE

# What the answering claim gives on the whole of another.
OF_ANSWER = ("verdict", "in_part", "sessions", "p", "q", "robust")


def by_others(results: Sequence[dict]) -> list[dict]:
    """The results of all studies, with verdicts of other studies' claims (`answered_by`) where a study's own cells give none.

    `answered` says in a sentence which claim answers, or which study would have to be measured.
    """
    known = {result["id"]: result for result in results}
    return [_answered(result, known) for result in results]


def _answered(result: dict, known: dict[str, dict]) -> dict:
    named = {number: known[name] for number, name in (result.get("answered_by") or {}).items() if _lacks(result, number)}
    if not named:
        return result
    told = [_told(number, answer) for number, answer in named.items()]
    given = {number: answer for number, answer in named.items() if answer["comparisons"]}
    return {**_judged(result, given), "answered": " ".join(told)}


def _lacks(result: dict, number: str) -> bool:
    """Whether a claim's own cells do not tell of it, or of its part of that number."""
    own = result if number == WHOLE else result["parts"][int(number) - 1] if result["parts"] else None
    return own is not None and own["verdict"] == verdicts.NOT_TESTABLE


def _judged(result: dict, given: dict[str, dict]) -> dict:
    """A result with the verdicts that other claims give on it, or on its parts."""
    if WHOLE in given:
        return {**result, **{key: given[WHOLE].get(key) for key in OF_ANSWER}, "reason": ""}
    if not given:
        return result
    parts = [
        {**part, "verdict": given[str(number)]["verdict"], "reason": ""} if str(number) in given else part
        for number, part in enumerate(result["parts"], 1)
    ]
    verdict = _of_sentence([part["verdict"] for part in book.main(parts)])
    in_part = verdict in verdicts.SETTLED and any(part["verdict"] == verdicts.NOT_TESTABLE for part in parts)
    # Sessions and p of two studies are not one another's.
    own = {"sessions": [], **dict.fromkeys(("p", "q", "robust"))}
    return {**result, "verdict": verdict, "parts": parts, "in_part": in_part, **own}


def _of_sentence(each: Sequence[str]) -> str:
    """Verdict on a sentence from those on its main parts, of which some are of another study, where the evidence is."""
    asked = {verdict for verdict in each if verdict != verdicts.NOT_TESTABLE}
    if not asked or verdicts.CONTRADICTED in asked:
        return verdicts.CONTRADICTED if asked else verdicts.NOT_TESTABLE
    if asked == {verdicts.REPRODUCED}:
        return verdicts.REPRODUCED
    return verdicts.CONDITIONAL if asked <= {verdicts.REPRODUCED, verdicts.CONDITIONAL} else verdicts.INCONCLUSIVE


def _told(number: str, answer: dict) -> str:
    what = "This" if number == WHOLE else f"Part {number}"
    if not answer["comparisons"]:
        return f"{what} is asked of the cells of {answer['study']}: make reproduce STUDIES={answer['study']} measures them."
    return f"{what} is answered by the cells of {answer['study']} ({answer['id']}): {answer['verdict']}."
