"""JUnit's XML, which continuous integration reads: suites of cases that pass, fail or are skipped."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import NamedTuple

from plimsoll.errors import plain

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
# Attribute of a suite that has the number of its cases with an outcome.
COUNTED = {FAILURE: "failures", ERROR: "errors", SKIPPED: "skipped"}


class Case(NamedTuple):
    """A test case. Its `kind` says in a word why it failed. The message of a passed case is its output."""

    group: str
    name: str
    outcome: str | None = None  # None: passed
    message: str = ""
    kind: str = ""
    details: str = ""  # of a failure


class Suite(NamedTuple):
    """A test suite, with its properties by name, and its output."""

    name: str
    cases: Sequence[Case]
    properties: Sequence[tuple[str, str]] = ()
    output: str = ""


def text(name: str, suites: Sequence[Suite]) -> str:
    """Return the document. Control characters, which XML forbids, are replaced."""
    root = ET.Element("testsuites", name=plain(name))
    for suite in suites:
        _add_suite(root, suite)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True).decode() + "\n"


def _add_suite(root: ET.Element, suite: Suite) -> None:
    outcomes = [case.outcome for case in suite.cases]
    counts = {attribute: str(outcomes.count(outcome)) for outcome, attribute in COUNTED.items()}
    added = ET.SubElement(root, "testsuite", name=plain(suite.name), tests=str(len(outcomes)), **counts)
    if suite.properties:
        properties = ET.SubElement(added, "properties")
        for key, value in suite.properties:
            ET.SubElement(properties, "property", name=plain(key), value=plain(value))
    for case in suite.cases:
        _add_case(added, case)
    if suite.output:
        ET.SubElement(added, "system-out").text = plain(suite.output)


def _add_case(suite: ET.Element, case: Case) -> None:
    added = ET.SubElement(suite, "testcase", classname=plain(case.group), name=plain(case.name), time="0")
    if case.outcome:
        kind = {} if case.outcome == SKIPPED else {"type": plain(case.kind)}
        outcome = ET.SubElement(added, case.outcome, message=plain(case.message), **kind)
        outcome.text = plain(case.details) or None
    elif case.message:
        ET.SubElement(added, "system-out").text = plain(case.message)
