"""Write a comparison of two sets of results as JUnit's XML, which continuous integration reads.

What is worse or lost is a failure, and what cannot be compared is an error. An undecided row is skipped, with what
would decide it.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping

from plimsoll.config.studies import Study
from plimsoll.features.compare import effects
from plimsoll.features.compare import words as words
from plimsoll.features.compare.studies import FAILED, ComparedStudy
from plimsoll.features.compare.two_sets import DIFFERENT, UNDECIDED, WORSE
from plimsoll.pages.formats import p_value
from plimsoll.result_sets import findings
from plimsoll.result_sets.comparable import EMULATED, ONLY_A, ONLY_B, OTHER_SIZES

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
OUTCOMES = {WORSE: FAILURE, FAILED: FAILURE, UNDECIDED: SKIPPED}
COUNTED = {FAILURE: "failures", ERROR: "errors", SKIPPED: "skipped"}
# At most this many effects of a claim are listed, those that differ first.
NAMED = 3
# Cells that only one set has are not an error of the other set.
OF_LEFT_OUT = {ONLY_A: SKIPPED, ONLY_B: SKIPPED, EMULATED: SKIPPED, OTHER_SIZES: ERROR}


def text(compared: Mapping[str, ComparedStudy]) -> str:
    """Return the document: a test suite per study, with one test case per comparison that decides, and one per claim.

    Claims decide nothing, except between two machines.
    """
    root = ET.Element("testsuites", name="plimsoll compare")
    for name, one in compared.items():
        _suite(root, name, one)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True).decode() + "\n"


def _suite(root: ET.Element, name: str, one: ComparedStudy) -> None:
    suite = ET.SubElement(root, "testsuite", name=name)
    properties = ET.SubElement(suite, "properties")
    for fact in (*one.differing, *one.bits.other):
        ET.SubElement(properties, "property", name=_legal(fact.name), value=_legal(f"{fact.a} in A, {fact.b} in B"))
    outcomes = []
    if one.refusal:
        outcomes.append(_case(suite, name, "comparable", ERROR, one.refusal, "not comparable"))
    for row in one.deciding.to_dict("records"):
        outcome = OUTCOMES.get(row["answer"])
        # Between two machines claims decide, and cells do not.
        outcome = SKIPPED if one.by_claims and outcome == FAILURE else outcome
        outcomes.append(
            _case(suite, f"{name}.{row['metric'] or 'runs'}", words.name(row, one.study), outcome, _message(row), row["answer"])
        )
    for cell, reason in one.left_out.items():
        # Other sizes follow from the other machine.
        outcome = SKIPPED if one.by_claims else OF_LEFT_OUT[reason]
        outcomes.append(_case(suite, f"{name}.cells", cell_name(cell, one.study), outcome, reason, reason))
    outcomes += [_finding(suite, name, finding, one) for finding in one.findings]
    suite.set("tests", str(len(outcomes)))
    for outcome, attribute in COUNTED.items():
        suite.set(attribute, str(outcomes.count(outcome)))


def _finding(suite: ET.Element, name: str, finding: Mapping, one: ComparedStudy) -> str | None:
    """Add the test case of a claim, and return its outcome.

    It passes if something is known of the claim, as neither verdicts nor effects are better or worse. Otherwise it is
    skipped. Between two machines, a reversed claim fails.
    """
    known = finding["standing"] in (*findings.CHANGES, findings.ALIKE) or DIFFERENT in finding["effects"]
    said = f"{finding['id']}: {finding['statement']}"
    behind = effects.behind(effects.in_order(one.effects.rows), finding["id"]).to_dict("records")
    told = [f"{finding['standing']}: {words.of_finding(finding)}", *(_effect(row, one.study) for row in behind[:NAMED])]
    outcome = FAILURE if one.by_claims and findings.reversals([finding]) else None if known else SKIPPED
    return _case(suite, f"{name}.findings", said, outcome, "; ".join(told), finding["standing"])


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


def _case(suite: ET.Element, group: str, name: str, outcome: str | None, message: str, kind: str) -> str | None:
    """Add a test case with its message, and return its outcome. The message of a passed case is its output."""
    case = ET.SubElement(suite, "testcase", classname=_legal(group), name=_legal(name), time="0")
    if outcome == SKIPPED:
        ET.SubElement(case, outcome, message=_legal(message))
    elif outcome:
        ET.SubElement(case, outcome, message=_legal(message), type=_legal(kind))
    else:
        ET.SubElement(case, "system-out").text = _legal(message)
    return outcome


def _legal(words: str) -> str:
    """Return a text without the characters that XML does not have."""
    return "".join(sign if sign.isprintable() or sign in "\t\n" else "?" for sign in words)
