"""The answer to a study's question comes first in every time budget. Pages and terminal state it in the same words."""

import html

import pytest
from plimsoll.claims import answer
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.features.time_budget import answer_needs, costs, needs, study_state, two_stages
from plimsoll.features.time_budget.allocation import Need
from plimsoll.pages import answer as answer_page
from plimsoll.pages import forest, formats
from plimsoll.planning import forecasts, planner
from plimsoll.planning.availability import TOO_SHORT
from plimsoll.terminal import results_summary

from tests.bench import spending
from tests.conftest import COUNTERS, built, host_of
from tests.unit.test_claims import observed, several
from tests.unit.test_hours import once, plan_of  # noqa: F401  fixtures

# The first metrics of liu2020's answer, from three benchmarks. With an L3 cache of 300 MiB, a block of them takes 44 of
# the 126 s of a block of everything.
FIRST_METRICS = ("randomring_bandwidth", "pingpong_bandwidth", "randomaccess_rate", "ptrans_bandwidth")
STEPS = "One container per core instead of one container"
GIVEN = forecasts.GivenTime(0.15, "./plimsoll reproduce liu2020 --hours 0.4")


@pytest.fixture
def large_cache_plan(config):
    """Return a function that plans a study on two cores. Their cache is so large that STREAM and DGEMM take most of the
    answer's time."""
    events = {**dict.fromkeys(COUNTERS), "context_switches": "context-switches", "cpu_migrations": "cpu-migrations"}
    host = {**host_of(1, 2, memory=24 * 2**30, l3=300 * 2**20), "events": events}
    return lambda study: planner.make(study, studies.profile("quick"), host, {**config, "profile": "quick"}, {})


def answered(study, plan, blocks) -> tuple[list[str], list[Need]]:
    """Return (names of the ratios that have LEAST blocks, all ratios)."""
    first = answer_needs.first(study_state.of_nothing(study, plan).ratios.values(), two_stages.LEAST)
    return [need.finding for need in first if all(blocks.get(cell, 0) >= two_stages.LEAST for cell in need.blocks)], first


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("liu2020", {0.05: 36, 0.1: 60, 0.15: 60, 0.3: 72, 0.67: 84, 1: 84}),
        ("plimsoll2026", {0.05: 24, 0.1: 60, 0.15: 60, 0.3: 60, 0.67: 60, 1: 60, 10: 60}),
        ("jha2018", {0.05: 1, 0.1: 1, 0.15: 1, 0.3: 4, 0.67: 12}),
        ("jha2021", {0.1: 1, 0.15: 1, 0.3: 2, 0.67: 6, 1: 12}),
    ],
)
def test_the_answer_comes_first_in_every_time(name, least, large_cache_plan):
    study = built(name)
    plan = large_cache_plan(study)
    usual = costs.of_plan(plan)
    for given, number in least.items():
        blocks = two_stages.first_stage(study, plan, given * 3600)
        there, first = answered(study, plan, blocks)
        assert len(there) >= number, given
        # Ratios are bought in the study's order, so its first one is always there.
        assert there[0] == first[0].finding
        assert usual.seconds(blocks) <= two_stages.FOR_MEASURING * given * 3600


def test_ten_minutes_answer_the_first_three_benchmarks(liu2020, large_cache_plan):
    plan = large_cache_plan(liu2020)
    there, first = answered(liu2020, plan, two_stages.first_stage(liu2020, plan, 540))
    asked_first = [need.finding for need in first if need.finding.split()[0] in FIRST_METRICS]
    assert len(asked_first) == 4 * 12 and set(asked_first) <= set(there)
    # Half of the time is for claims.
    of_answer = {cell: two_stages.LEAST for need in first if need.finding in there for cell in need.blocks}
    assert costs.of_plan(plan).seconds(of_answer) < 0.6 * two_stages.FOR_MEASURING * 540


def test_the_order_of_the_answer_is_that_of_its_file(liu2020, large_cache_plan):
    ratios = study_state.of_nothing(liu2020, large_cache_plan(liu2020)).ratios
    assert list(dict.fromkeys(name.split()[0] for name in ratios)) == liu2020["answer"]["metrics"]


