"""JUnit's XML: it is well-formed whatever a text has, and counts its cases. About a program: cases of each outcome."""

from xml.etree import ElementTree

import pytest
from plimsoll.designs.program import effects
from plimsoll.designs.program.factors import FIRST
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import junit as about_program
from plimsoll.features.try_program import study, study_options
from plimsoll.pages import junit
from plimsoll.pages.junit import Case, Suite

from tests.unit import test_program as programs

TWO = {**programs.STUDY, "experiments": {FIRST: {"runtime": ["host", "files", "docker", "podman"]}}}

# Characters that XML forbids (two control characters, a lone surrogate, U+FFFE), and some that it escapes.
ODD = "\x1b[31m \x00 \ud800 \ufffe <b> & \"y\" 'z' ]]> é\tü"
PLAIN = "�[31m � � � <b> & \"y\" 'z' ]]> é\tü"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.encode())


def about(
    costs: dict, missing: dict, most: float | None, blocks: int = 20, answer: str = "Docker makes it slower <here> & now."
) -> ElementTree.Element:
    """Return the suite about a program."""
    found = effects.table(programs.world(costs, blocks=blocks))
    [suite] = parsed(about_program.text(TWO, found, [answer], missing, most))
    return suite


def test_a_text_with_characters_that_xml_forbids_is_written_without_them():
    case = Case(ODD, ODD, junit.FAILURE, ODD, ODD, ODD)
    cases = [case, case._replace(outcome=junit.SKIPPED, details=""), case._replace(outcome=None)]
    [suite] = root = parsed(junit.text(ODD, [Suite(ODD, cases, [(ODD, ODD)], ODD)]))
    failed, skipped, passed = suite.findall("testcase")
    properties = suite.find("properties/property")
    attributes = [root.get("name"), suite.get("name"), properties.get("name"), properties.get("value")]
    attributes += [failed.get("name"), failed.get("classname"), failed[0].get("type")]
    attributes += [failed[0].get("message"), skipped[0].get("message")]
    texts = [failed[0].text, passed.findtext("system-out"), suite.findtext("system-out")]
    assert {*attributes, *texts} == {PLAIN}


def test_cases_are_counted_by_their_outcome():
    outcomes = [junit.FAILURE, junit.SKIPPED, None, junit.FAILURE, junit.ERROR, junit.SKIPPED, None, junit.SKIPPED]
    cases = [Case("group", str(number), outcome, "why", "kind") for number, outcome in enumerate(outcomes)]
    first, second = parsed(junit.text("plimsoll", [Suite("first", cases), Suite("second", cases[2:3])]))
    counted = [{name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} for suite in (first, second)]
    assert counted == [
        {"tests": "8", "failures": "2", "errors": "1", "skipped": "3"},
        {"tests": "1", "failures": "0", "errors": "0", "skipped": "0"},
    ]
    told = [[(child.tag, dict(child.attrib)) for child in case] for case in first.findall("testcase")]
    assert told[0] == [("failure", {"message": "why", "type": "kind"})] and told[1] == [("skipped", {"message": "why"})]
    assert told[2] == [("system-out", {})]
    assert list(parsed(junit.text("plimsoll", [Suite("a", [Case("group", "name")])]))[0].find("testcase")) == []


def test_an_answer_about_a_program_may_have_any_character():
    suite = about({"docker-filtered": 0.2}, {"singularity": ODD}, 0.05, answer=ODD)
    assert suite.findtext("system-out") == suite.findtext("testcase/failure") == PLAIN
    reasons = {case.get("name"): case.find("skipped").get("message") for case in suite.findall("testcase[skipped]")}
    assert reasons["Singularity"] == PLAIN


def states(suite: ElementTree.Element) -> dict[str, str]:
    return {case.get("name"): next((child.tag for child in case), "passed") for case in suite.findall("testcase")}


@pytest.mark.parametrize(("cost", "most", "state"), [(0.2, 0.05, "failure"), (0.2, 0.3, "passed"), (0.2, None, "passed")])
def test_a_case_fails_if_its_default_surely_loses_more(cost, most, state):
    suite = about({"docker-filtered": cost}, {"singularity": "not installed"}, most)
    assert states(suite) == {"Docker": state, "Podman": "skipped", "Singularity": "skipped"}
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "3", "failures": str(int(state == "failure")), "skipped": "2", "errors": "0"}
    assert suite.findtext("system-out") == "Docker makes it slower <here> & now."
    if state == "failure":
        assert "--fail-above is 5.0 %" in suite.find("testcase/failure").get("message")


def test_a_case_without_an_answer_is_skipped_and_no_pass():
    suite = about({}, {"podman": "it does not start"}, 0.05, blocks=2)
    reasons = {case.get("name"): case.find("skipped").get("message") for case in suite.findall("testcase")}
    assert reasons == {"Docker": "too few runs count for an answer", "Podman": "it does not start"}


def test_runtimes_that_do_not_work_here_have_a_reason(monkeypatch):
    def check(runtime):
        if runtime.name != "podman":
            raise Unavailable(f"no {runtime.name}")
        return "5"

    for name in study.CALLED:
        monkeypatch.setattr(type(study.runtimes.find(name)), "check", check)
    missing = study.missing_here()
    assert missing["docker"] == "no docker" and "podman" not in missing and study.defaults_here() == ["podman"]
    monkeypatch.setattr(study, "missing_here", lambda: dict.fromkeys(study.CALLED, "gone"))
    with pytest.raises(PlimsollError, match="Docker: gone; "):
        study.defaults_here()


def test_a_file_that_cannot_be_written_is_refused_by_its_option(tmp_path):
    with pytest.raises(PlimsollError, match="--junit"):
        study_options.refuse_unwritable(tmp_path / "missing/out.xml", "--junit")
