"""Verdicts as JUnit's XML, which continuous integration reads: a contradicted claim is a failure."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from plimsoll.claims import verdicts
from plimsoll.errors import plain

FAILURE, SKIPPED = "failure", "skipped"
OUTCOMES = {verdicts.CONTRADICTED: FAILURE, verdicts.INCONCLUSIVE: SKIPPED, verdicts.NOT_TESTABLE: SKIPPED}


def text(name: str, results: Sequence[dict], sentences: Sequence[str]) -> str:
    """Return the document: one test case per claim. `sentences` has what the verdict on each rests on, in words."""
    outcomes = [OUTCOMES.get(result["verdict"]) for result in results]
    counts = {"tests": len(results), "failures": outcomes.count(FAILURE), "skipped": outcomes.count(SKIPPED)}
    root = ET.Element("testsuites", name="plimsoll judge")
    suite = ET.SubElement(root, "testsuite", name=name, errors="0", **{key: str(number) for key, number in counts.items()})
    for result, outcome, words in zip(results, outcomes, sentences, strict=True):
        title = plain(f"{result['id']}: {result['statement']}")
        case = ET.SubElement(suite, "testcase", classname=f"{name}.claims", name=title, time="0")
        message = plain(f"{result['verdict']}: {words}")
        if outcome:
            ET.SubElement(case, outcome, message=message, **({"type": result["verdict"]} if outcome == FAILURE else {}))
        else:
            ET.SubElement(case, "system-out").text = message
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True).decode() + "\n"
