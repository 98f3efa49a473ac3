"""The answer to a study's question: ratios whose truth is known, and the sentences that follow from them."""

import math

import pandas as pd
import pytest
from plimsoll import designs
from plimsoll.claims import answer
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.pages import answer as answer_page
from plimsoll.pages import answer_words
from plimsoll.planning import planner

from tests.conftest import PROJECT
from tests.unit.test_claims import observed, several

KEYS = ["against", "runtime", "granularity", "metric"]


@pytest.fixture
def answered(liu2020, config, small_host):
    """Return a function from effects to the table of liu2020's answer on two cores."""

    def answered(effects, spread=0.005, repetitions=10):
        plan = {**planner.make(liu2020, studies.profile("quick"), small_host, config, {}), "repetitions": repetitions}
        return answer.table(StudyObservations(liu2020, plan, *observed(plan, liu2020, effects, spread)), 0.05)

    return answered


def one(table: pd.DataFrame, *key: str) -> pd.Series:
    return table[(table[KEYS] == list(key)).all(axis=1) & (table["hardware"] == "uma")].iloc[0]


def only(table: pd.DataFrame, study) -> list[dict]:
    """Return the parts of the only answer of a study."""
    (shown,) = answer_page.for_template(table, study)
    return shown["parts"]


def test_ratios_are_within_blocks_and_cover_the_truth(answered):
    table = answered([(several, 0.5)])
    split = one(table, "baseline", "docker", "finest", "fft_gflops")
    # Blocks differ by 20 %. What a block does to all its runs cancels.
    assert 0.48 < split["low"] < 0.5 < split["high"] < 0.52 and split["n"] == 10
    assert split["cell_a"].startswith("uma/exact/E2/docker/any/") and split["cell_b"].startswith("uma/exact/E1/bare/any/")
    step = one(table, "first", "docker", "finest", "fft_gflops")
    assert step["cell_b"].startswith("uma/exact/E1/docker/any/") and step["ratio"] == pytest.approx(0.5, abs=0.01)
    assert one(table, "baseline", "singularity", "finest", "fft_gflops")["ratio"] == pytest.approx(1, abs=0.01)


def test_p_is_adjusted_for_all_ratios_of_a_table(answered):
    table = answered([(several, 0.5)]).query("hardware == 'uma' and against == 'baseline'")
    assert len(table) == 4 * 2 * 7
    smallest = table.loc[table["p_beyond"].idxmin()]
    assert smallest["p_beyond_holm"] == pytest.approx(56 * smallest["p_beyond"])


def test_the_sentences_follow_from_the_ratios(answered, liu2020):
    (shown,) = answer_page.for_template(answered([(several, 0.5)]), liu2020)
    (part,) = shown["parts"]
    assert shown["name"] == ""
    assert part["name"] == "UMA, exactly subscribed, any processor" and part["baseline"] == "bare metal"
    assert part["steps"]["lead"] == "One container per core instead of one container"
    assert part["steps"]["items"][0]["text"].startswith("slower by more than 5 % in 7 of 7 metrics (most in ")
    assert part["steps"]["items"][-1]["text"] == "a loss of more than 5 % is ruled out in every metric."
    assert shown["said"].startswith("One container per core instead of one container: 14 of 28 ratios lose more than 5 %. The ")
    assert "14 of 56 ratios to bare metal lose more than 5 %." in shown["said"]
    # Plain Singularity's containers are nominal. The note stands where a reader would take them for containers.
    assert [item["name"] for item in part["steps"]["items"] if "nominal" in item["note"]] == ["Singularity"]
    # What cannot be measured here is named once.
    (numa,) = shown["unavailable"]
    assert numa["name"].startswith("NUMA") and "2 sockets" in numa["reason"]


def test_without_a_loss_nothing_is_called_one_and_without_precision_nothing_is_ruled_out(answered, liu2020):
    (shown,) = answer_page.for_template(answered([], spread=0.3, repetitions=5), liu2020)
    assert "none of 28 ratios is shown to lose more than 5 %." in shown["said"]
    assert "None of 56 ratios to bare metal is shown to lose more than 5 %; a loss of " in shown["said"]
    assert all("is possible" in item["text"] for item in shown["parts"][0]["steps"]["items"])


def test_two_runs_are_no_answer_and_it_is_said(answered, liu2020):
    (shown,) = answer_page.for_template(answered([], repetitions=2), liu2020)
    assert shown["parts"] == []
    assert answer_words.in_sentences(shown) == shown["said"] == "Nothing that was measured answers it."
    assert shown["recommendation"].startswith("Nothing can be recommended about splitting a job over containers: ")
    assert shown["unavailable"][0]["reason"] == "none: too few blocks"


