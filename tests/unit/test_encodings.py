"""What is noted of encodings when a session begins, and claims that are answered by cells of other studies."""

import json

import pytest
from plimsoll.claims import book, encodings, other_studies, verdicts
from plimsoll.errors import PlimsollError
from plimsoll.measuring import record
from plimsoll.planning import sessions

from tests.conftest import recorded

CLAIM = {"id": "a2020-c01", "statement": "It is so.", "a": {"runtime": ["docker"]}, "expected": "lower", "holds": "average"}
OF_PARTS = {**CLAIM, "parts": [{"says": "one half", "expected": "lower"}, {"says": "another", "margin": 0.1}]}
CONDITION = {"says": "a condition", "metrics": ["rate"], "a": {"runtime": ["docker"]}, "b": {}, "expected": "higher"}
CONDITIONAL = {**CLAIM, "given": CONDITION}


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        (CLAIM, {"expected": "higher"}),
        (CLAIM, {"holds": "each"}),
        (CLAIM, {"margin": 0.1}),
        (CLAIM, {"a": {"runtime": ["docker", "podman"]}}),
        (CLAIM, {"untestable": "nobody can"}),
        (CLAIM, {"needs": ["cores_4"]}),
        (CLAIM, {"magnitude": {"low": 0.1, "high": 0.2, "of": "(a - b) / b"}}),
        (CLAIM, {"given": CONDITION}),
        (CONDITIONAL, {"given": {**CONDITION, "expected": "lower"}}),
        (OF_PARTS, {"parts": OF_PARTS["parts"][:1]}),
        (OF_PARTS, {"parts": [OF_PARTS["parts"][0], {"says": "another", "margin": 0.2}]}),
    ],
)
def test_what_decides_a_verdict_is_in_the_digest(claim, change):
    assert book.digest({**claim, **change}) != book.digest(claim)


@pytest.mark.parametrize(
    "change",
    [
        *({key: "other words"} for key in ("statement", "note", "threshold", "section", "paper_check", "hangs_on", "same_as")),
        {"parts": [{**part, "says": "other words"} for part in OF_PARTS["parts"]]},
    ],
)
def test_words_for_readers_are_not(change):
    assert book.digest({**OF_PARTS, **change}) == book.digest(OF_PARTS)


def test_words_of_a_condition_are_not_in_the_digest():
    assert book.digest({**CLAIM, "given": {**CONDITION, "says": "other words"}}) == book.digest(CONDITIONAL)


@pytest.mark.parametrize("claim", [CONDITIONAL, {**OF_PARTS, "given": CONDITION}])
def test_a_condition_is_the_last_part_of_a_sentence_and_takes_nothing_from_the_claim(claim):
    """The needs of a claim are not those of its condition, nor is its rule."""
    claim = {**claim, "needs": ["cores_4"], "metrics": ["others"]}
    *own, condition = book.parts_of(book.with_condition_as_part(claim))
    without = {key: value for key, value in claim.items() if key != "given"}
    assert [{**part, "says": ""} for part in own] == [{**part, "says": ""} for part in book.parts_of(without) or [without]]
    assert condition == {**CONDITION, "id": CLAIM["id"], "statement": CLAIM["statement"], "needs": []}
    assert book.condition_of(claim) == {**CONDITION, "id": CLAIM["id"], "needs": []} and book.condition_of(without) is None


def test_encodings_are_frozen_with_the_first_record(tmp_path):
    sessions.freeze(tmp_path, {"a": "1"}, {"m": "1"})
    sessions.freeze(tmp_path, {"a": "2"}, {"m": "2"})
    first = sessions.read(tmp_path)
    assert (first["encodings"], first["metrics"]) == ({"a": "2"}, {"m": "2"}) and first["encoded"] > 0
    record.write(tmp_path / "runs/a/1.json", recorded())
    sessions.freeze(tmp_path, {"a": "3"}, {"m": "3"})
    assert sessions.read(tmp_path) == first


