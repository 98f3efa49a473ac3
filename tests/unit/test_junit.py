"""JUnit XML about a program: cases that fail, pass and are skipped."""

from xml.etree import ElementTree

import pytest
from plimsoll.designs.program import effects
from plimsoll.designs.program.factors import FIRST
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.features.try_program import junit, study, study_options

from tests.unit import test_program as programs

TWO = {**programs.STUDY, "experiments": {FIRST: {"runtime": ["host", "files", "docker", "podman"]}}}


def written(folder, costs: dict, missing: dict, most: float | None, blocks: int = 20) -> ElementTree.Element:
    found = effects.table(programs.world(costs, blocks=blocks))
    junit.write(folder / "out.xml", TWO, found, ["Docker makes it slower <here> & now."], missing, most)
    return ElementTree.parse(folder / "out.xml").getroot()


def states(suite: ElementTree.Element) -> dict[str, str]:
    return {case.get("name"): next((child.tag for child in case), "passed") for case in suite.findall("testcase")}


@pytest.mark.parametrize(("cost", "most", "state"), [(0.2, 0.05, "failure"), (0.2, 0.3, "passed"), (0.2, None, "passed")])
def test_a_case_fails_if_its_default_surely_loses_more(tmp_path, cost, most, state):
    suite = written(tmp_path, {"docker-filtered": cost}, {"singularity": "not installed"}, most)
    assert states(suite) == {"Docker": state, "Podman": "skipped", "Singularity": "skipped"}
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "3", "failures": str(int(state == "failure")), "skipped": "2", "errors": "0"}
    assert suite.findtext("system-out") == "Docker makes it slower <here> & now."
    if state == "failure":
        assert "--fail-above is 5.0 %" in suite.find("testcase/failure").get("message")


def test_a_case_without_an_answer_is_skipped_and_no_pass(tmp_path):
    suite = written(tmp_path, {}, {"podman": "it does not start"}, 0.05, blocks=2)
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
        study_options.export_path(tmp_path / "missing/out.xml", "--junit")
