"""Claims that the cells of another study answer, found in the results of all studies."""

from collections.abc import Sequence

from plimsoll import spelling
from plimsoll.claims import book, verdicts
from plimsoll.claims.encodings import WHOLE

# Keys of a result that are taken from the answering claim if it answers the whole claim.
OF_ANSWER = ("verdict", "in_part", "sessions", "p", "q", "robust")


def by_others(results: Sequence[dict]) -> list[dict]:
    """Return the results of all studies, completed by verdicts on claims of other studies (`answered_by`).

    Another study's verdict is used where a study's own cells give none. `answered` is a sentence that names the
    answering claim, or the study that would have to be measured. Claims that are not among the results answer nothing.
    """
    known = {result["id"]: result for result in results}
    return [_answered(result, known) for result in results]


def _answered(result: dict, known: dict[str, dict]) -> dict:
    asked = {number: name for number, name in (result.get("answered_by") or {}).items() if _lacks(result, number)}
    named = {number: known[name] for number, name in asked.items() if name in known}
    if not named:
        return result
    told = [_told(number, answer) for number, answer in named.items()]
    given = {number: answer for number, answer in named.items() if answer["comparisons"]}
    return {**_judged(result, given), "answered": " ".join(told)}


def _lacks(result: dict, number: str) -> bool:
    """Return whether a claim's own cells cannot test it, or its part of that number."""
    own = result if number == WHOLE else result["parts"][int(number) - 1] if result["parts"] else None
    return own is not None and own["verdict"] == verdicts.NOT_TESTABLE


def _judged(result: dict, given: dict[str, dict]) -> dict:
    """Return a result with the verdicts that other claims give on it or on its parts."""
    if WHOLE in given:
        return {**result, **{key: given[WHOLE].get(key) for key in OF_ANSWER}, "reason": ""}
    if not given:
        return result
    parts = [
        {**part, "verdict": given[str(number)]["verdict"], "reason": ""} if str(number) in given else part
        for number, part in enumerate(result["parts"], 1)
    ]
    verdict = _of_sentence([part["verdict"] for part in book.main(parts)])
    in_part = verdict in verdicts.DECIDED and any(part["verdict"] == verdicts.NOT_TESTABLE for part in parts)
    # Sessions and p-values of two studies cannot be combined.
    own = {"sessions": [], "reason": "", **dict.fromkeys(("p", "q", "robust"))}
    return {**result, "verdict": verdict, "parts": parts, "in_part": in_part, **own}


def _of_sentence(each: Sequence[str]) -> str:
    """Return the verdict on a sentence from the verdicts on its main parts. Some parts are tested by another study,
    which has the evidence."""
    asked = {verdict for verdict in each if verdict != verdicts.NOT_TESTABLE}
    if not asked or verdicts.CONTRADICTED in asked:
        return verdicts.CONTRADICTED if asked else verdicts.NOT_TESTABLE
    if asked == {verdicts.REPRODUCED}:
        return verdicts.REPRODUCED
    return verdicts.CONDITIONAL if asked <= {verdicts.REPRODUCED, verdicts.CONDITIONAL} else verdicts.INCONCLUSIVE


def _told(number: str, answer: dict) -> str:
    what = "This" if number == WHOLE else f"Part {number}"
    if not answer["comparisons"]:
        return f"{what} needs the cells of {answer['study']}: {spelling.command('reproduce', answer['study'])} measures them."
    return f"{what} is answered by the cells of {answer['study']} ({answer['id']}): {answer['verdict']}."
