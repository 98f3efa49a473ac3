"""What would decide an inconclusive claim: repetitions, runs and time, or the reason why nothing would."""

from types import SimpleNamespace

import pandas as pd
import pytest
from plimsoll.claims import decision_cost
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.pages import wording
from plimsoll.planning import forecasts

PLAN = {
    "factors": ["case", "pair"],
    "profile": "quick",
    "repetitions": 5,
    "cells": {f"{case}/x": {"reason": None, "repetitions": 5, "expected_seconds": 7.0} for case in ("1", "2", "3a")},
}
STUDY = {"metrics": {}}


class Plain(StudyObservations):
    """Measured data that have only the durations of runs."""

    def __init__(self, runs: list[dict]):
        self.plan = PLAN
        self._seconds = deciding_seconds(pd.DataFrame(runs))


def deciding_seconds(runs: pd.DataFrame) -> dict[str, float]:
    from plimsoll.claims import study_observations

    return study_observations._seconds(runs, PLAN["factors"])


@pytest.fixture
def measured() -> Plain:
    runs = [
        {"case": "1", "pair": "x", "idle_seconds": 1.0, "run_seconds": 2.0, "place": 9},
        {"case": "1", "pair": "x", "idle_seconds": 1.0, "run_seconds": 4.0, "place": 9},
    ]
    return Plain(runs)


def row(**given) -> dict:
    cells = {"cell_a": "1/x", "cell_b": "2/x", "reference_a": None, "reference_b": None}
    found = {"verdict": "inconclusive", "n": 5, "effect": 0.0, "low": -0.2, "high": 0.2, "needed": 12}
    return {**cells, **found, "part": 1, "test": "paired t within blocks", "scale": "ratio", **given}


def claim(**given) -> dict:
    return {"verdict": "inconclusive", "holds": "each", "whole": None, "parts": [], "needed": 12, "n_most": 5, **given}


def test_a_run_takes_what_its_phases_took_or_what_the_plan_expects(measured):
    assert measured.seconds("1/x") == 4.0 and measured.seconds("2/x") == 7.0


def test_it_takes_the_missing_repetitions_of_its_cells(measured):
    found = decision_cost.estimate(claim(), [row()], measured)
    assert (found["repetitions"], found["cells"], found["runs"]) == (12, 2, 14)
    assert found["seconds"] == 7 * (4.0 + 7.0) and found["all_seconds"] == 7 * (4.0 + 7.0 + 7.0)
    # An interval of 0.4 with 5 blocks is 0.26 wide with 12, so the usual width of 0.1 does not end the rounds earlier.
    assert found["width"] == 0.1 and found["undecidable"] == ""


def test_what_losses_are_relative_to_is_repeated_too(measured):
    found = decision_cost.estimate(claim(), [row(reference_a="3a/x")], measured)
    assert (found["cells"], found["runs"]) == (3, 21)


def test_a_narrow_interval_is_asked_to_be_narrower(measured):
    assert decision_cost.estimate(claim(), [row(low=-0.05, high=0.05)], measured)["width"] == 0.06


@pytest.mark.parametrize(
    ("given", "of_row", "reason"),
    [
        ({"needed": 400}, {}, "about 400 repetitions, and ./plimsoll precise goes up to 30"),
        ({"needed": 10001}, {}, "more than 10,000 repetitions"),
        ({"needed": None}, {}, "cannot be estimated"),
        ({"needed": float("nan")}, {}, "cannot be estimated"),
        ({}, {"test": "Page"}, "this is another kind of comparison"),
        ({}, {"n": 2}, "fewer than 3 blocks"),
        ({"needed": 20, "n_most": 30}, {}, "30 repetitions did not decide it"),
    ],
)
def test_what_make_precise_cannot_decide_has_a_reason(measured, given, of_row, reason):
    assert reason in decision_cost.estimate(claim(**given), [row(**of_row)], measured)["undecidable"]


def test_what_precise_cannot_decide_has_the_runs_and_the_time_that_would(measured):
    found = decision_cost.estimate(claim(needed=400), [row()], measured)
    assert (found["repetitions"], found["cells"], found["runs"]) == (400, 2, 790)
    assert found["seconds"] == 395 * (4.0 + 7.0) and "width" not in found
    # As many as were estimated were made, and did not decide it.
    assert decision_cost.estimate(claim(needed=20, n_most=30), [row(n=30)], measured)["repetitions"] == 60
    for unknown in (claim(needed=10001), claim(needed=None)):
        assert decision_cost.estimate(unknown, [row()], measured).keys() == {"undecidable"}
    assert decision_cost.estimate(claim(), [row(n=2)], measured).keys() == {"undecidable"}


def test_a_comparison_that_was_not_measured_keeps_a_claim_open():
    rows = [row(n=0, verdict="not measured"), row(verdict="reproduced")]
    assert decision_cost.still_open(claim(), rows) == rows[:1]


def test_what_narrowly_was_not_decided_gets_another_round(measured):
    assert decision_cost.estimate(claim(needed=4), [row()], measured)["repetitions"] == 10


def test_what_is_decided_takes_nothing(measured):
    assert decision_cost.estimate(claim(verdict="reproduced"), [row()], measured) is None
    assert decision_cost.estimate(claim(), [], measured) is None


def test_decided_parts_and_comparisons_are_not_asked_again():
    parts = [{"verdict": "reproduced"}, {"verdict": "inconclusive"}]
    rows = [row(part=1), row(part=2), row(part=2, verdict="reproduced")]
    assert decision_cost.still_open(claim(parts=parts), rows) == [rows[1]]
    assert decision_cost.still_open(claim(holds="average", whole={"n": 5}), rows) == rows


@pytest.mark.parametrize(
    ("planned", "stages", "said"), [(0, True, "the time that was given is too short"), (2, False, "fewer than 3")]
)
def test_what_there_was_no_time_for_is_told_from_runs_that_failed(measured, planned, stages, said):
    measured.plan = {**PLAN, "cells": {**PLAN["cells"], "2/x": {**PLAN["cells"]["2/x"], "repetitions": planned}}}
    measured.study = SimpleNamespace(design=SimpleNamespace(factors=SimpleNamespace(STAGES=stages)))
    found = decision_cost.estimate(claim(), [row(n=0)], measured)
    assert said in found["undecidable"]
    if stages:
        short = {**claim(decide=found, study="liu2020")}, [row(n=0, detectable=None, test="none: too few blocks")]
        given = forecasts.GivenTime(0.15, "./plimsoll reproduce liu2020 --hours 0.3")
        (_, told) = wording.decision_hints(*short, given)
        assert told == "Not in the 9 minutes: `./plimsoll reproduce liu2020 --hours 0.3` measures more."
        assert wording.decision_hints(*short)[1] == "The time that was given is too short for it."