def test_ten_minutes_answer_and_decide_a_sixth_of_the_claims(liu2020):
    """Runs are drawn from the reference measurements (tests/bench/spending.py)."""
    plan = spending.plan_of(liu2020)
    drawn, other = spending.Drawn(liu2020, plan, 0), study_state.reference(liu2020, plan)
    begun = drawn.measured(two_stages.first_stage(liu2020, plan, 540))
    assert begun.answered >= 48
    blocks, ratios, chosen = two_stages.second_stage(begun, other, 0.15, 0.0)
    assert ratios and chosen
    judged = drawn.measured({path: number for path, number in blocks.items() if number})
    decided, testable = needs.decided_counts(judged.results)
    assert judged.answered == len(judged.ratios) and decided >= testable / 6


def test_the_second_stage_gives_the_answer_as_much_as_the_claims(liu2020, plan_of):  # noqa: F811
    """An answer with four blocks beside claims with 113 would have the wrong priorities."""
    judged = study_state.reference(liu2020, plan_of(liu2020))
    now = dict.fromkeys(two_stages.blocks_of(judged.plan), 4)
    begun = judged._replace(plan=spending._planned(judged.plan, now))
    measured = costs.of_plan(judged.plan)
    blocks, ratios, chosen = two_stages._bought(begun, None, measured, 2000.0)
    cells = {cell for need in answer_needs.first(judged.ratios.values(), 4) for cell in need.blocks}
    before, after = (measured.seconds({cell: of[cell] for cell in cells}) for of in (now, blocks))
    assert chosen and len(ratios) > len(judged.ratios) / 2 and after - before >= 0.45 * 2000
    assert measured.seconds(blocks) - measured.seconds(now) <= 2000


def test_no_difference_of_these_measurements_has_a_say_in_what_the_answer_gets(liu2020, plan_of):  # noqa: F811
    judged = study_state.reference(liu2020, plan_of(liu2020))
    turned = {
        name: part._replace(rows=[{**row, **dict.fromkeys(("effect", "low", "high"), 0.5)} for row in part.rows])
        for name, part in judged.ratios.items()
    }
    assert judged._replace(ratios=turned).of_answer(judged) == judged.of_answer(judged)
    needed = {need.finding: max(need.blocks.values()) for need in judged.of_answer(None)}
    clear = {name for name, part in judged.ratios.items() if part.result["p"] * len(judged.ratios) < needs.CLEAR}
    assert clear and {needed[name] for name in clear} == {two_stages.LEAST}
    assert max(needed.values()) > 30 and min(needed.values()) == two_stages.LEAST


def test_the_time_that_is_recommended_answers_the_rest(liu2020, large_cache_plan):
    plan = large_cache_plan(liu2020)
    begun = two_stages.first_stage(liu2020, plan, 540)
    nothing = study_state.of_nothing(liu2020, plan)._replace(plan=spending._planned(plan, begun))
    told = two_stages._of_answer(nothing, costs.of_plan(plan), 0.15)
    assert told["known"] == 0 and told["ratios"] == 84 and 0.15 < told["hours"] <= 0.5
    blocks = two_stages.first_stage(liu2020, plan, (told["hours"] - 0.15) * 3600, there=begun)
    assert len(answered(liu2020, plan, blocks)[0]) == 84
    assert all(blocks[cell] >= number for cell, number in begun.items())


@pytest.fixture
def too_short(liu2020, config, small_host):
    """Return a function that gives the table of liu2020's answer if the time was too short for the cells that are
    `left_out`."""
    made = planner.make(liu2020, studies.profile("quick"), small_host, config, {})

    def table(left_out):
        cells = {path: {**cell, "repetitions": 0} if left_out(cell) else cell for path, cell in made["cells"].items()}
        seen = {**made, "cells": {path: cell for path, cell in cells.items() if not left_out(cell)}}
        return answer.table(
            StudyObservations(liu2020, {**made, "cells": cells}, *observed(seen, liu2020, [(several, 0.5)])), 0.05
        )

    return table


def rendered(shown: list[dict]) -> str:
    macro = formats.environment().get_template("answer.html.j2").module.answered
    return " ".join(str(macro(forest.with_plots(shown), 0.05)).split()).replace("<code>", "`").replace("</code>", "`")


