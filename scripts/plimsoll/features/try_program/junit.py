"""The answer about a program as JUnit XML, for the pages of a CI server: one test case per runtime."""

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from plimsoll.config.studies import Study
from plimsoll.designs.program import words
from plimsoll.features.try_program import program_answer


def write(
    file: Path, study: Study, found: pd.DataFrame, answer: list[str], missing: Mapping[str, str], most: float | None
) -> None:
    """Write a test suite into a file.

    The case of a default fails if it surely loses more than `most`; without `most` no case fails. It is skipped if it has
    no answer. Runtimes that are `missing` here are skipped cases, with the reason. The first case has the answer's sentences.
    """
    losses, unknown = program_answer.losses(study, found), program_answer.unanswered(study, found)
    suite = ElementTree.Element("testsuite", name=study["id"])
    for name in program_answer.defaults(study):
        case = _case(suite, study, name)
        if name in missing or name in unknown:
            ElementTree.SubElement(case, "skipped", message=missing.get(name, "too few runs count for an answer"))
        elif most is not None and losses[name] > most:
            message = f"It surely loses {program_answer.size(losses[name])}, and --fail-above is {program_answer.size(most)}."
            ElementTree.SubElement(case, "failure", message=message, type="loss").text = "\n".join(answer)
    for name in missing.keys() - set(program_answer.defaults(study)):
        ElementTree.SubElement(_case(suite, study, name), "skipped", message=missing[name])
    ElementTree.SubElement(suite, "system-out").text = "\n".join(answer)
    cases = suite.findall("testcase")
    for kind, attribute in (("failure", "failures"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("errors", "0")
    ElementTree.indent(suite)
    ElementTree.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _case(suite: ElementTree.Element, study: Study, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=study["id"], name=words.level("runtime", name))