def test_a_study_that_asks_for_no_step_has_none(liu2020, answered):
    del liu2020["answer"]["steps"]
    table = answered([])
    assert set(table["against"]) == {"baseline"}
    (part,) = only(table, liu2020)
    assert part["steps"] is None and [note for note in part["notes"] if "nominal" in note]


@pytest.mark.parametrize(
    ("better", "low", "high", "loss"), [("higher", 0.8, 1.3, 0.2), ("lower", 0.8, 1.25, 0.2), ("higher", 1.1, 1.3, 0.0)]
)
def test_the_loss_that_is_open_is_the_far_end_of_the_interval(better, low, high, loss):
    assert answer_page.open_loss({"better": better, "low": low, "high": high}) == pytest.approx(loss)
    assert answer_page.open_loss({"better": better, "low": math.nan, "high": math.nan}) is None


def test_without_the_baseline_it_is_said_and_what_was_measured_is_still_told(answered, liu2020):
    table = answered([(several, 0.5)])
    numbers = ["ratio", "low", "high", "detectable", "p_beyond", "p_beyond_holm", "p_no_loss", "p_no_loss_holm"]
    table.loc[table["against"] == "baseline", numbers] = math.nan
    table.loc[(table["against"] == "baseline") & (table["hardware"] == "uma"), "reason"] = "bare metal failed"
    (shown,) = answer_page.for_template(table, liu2020)
    (part,) = shown["parts"]
    assert "Nothing was measured that could be set against bare metal." in shown["said"]
    assert part["sure"] == "" and part["lacking"] == ["bare metal failed"]
    assert shown["said"].startswith("One container per core instead of one container: 14 of 28 ratios lose more than 5 %")


def test_the_answer_says_what_carried_messages_otherwise_than_on_bare_metal():
    """Splitting costs what it costs because messages then go by TCP."""
    kept = answer.read(PROJECT / "results/reference/liu2020/answer.csv")
    (shown,) = answer_page.for_template(kept, studies.load("liu2020", designs.known()))
    split = "two Docker containers and two Singularity instance containers"
    assert f"Messages go by TCP in {split}, and by shared memory on bare metal." in shown["said"]
    (silent,) = answer_page.for_template(kept.assign(transport_a=None), studies.load("liu2020", designs.known()))
    assert "Messages" not in silent["said"]


def test_ratios_that_lose_before_any_step_are_counted(answered, liu2020):
    def in_one(cell, metric):
        return cell["runtime"] == "docker" and cell["containers"] == 1

    (shown,) = answer_page.for_template(answered([(in_one, 0.5), (several, 0.5)]), liu2020)
    assert " of these are of one container already: the largest one Docker container, " in shown["said"]
    (none,) = answer_page.for_template(answered([(several, 0.5)]), liu2020)
    assert "already" not in none["said"]


def test_names_are_listed_as_people_do():
    assert [answer_words.join_names(list(names)) for names in ("A", "AB", "ABC")] == ["A", "A and B", "A, B and C"]


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_the_table_survives_its_file(tmp_path, name, config, small_host):
    study = studies.load(name, designs.known())
    plan = planner.make(study, studies.profile("quick"), small_host, config, {})
    empty = pd.DataFrame(columns=["metric", *plan["factors"], "value", "repetition", "censored"])
    table = answer.table(StudyObservations(study, plan, empty, pd.DataFrame(columns=[*plan["factors"], "status"])), 0.05)
    table.to_csv(tmp_path / "answer.csv", index=False)
    read = answer.read(tmp_path / "answer.csv")
    named = [answer.NAME, *answer.factors(study)]
    # A row has no level for factors that only other answers have.
    pd.testing.assert_frame_equal(read[named].fillna(""), table[named].fillna(""))
    assert not any(one["parts"] for one in answer_page.for_template(read, study))


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_what_was_measured_answers_the_question_of_its_study(name):
    study = studies.load(name, designs.known())
    kept = PROJECT / "results/reference" / name / "answer.csv"
    shown = answer_page.for_template(answer.read(kept), study)
    assert any(one["parts"] for one in shown)
    # A table that was written before the study had several answers lacks the later ones.
    assert all(one["parts"] for one in shown) or answer.NAME not in pd.read_csv(kept, nrows=0)
