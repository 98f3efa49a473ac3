"""A comparison of two sets of results as JUnit's XML.

What is worse or lost is a failure, and what cannot be compared is an error. An undecided row is skipped, with what
would decide it.
"""

from collections.abc import Iterator, Mapping

from plimsoll.config.studies import Study
from plimsoll.features.compare import effects
from plimsoll.features.compare import words as words
from plimsoll.features.compare.studies import FAILED, ComparedStudy
from plimsoll.features.compare.two_sets import DIFFERENT, UNDECIDED, WORSE
from plimsoll.pages import junit
from plimsoll.pages.formats import p_value
from plimsoll.pages.junit import ERROR, FAILURE, SKIPPED, Case
from plimsoll.result_sets import findings
from plimsoll.result_sets.comparable import EMULATED, ONLY_A, ONLY_B, OTHER_SIZES

OUTCOMES = {WORSE: FAILURE, FAILED: FAILURE, UNDECIDED: SKIPPED}
# At most this many effects of a claim are listed, those that differ first.
NAMED = 3
# Cells that only one set has are not an error of the other set.
OF_LEFT_OUT = {ONLY_A: SKIPPED, ONLY_B: SKIPPED, EMULATED: SKIPPED, OTHER_SIZES: ERROR}


def text(compared: Mapping[str, ComparedStudy]) -> str:
    """Return the document: a test suite per study, with one test case per comparison that decides, and one per claim.

    Claims decide nothing, except between two machines.
    """
    return junit.text("plimsoll compare", [_suite(name, one) for name, one in compared.items()])


def _suite(name: str, one: ComparedStudy) -> junit.Suite:
    facts = [(fact.name, f"{fact.a} in A, {fact.b} in B") for fact in (*one.differing, *one.bits.other)]
    return junit.Suite(name, list(_cases(name, one)), facts)


def _cases(name: str, one: ComparedStudy) -> Iterator[Case]:
    if one.refusal:
        yield Case(name, "comparable", ERROR, one.refusal, "not comparable")
    for row in one.deciding.to_dict("records"):
        outcome = OUTCOMES.get(row["answer"])
        # Between two machines claims decide, and cells do not.
        outcome = SKIPPED if one.by_claims and outcome == FAILURE else outcome
        yield Case(f"{name}.{row['metric'] or 'runs'}", words.name(row, one.study), outcome, _message(row), row["answer"])
    for cell, reason in one.left_out.items():
        # Other sizes follow from the other machine.
        outcome = SKIPPED if one.by_claims else OF_LEFT_OUT[reason]
        yield Case(f"{name}.cells", cell_name(cell, one.study), outcome, reason, reason)
    for finding in one.findings:
        yield _finding(name, finding, one)


def _finding(name: str, finding: Mapping, one: ComparedStudy) -> Case:
    """Return the test case of a claim.

    It passes if something is known of the claim, as neither verdicts nor effects are better or worse. Otherwise it is
    skipped. Between two machines, a reversed claim fails.
    """
    known = finding["standing"] in (*findings.CHANGES, findings.ALIKE) or DIFFERENT in finding["effects"]
    said = f"{finding['id']}: {finding['statement']}"
    behind = effects.behind(effects.in_order(one.effects.rows), finding["id"]).to_dict("records")
    told = [f"{finding['standing']}: {words.of_finding(finding)}", *(_effect(row, one.study) for row in behind[:NAMED])]
    outcome = FAILURE if one.by_claims and findings.reversals([finding]) else None if known else SKIPPED
    return Case(f"{name}.findings", said, outcome, "; ".join(told), finding["standing"])


def _effect(row: Mapping, study: Study) -> str:
    """Return an effect that a claim rests on in words: how much it differs, and what would decide it."""
    told = ", ".join(filter(None, (words.effect_changed(row), words.decision_hint(row))))
    return f"{row['answer']} {told} ({words.comparison(row, study)})"


def cell_name(cell: str, study: Study) -> str:
    """Return the name of a cell as a whole, for people."""
    return study.design.report.cell_label(cell, {})


def _message(row: Mapping) -> str:
    p = p_value(row["p_holm"])
    told = [words.change(row), f"p = {p}" if p else "", words.decision_hint(row)]
    return "; ".join(filter(None, told))
