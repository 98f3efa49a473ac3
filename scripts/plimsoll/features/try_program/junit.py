"""The answer about a program as JUnit's XML: one test case per runtime."""

from collections.abc import Mapping, Sequence

import pandas as pd

from plimsoll.config.studies import Study
from plimsoll.designs.program import change_words, program_answer, words
from plimsoll.pages import junit


def text(study: Study, found: pd.DataFrame, answer: Sequence[str], missing: Mapping[str, str], most: float | None) -> str:
    """Return the document.

    The case of a default fails if it surely loses more than `most`; without `most` no case fails. It is skipped if it has
    no answer. Runtimes that are `missing` here are skipped cases, with the reason. The suite's output is the answer.
    """
    losses, unknown = program_answer.losses(study, found), program_answer.unanswered(study, found)

    def case(name: str) -> junit.Case:
        passed = junit.Case(study["id"], words.level("runtime", name))
        if name in missing or name in unknown:
            return passed._replace(outcome=junit.SKIPPED, message=missing.get(name, "too few runs count for an answer"))
        if most is None or losses[name] <= most:
            return passed
        message = f"It surely loses {change_words.size(losses[name])}, and --fail-above is {change_words.size(most)}."
        return passed._replace(outcome=junit.FAILURE, message=message, kind="loss", details="\n".join(answer))

    cases = [case(name) for name in dict.fromkeys([*program_answer.defaults(study), *missing])]
    return junit.text("plimsoll try", [junit.Suite(study["id"], cases, output="\n".join(answer))])