def test_what_there_was_no_time_for_says_so_with_the_command(too_short, liu2020):
    table = too_short(lambda cell: cell["section"] in ("stream", "dgemm"))
    here = table[(table["hardware"] == "uma") & (table["against"] == "baseline")]
    assert set(here.loc[here["ratio"].isna(), "reason"]) == {TOO_SHORT}
    (shown,) = answer_page.for_template(table, liu2020, GIVEN)
    assert shown["no_time"] == 16
    assert shown["said"].startswith(f"{STEPS}: 10 of 20 ratios lose more than 5 %. The largest: ")
    assert "10 of 40 ratios to bare metal lose more than 5 %." in shown["said"]
    assert (
        "16 more ratios are not in the 9 minutes (`./plimsoll reproduce liu2020 --hours 0.4` measures them)." in shown["said"]
    )
    page = rendered([shown])
    assert page.count("not in the 9 minutes") == 16 + 1 and "too few runs" not in page and shown["said"] in page
    (shown,) = answer_page.for_template(table, liu2020)
    assert rendered([shown]).count("not in the given time") == 16 + 1
    # p is adjusted only for the ratios that were measured.
    smallest = here.loc[here["p_beyond"].idxmin()]
    assert smallest["p_beyond_holm"] == pytest.approx(40 * smallest["p_beyond"])


def test_without_bare_metal_the_steps_are_told_by_page_and_terminal(too_short, liu2020, tmp_path):
    table = too_short(lambda cell: cell["runtime"] == "bare")
    table.to_csv(tmp_path / "answer.csv", index=False)
    answered = {"known": 28, "ratios": 84, "hours": 0.4}
    told = {"settled": 1, "testable": 50, "forecasts": [], "never": []}
    forecasts.add(tmp_path, hours=0.15, answer=answered, **told)
    given = forecasts.given_time("liu2020", tmp_path)
    assert given == GIVEN
    (told,) = results_summary.answers_of(tmp_path / "answer.csv", liu2020)
    recommendation, said = results_summary.lines(told)
    assert said.startswith(f"The answer: {STEPS}: 14 of 28 ratios lose more than 5 %.")
    assert " 56 ratios are not in the 9 minutes (`./plimsoll reproduce liu2020 --hours 0.4` measures them)." in said
    assert recommendation.startswith(
        "Keep a job in one container with Docker and Singularity instance (otherwise every metric "
    )
    (shown,) = answer_page.for_template(answer.read(tmp_path / "answer.csv"), liu2020, given)
    assert said == f"The answer: {shown['said']}" and shown["said"] in rendered([shown])
    assert recommendation == shown["recommendation"]


def test_where_nothing_was_measured_for_want_of_time_that_is_said(too_short, liu2020):
    (shown,) = answer_page.for_template(too_short(lambda cell: cell["mode"] == "exact"), liu2020, GIVEN)
    assert shown["said"] == "56 ratios are not in the 9 minutes (`./plimsoll reproduce liu2020 --hours 0.4` measures them)."
    assert shown["said"] in rendered([shown])
    assert shown["recommendation"] == (
        "Nothing can be recommended about splitting a job over containers: one container per core instead of one container is "
        "not in the 9 minutes. `./plimsoll reproduce liu2020 --hours 0.4` measures it."
    )


def test_an_older_forecast_of_no_answer_has_a_command_too(tmp_path):
    assert forecasts.given_time("liu2020", tmp_path) is None
    forecasts.add(tmp_path, hours=0.5, settled=1, testable=50, forecasts=[], never=[])
    assert forecasts.given_time("liu2020", tmp_path).command == "./plimsoll reproduce liu2020 --hours 1"


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_pages_and_terminal_say_the_same_of_every_study(name, tmp_path):
    study = built(name)
    kept = studies.STUDIES.parent.parent / "results/reference" / name / "answer.csv"
    shown = answer_page.for_template(answer.read(kept), study)
    page = html.unescape(rendered(shown))
    said = [line for told in results_summary.answers_of(kept, study) for line in results_summary.lines(told)]
    texts = [text for one in shown for text in (one["recommendation"], one["said"])]
    assert all(texts) and len(said) == len(texts)
    for line, text in zip(said, texts, strict=True):
        assert line.endswith(text) and formats.prose(text) in page
