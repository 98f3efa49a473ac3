"""What is printed of a judged table: the answer, each claim with what it rests on, and where to read on."""

from pathlib import Path

from plimsoll.claims import verdicts
from plimsoll.designs.table import outputs, page, paper_consistency
from plimsoll.designs.table.judged_study import JudgedStudy
from plimsoll.errors import many
from plimsoll.pages.formats import capital


def text(judged: JudgedStudy, written: Path) -> str:
    """Return the text for a terminal. `written` is the page."""
    told = [line for one in page.shown_answer(judged) for line in (one["said"], one["recommendation"]) if line]
    if told:
        told = [f"The answer: {told[0]}", *told[1:], ""]
    for result in judged.results:
        printed = f" The paper's own numbers: {result['paper_consistent']}." if result.get("paper_consistent") else ""
        told.append(f"{result['verdict']}{', in part' if result['in_part'] else ''}: {result['statement']} ({result['id']})")
        told.append(f"  {capital(outputs.rests_on(judged, result))}{printed}")
    told += ["", *(f"Note: {note}" for note in judged.notes)] if judged.notes else []
    counts = [f"{found} {name}" for name in verdicts.ON_CLAIM if (found := _number(judged, name))]
    total = [f"{many(len(judged.results), 'claim')}: {', '.join(counts)}.", *paper_consistency.summary(judged.results)]
    return "\n".join([*told, "", *total, f"Read on: {written}"])


def _number(judged: JudgedStudy, verdict: str) -> int:
    return sum(result["verdict"] == verdict for result in judged.results)


def status(judged: JudgedStudy, strict: bool) -> int:
    """Return the exit status: 1 if `strict` and a claim is contradicted, otherwise 0, as every claim has its verdict."""
    return int(strict and _number(judged, verdicts.CONTRADICTED) > 0)
