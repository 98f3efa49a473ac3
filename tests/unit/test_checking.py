"""`plimsoll check`: own results, made from the reference measurements, beside the reference measurements."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from plimsoll.claims import findings, result_counts, verdicts
from plimsoll.errors import PlimsollError
from plimsoll.features.check import artifact, check, study
from plimsoll.features.check.study import ALIKE, HERE, MORE_TIME, NEITHER, OTHERWISE, REVERSED, THERE
from plimsoll.result_sets import sets

from tests.conftest import REFERENCE

STUDY = "plimsoll2026"
FILES = ("claims.csv", "observations.csv", "host.txt")


def results_of(study: str) -> list[dict]:
    return findings.of_table(REFERENCE / study / "claims.csv")


def decided(study: str, verdict: str, number: int = 0) -> str:
    """Return a claim of the reference with a verdict."""
    return [one["id"] for one in results_of(study) if one["verdict"] == verdict and not one["same_as"]][number]


@pytest.fixture
def own(tmp_path):
    """Return a function that makes own results of a study: the reference's, with other values of some claims."""

    def made(changes: dict[str, dict] | None = None, study: str = STUDY, facts: dict[str, str] | None = None) -> Path:
        folder = tmp_path / "results" / study
        folder.mkdir(parents=True)
        for name in FILES:
            shutil.copy(REFERENCE / study / name, folder / name)
        results = [{**one, **(changes or {}).get(one["id"], {})} for one in results_of(study)]
        findings.table_of(results).to_csv(folder / "claims.csv", index=False)
        host = (folder / "host.txt").read_text()
        for before, after in (facts or {}).items():
            host = host.replace(before, after)
        (folder / "host.txt").write_text(host)
        return folder.parent

    return made


def claim_of(checked: study.CheckedStudy, name: str) -> study.Claim:
    return next(claim for claim in checked.claims if claim.id == name)


def test_the_same_results_are_decided_alike(own):
    checked, ended = artifact.check(own(), REFERENCE, [])
    counts = checked[STUDY].counts
    every = result_counts.without_repeats(results_of(STUDY))
    decided = sum(one["verdict"] in verdicts.DECIDED for one in every)
    assert counts == {**dict.fromkeys(counts, 0), ALIKE: decided, NEITHER: len(every) - decided} and decided > 10
    assert ended == (0, f"no claim reversed: of {decided} claims that both decide, {decided} are decided alike.")
    assert checked[STUDY].machines == [] and not any(
        claim.expected for claim in checked[STUDY].claims if claim.standing == ALIKE
    )


@pytest.mark.parametrize(("before", "after"), [("reproduced", "contradicted"), ("contradicted", "reproduced")])
def test_a_verdict_that_is_turned_is_a_reversal(own, before, after):
    name = decided(STUDY, before)
    checked, ended = artifact.check(own({name: {"verdict": after}}), REFERENCE, [STUDY])
    assert claim_of(checked[STUDY], name)[2:5] == (REVERSED, after, before)
    assert ended.status == 1 and ended.says.startswith(f"Reversed: {name} (1 of ")


def test_a_claim_that_was_tested_in_another_way_is_not_counted_as_reversed(own):
    name = decided(STUDY, "reproduced")
    before = next(one for one in results_of(STUDY) if one["id"] == name)
    changes = {name: {"verdict": "contradicted", "asked": {**before["asked"], "expected": "lower"}}}
    checked, ended = artifact.check(own(changes), REFERENCE, [])
    found = claim_of(checked[STUDY], name)
    assert (found.standing, found.expected) == (REVERSED, OTHERWISE) and not found.counts_as_reversed
    assert ended.status == 0


def test_claims_that_one_of_both_decides_have_a_reason(own):
    reason = "it needs four cores of a socket, and here are 2"
    short, untestable, more = decided(STUDY, "reproduced"), decided(STUDY, "reproduced", 1), decided(STUDY, "inconclusive")
    changes = {
        short: {"verdict": "inconclusive"},
        untestable: {"verdict": "not testable here", "reason": reason},
        more: {"verdict": "contradicted"},
    }
    checked, ended = artifact.check(own(changes), REFERENCE, [])
    found = {name: claim_of(checked[STUDY], name) for name in changes}
    assert {name: claim.standing for name, claim in found.items()} == {short: THERE, untestable: THERE, more: HERE}
    assert found[short].expected == MORE_TIME.format("here") and found[more].expected == MORE_TIME.format("there")
    assert found[untestable].expected == f"not testable here: {reason}"
    assert ended.status == 0


def test_verdicts_of_all_sessions_count_before_those_of_the_last_one(own):
    name, results = decided(STUDY, "reproduced"), own()
    turned = [{**one, "verdict": "contradicted"} if one["id"] == name else one for one in results_of(STUDY)]
    (results / STUDY / sets.TOGETHER).write_text(json.dumps(turned))
    assert artifact.check(results, REFERENCE, [])[1].status == 1