def test_what_is_noted_of_a_session_stays_when_its_encodings_are_frozen(tmp_path):
    sessions.note(sessions.Session(2, tmp_path), {"Docker engine": "started again"})
    sessions.freeze(tmp_path, {"a": "1"}, {"m": "1"})
    noted = sessions.read(tmp_path)
    assert (noted["number"], noted["fresh"], noted["encodings"]) == (2, {"Docker engine": "started again"}, {"a": "1"})


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ({}, encodings.NOT_NOTED),
        ({"encodings": encodings.of_claims([CLAIM])}, ""),
        ({"encodings": encodings.of_claims([{**CLAIM, "note": "words"}])}, ""),
        ({"encodings": encodings.of_claims([{**CLAIM, "holds": "each"}])}, encodings.CHANGED),
        ({"encodings": {}}, encodings.CHANGED),
    ],
)
def test_a_verdict_says_that_its_encoding_changed(session, said):
    (result,) = encodings.with_notes([{"id": CLAIM["id"]}], [CLAIM], json.loads(json.dumps(session)))
    assert result["encoding"] == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"rate": {"label": "other words"}}, ""),
        ({"rate": {"source": ["rate"]}}, encodings.CHANGED),
        ({"of_side": {"unit": "s"}}, encodings.CHANGED),
        ({"of_condition": {"unit": "MB/s"}}, encodings.CHANGED),
        ({"of_part": {"source": ["rate"]}}, encodings.CHANGED),
        ({"of_others": {"source": ["rate"]}}, ""),
    ],
)
def test_a_verdict_says_that_one_of_its_metrics_changed(change, said):
    usual = {"label": "A rate", "source": ["rates"], "unit": "GB/s"}
    then = dict.fromkeys(("rate", "of_side", "of_part", "of_condition", "of_others"), usual)
    now = {name: {**usual, **change.get(name, {})} for name in then}
    of_parts = {**OF_PARTS, "metrics": ["rate"], "a": {"metric": ["of_side"]}}
    of_parts["parts"] = [{**of_parts["parts"][0], "metrics": ["of_part"]}]
    of_parts |= {
        "needs": [],
        "given": {"says": "a condition", "metrics": ["of_condition"], "a": {}, "b": {}, "expected": "higher"},
    }
    session = json.loads(json.dumps({"metrics": encodings.of_metrics(then)}))
    (result,) = encodings.with_metrics([{"encoding": ""}], [of_parts], now, session)
    assert result["encoding"] == said
    # Older sessions noted no metrics. What was said of a claim stays.
    assert encodings.with_metrics([{"encoding": ""}], [of_parts], now, {}) == [{"encoding": ""}]
    (kept,) = encodings.with_metrics([{"encoding": encodings.CHANGED}], [of_parts], then, session)
    assert kept["encoding"] == encodings.CHANGED


def test_sessions_together_have_the_remarks_of_each():
    changed, now = ({"encoding": said, "hangs_on": said, "answered_by": {"0": "x"}} for said in (encodings.CHANGED, ""))
    not_noted = {**now, "encoding": encodings.NOT_NOTED}
    for each in ([changed, now], [now, changed], [{}, changed], [not_noted, changed]):
        assert encodings.combined_notes(each)["encoding"] == encodings.CHANGED
    assert encodings.combined_notes([not_noted, now])["encoding"] == encodings.NOT_NOTED
    assert encodings.combined_notes([now, now]) == now and encodings.combined_notes([now, {}])["answered_by"] == {}


def result_of(identity, verdict, comparisons=0, parts=(), answered_by=None):
    told = [{"verdict": part, "says": "", "reason": "none"} for part in parts]
    return {
        **{"id": identity, "study": identity.rpartition("-")[0], "verdict": verdict, "comparisons": comparisons, "parts": told},
        **{"in_part": False, "reason": "no cells", "answered_by": answered_by or {}},
    }


def test_a_claim_of_which_no_cell_tells_has_the_verdict_of_the_one_that_answers():
    asked = result_of("a2020-c01", verdicts.NOT_TESTABLE, answered_by={encodings.WHOLE: "b2020-c02"})
    asked["sessions"] = [verdicts.NOT_TESTABLE] * 2
    answering = {**result_of("b2020-c02", verdicts.CONTRADICTED, 3), "sessions": [verdicts.CONTRADICTED], "p": 0.01}
    found, other = other_studies.by_others([asked, answering])
    assert (found["sessions"], found["p"]) == ([verdicts.CONTRADICTED], 0.01)
    assert (found["verdict"], found["reason"], other["verdict"]) == (verdicts.CONTRADICTED, "", verdicts.CONTRADICTED)
    assert found["answered"] == "This is answered by the cells of b2020 (b2020-c02): contradicted."


def test_a_part_is_answered_and_the_sentence_judged_anew():
    parts = (verdicts.REPRODUCED, verdicts.NOT_TESTABLE)
    asked = {**result_of("a2020-c01", verdicts.REPRODUCED, 2, parts, {"2": "b2020-c02"}), "in_part": True}
    for verdict in (verdicts.CONTRADICTED, verdicts.REPRODUCED, verdicts.INCONCLUSIVE):
        (found, _) = other_studies.by_others([asked, result_of("b2020-c02", verdict, 3)])
        assert found["verdict"] == verdict and not found["in_part"] and found["sessions"] == [] and found["reason"] == ""


def test_own_cells_count_and_a_study_that_was_not_measured_does_not():
    own = result_of("a2020-c01", verdicts.INCONCLUSIVE, 2, answered_by={encodings.WHOLE: "b2020-c02"})
    answer = result_of("b2020-c02", verdicts.REPRODUCED, 3)
    assert other_studies.by_others([own, answer])[0] == own
    asked = result_of("a2020-c01", verdicts.NOT_TESTABLE, answered_by={encodings.WHOLE: "b2020-c02"})
    (found, _) = other_studies.by_others([asked, result_of("b2020-c02", verdicts.UNAVAILABLE)])
    assert found["verdict"] == verdicts.NOT_TESTABLE and "./plimsoll reproduce b2020" in found["answered"]


def test_a_claim_is_answered_by_one_that_is_there(monkeypatch):
    every = {name: book.load(name) for name in book.names()}
    known = {claim["id"] for claims in every.values() for claim in claims}
    named = [answer for claims in every.values() for claim in claims for answer in encodings._answered_by(claim).values()]
    assert named and set(named) <= known
    monkeypatch.setattr(book, "names", lambda: ["liu2020"])
    with pytest.raises(PlimsollError, match="answered_by: plimsoll2026-c1. is not a claim"):
        book.load_all()