def test_another_machine_and_missing_runtimes_are_expected_to_differ(own):
    results = own(facts={"AMD EPYC": "Intel Xeon", "1, 2, 2": "2, 16, 32", "perf's context-switches": "none"})
    cells = {
        "a": {"runtime": "bare", "reason": None},
        "b": {"runtime": "bare", "reason": "too few cores"},
        "c": {"runtime": "podman", "reason": "podman is not installed"},
        "d": {"runtime": "podman", "reason": "another"},
    }
    (results / STUDY / "plan.json").write_text(json.dumps({"cells": cells}))
    found = artifact.check(results, REFERENCE, [])[0][STUDY]
    assert found.machines == [
        ("processor", "AMD EPYC", "Intel Xeon"),
        ("sockets, cores, hardware threads", "1, 2, 2", "2, 16, 32"),
    ]
    assert found.unavailable == {"podman": "podman is not installed"}


@pytest.mark.parametrize("names", [[], [STUDY]])
def test_nothing_measured_is_no_success(tmp_path, names):
    for results in (tmp_path / "results", tmp_path):
        checked, ended = artifact.check(results, REFERENCE, names)
        assert checked == {} and ended.status == 1 and ended.says.startswith("Nothing") and "./plimsoll reproduce" in ended.says


def test_a_study_that_is_measured_and_not_judged_is_no_success(own):
    results = own()
    (results / STUDY / "claims.csv").unlink()
    assert artifact.check(results, REFERENCE, [])[1].status == 1


def test_a_named_study_that_was_not_measured_is_no_success_beside_one_that_was(own):
    checked, ended = artifact.check(own(), REFERENCE, [STUDY, "liu2020"])
    assert list(checked) == [STUDY] and ended.status == 1 and "liu2020 was measured" in ended.says


def test_claims_that_are_all_inconclusive_check_nothing(own):
    undecided = {one["id"]: {"verdict": "inconclusive"} for one in results_of(STUDY)}
    ended = artifact.check(own(undecided), REFERENCE, [])[1]
    assert ended.status == 1 and "Measure longer: ./plimsoll reproduce plimsoll2026 --hours 1" in ended.says


def test_a_study_and_a_reference_that_are_not_there_are_refused(own, tmp_path):
    results = own()
    with pytest.raises(PlimsollError, match=r"has no study lui2020 \(did you mean liu2020\?\): it has"):
        artifact.check(results, REFERENCE, ["lui2020"])
    with pytest.raises(PlimsollError, match="no such folder or archive, so nothing is checked"):
        artifact.check(results, tmp_path / "none", [])


def test_results_and_reference_may_be_archives(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = REFERENCE / STUDY / f"reference-{STUDY}.zip"
    name = decided(STUDY, "reproduced")
    results = own({name: {"verdict": "contradicted"}})
    assert artifact.check(archive, REFERENCE, [])[1].status == 0
    assert artifact.check(results, archive, [])[1].status == 1


def test_the_command_says_it_for_people_and_for_programs(own, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = decided("liu2020", "reproduced")
    results = own({name: {"verdict": "contradicted", "arrangements": {}}}, "liu2020", {"AMD EPYC": "Intel [Xeon]"})
    assert check.check(results=results) == 1
    said = capsys.readouterr().out
    assert "reversed: 1" in said and "Intel [Xeon]" in said and said.rstrip().splitlines()[-1].startswith(f"Reversed: {name}")
    assert "(s)" not in said and max(map(len, said.splitlines()[:-1])) <= 80
    assert check.check(studies=["liu2020"], results=results, json=True) == 1
    told = json.loads(capsys.readouterr().out)
    (turned,) = [claim for claim in told["studies"]["liu2020"]["claims"] if claim["standing"] == REVERSED]
    assert told["status"] == 1 and (turned["id"], turned["here"], turned["there"]) == (name, "contradicted", "reproduced")
    assert told["studies"]["liu2020"]["counts"][REVERSED] == 1
    assert told["studies"]["liu2020"]["machines"] == [{"name": "processor", "here": "Intel [Xeon]", "there": "AMD EPYC"}]


def test_no_claim_reversed_is_said_in_these_words(own, capsys):
    assert check.check(results=own()) == 0
    assert capsys.readouterr().out.rstrip().splitlines()[-1].startswith("no claim reversed")


def test_every_reference_agrees_with_itself():
    """It has results of every study that the tables are read from."""
    there = sets.read(REFERENCE)
    for name, one in there.items():
        counts = study.check(one, one).counts
        assert counts[REVERSED] == counts[HERE] == counts[THERE] == 0, name
        assert sum(counts.values()) == len(result_counts.without_repeats(results_of(name)))
    assert len(there) == len(pd.unique(pd.Series(list(there)))) >= 7
