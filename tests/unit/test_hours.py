"""A study in a time budget, planned from the reference measurements. Nothing is measured here."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from plimsoll import __main__ as stages
from plimsoll import rounds
from plimsoll.claims import book, decision_cost
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.features.time_budget import claim_parts, costs, metric_noise, study_state, two_stages
from plimsoll.features.time_budget.allocation import IN_PART, Costs, Need
from plimsoll.measuring import record
from plimsoll.planning import amounts, availability, figure_request, forecasts, planner, repetitions
from plimsoll.planning.repetitions import RequestedRepetitions

from tests.conftest import PROJECT, REFERENCE, built, recorded, small

STUDIES = ("liu2020", "jha2018")
# Judging takes seconds, so it is done once.
KNOWN: dict[tuple[str, str], object] = {}
judged_reference = study_state.reference


@pytest.fixture
def plan_of(config):
    def plan_of(study, asked=repetitions.NOTHING):
        made = planner.make(study, studies.profile("quick"), small(), {**config, "profile": "quick"}, {}, asked)
        return {**made, "order": [tuple(run) for run in made["order"]]}

    return plan_of


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Judge the reference, and what can be tested, only once for all tests."""
    for name in ("reference", "of_nothing"):
        judge = getattr(study_state, name)
        monkeypatch.setattr(
            study_state, name, lambda study, plan, own=None, name=name, judge=judge: _known(name, judge, study, plan)
        )


def _known(name, judge, study, plan):
    if (name, study["id"]) not in KNOWN:
        KNOWN[name, study["id"]] = judge(study, plan)
    return KNOWN[name, study["id"]]


@pytest.fixture(params=STUDIES)
def study(request):
    """A study of each design that has stages."""
    return built(request.param)


@pytest.fixture
def judged(study, plan_of):
    return study_state.reference(study, plan_of(study))


def test_a_time_that_is_none_is_refused():
    assert amounts.hours("0.15") == 0.15
    for text, said in (("soon", "is not a number"), ("0", "above 0"), ("inf", "finite")):
        with pytest.raises(PlimsollError, match=said):
            amounts.hours(text)


def test_where_nobody_gives_a_time_each_design_has_its_own(monkeypatch):
    spent = []
    monkeypatch.setattr(two_stages, "spend", lambda study, given, settings: spent.append((study, given)))
    for given, expected in (("usual", [("liu2020", 1.0)]), ("0.67", [("liu2020", 0.67), ("jha2018", 0.67)])):
        spent.clear()
        assert stages.main(["hours", "--hours", given, "studies=liu2020,jha2018,li2018"]) == 0
        assert spent == expected


@pytest.mark.parametrize(("given", "most"), [(1, 3), (1.3, 4)])
def test_hours_of_liu2020_begin_with_blocks_of_everything(liu2020, plan_of, given, most):
    plan = plan_of(liu2020)
    blocks = two_stages.first_stage(liu2020, plan, given * 3600)
    assert set(blocks) == {path for path, cell in plan["cells"].items() if cell["reason"] is None}
    # A cell that no testable claim is about gets at most three blocks. With two ranks these are profiles, for example.
    asked = set(decision_cost.cells_of(study_state.of_nothing(liu2020, plan).rows))
    assert asked < set(blocks)
    of_answer = {cell for need in study_state.of_nothing(liu2020, plan).of_answer(None) for cell in need.blocks}
    assert {path: blocks[path] for path in of_answer} == dict.fromkeys(of_answer, max(most, two_stages.LEAST))
    others = set(blocks) - of_answer
    assert {path: blocks[path] for path in others} == {
        path: most if path in asked else two_stages.FOR_FIGURES for path in others
    }
    assert costs.of_plan(plan).seconds(blocks) <= two_stages.FIRST_BLOCKS[most] * given * 3600


@pytest.mark.parametrize(("given", "least"), [(0.3, 0), (0.67, 3), (1, 5), (2, 5)])
def test_everything_is_measured_where_the_time_is_long_enough(plan_of, given, least):
    study = built("jha2018")
    plan = plan_of(study)
    blocks = two_stages.first_stage(study, plan, given * 3600)
    asked = set(decision_cost.cells_of(study_state.of_nothing(study, plan).rows))
    here = {path for path, cell in plan["cells"].items() if cell["reason"] is None}
    assert min(blocks.get(path, 0) for path in here & asked) == least
    assert min(blocks.get(path, 0) for path in here - asked) == min(least, two_stages.FOR_FIGURES)
    assert costs.of_plan(plan).seconds(blocks) <= two_stages.FIRST_BLOCKS.get(least, two_stages.SHORT_SHARE) * given * 3600


def test_forty_minutes_of_jha2021_are_for_what_other_measurements_decided_first(jha2021, plan_of, capsys):
    plan = plan_of(jha2021)
    blocks = two_stages.first_stage(jha2021, plan, 0.67 * 3600)
    assert "the first stage is for" in capsys.readouterr().out
    assert min(blocks.values()) >= two_stages.LEAST and 10 < len(blocks) < len(plan["cells"]) / 2
    usual = costs.of_plan(plan)
    assert 0.8 * two_stages.FIRST_SHARE < usual.seconds(blocks) / (0.67 * 3600) <= two_stages.FIRST_SHARE


@pytest.mark.parametrize(("most_of", "everything"), [(0.0, 2), (0.9, 1), (1.0, 0)])
def test_blocks_of_everything_may_cost_a_few_findings(most_of, everything, monkeypatch, liu2020):
    """There are 468 s for 100 cells of one second, and ten claims that need 36 blocks of one cell each. Two blocks of
    everything leave time for six claims and a part of one; one block leaves time for nine."""
    monkeypatch.setattr(two_stages, "MOST_OF", most_of)
    cells = [f"{number:02}" for number in range(100)]
    usual = Costs(dict.fromkeys(cells, 1.0), dict.fromkeys(cells, 0.0), {cell: cell for cell in cells}, {})
    soonest = [Need(f"c{cell}", {cell: 36}) for cell in cells[:10]]
    possible = [*(dict.fromkeys(cells, blocks) for blocks in (2, 1)), {}]
    blocks, _ = two_stages._soonest({}, soonest, possible, usual, 468)
    assert min(blocks.get(cell, 0) for cell in cells) == everything


def test_cells_of_no_finding_are_for_figures(liu2020, plan_of):
    plan = plan_of(liu2020)
    blocks = two_stages.first_stage(liu2020, plan, 4 * 3600)
    asked = set(decision_cost.cells_of(study_state.of_nothing(liu2020, plan).rows))
    # Profiles with two ranks, for example.
    assert asked < set(blocks)
    assert {blocks[path] for path in set(blocks) - asked} == {two_stages.FOR_FIGURES} and min(
        blocks[path] for path in asked
    ) == 5


def test_claims_with_a_condition_are_among_those_of_a_first_stage(jha2021, plan_of):
    plan = plan_of(jha2021)
    nothing = study_state.of_nothing(jha2021, plan)
    conditional = {claim["id"] for claim in book.load("jha2021") if "given" in claim}
    assert conditional and conditional <= set(nothing.parts)
    # Cells of the condition: Linpack alone on two cores.
    assert {path for path, cell in plan["cells"].items() if cell["case"] == "1a"} <= set(decision_cost.cells_of(nothing.rows))


def test_ten_minutes_are_for_what_should_be_decided_first(study, plan_of):
    plan = plan_of(study)
    blocks = two_stages.first_stage(study, plan, 540)
    assert costs.of_plan(plan).seconds(blocks) <= two_stages.FIRST_SHARE * 540
    assert 0 < len(blocks) < len(plan["cells"]) / 4 and min(blocks.values()) >= two_stages.LEAST


def test_a_time_that_is_too_short_for_anything_says_how_long_it_takes(study, plan_of, tmp_path):
    plan = plan_of(study)
    assert two_stages.first_stage(study, plan, 3.6) == {}
    too_short = r"0.001 h is too short for any ratio or claim .*: 3 blocks of everything take some 0\.\d hours"
    with pytest.raises(PlimsollError, match=too_short):
        two_stages._begun(study, plan, 3.6, tmp_path)


def test_without_reference_measurements_a_time_begins_with_everything(study, plan_of, monkeypatch):
    monkeypatch.setattr(study_state, "reference", lambda study, plan, own: None)
    usual = costs.of_plan(plan_of(study))
    # One or two blocks of everything, besides those of the answer.
    nearly = usual.seconds(dict.fromkeys(usual.run, max(two_stages.FEWER_BLOCKS) + 1))
    blocks = two_stages.first_stage(study, plan_of(study), 0.99 * nearly / two_stages.SHORT_SHARE)
    assert set(blocks.values()) in ({1, two_stages.LEAST}, {2, two_stages.LEAST}) and set(blocks) == set(usual.run)


def test_what_is_clear_needs_nothing_and_the_rest_is_known(judged):
    asked = judged.asked(None)
    assert len(asked.needs) > 20 and len(asked.unknown) <= 7
    assert not set(asked.clear) & {need.finding for need in asked.needs}
    decided = {result["id"] for result in judged.results if result["verdict"] in ("reproduced", "contradicted")}
    assert set(asked.clear) <= decided
    assert all(number >= 3 for need in asked.needs for number in need.blocks.values())


def test_what_was_found_elsewhere_saves_blocks(study, plan_of, judged):
    nothing = study_state.of_nothing(study, plan_of(study))
    known, margins = (
        {need.finding: max(need.blocks.values()) for need in found}
        for found in (nothing.soonest(judged), nothing._replace(noise=judged.noise).asked(None).needs)
    )
    # What is known of differences only adds claims: a claim whose needs are known from noise alone is always included.
    assert set(margins) <= set(known)
    assert sum(known[name] < number for name, number in margins.items()) >= 3
    assert nothing.soonest(None) == [] and min(known.values()) >= two_stages.LEAST


def test_the_second_stage_follows_from_noise_and_from_no_difference_of_its_own(judged):
    """Other measurements contribute their differences. They contribute noise only for metrics without noise in these
    measurements."""
    elsewhere = judged._replace(results=[], rows=judged.rows.iloc[:0], parts={}, clear=[])
    assert judged.asked(elsewhere) == judged.asked(None) != judged.asked(judged)
    # The differences that were found here have no influence.
    parts = {name: [_turned(part) for part in each] for name, each in judged.parts.items()}
    assert judged._replace(parts=parts).asked(judged) == judged.asked(judged)
    assert judged._replace(parts=parts).asked(None) == judged.asked(None)
    unmeasured = judged._replace(noise=metric_noise.Noise([], judged.plan, ()))
    assert unmeasured.asked(None).needs == [] and unmeasured.asked(judged).needs == judged.asked(judged).needs


def _turned(part: claim_parts.Part) -> claim_parts.Part:
    """Return a part with other differences and the same noise."""
    turned = [{**row, **dict.fromkeys(("effect", "mean_a", "p", "p_supports", "p_opposes"), 0.5)} for row in part.rows]
    whole = part.result["whole"] and {**part.result["whole"], "effect": 0.5, "p_supports": 0.5, "p_opposes": 0.5}
    return part._replace(rows=turned, result={**part.result, "whole": whole})


def test_the_noise_of_a_comparison_is_that_of_many(judged):
    noise = judged.noise
    finest = [value for (*_, last), value in noise.pooled.items() if isinstance(last, frozenset)]
    assert sum(number for _, number in finest) > 500 and any(number >= metric_noise.ENOUGH for _, number in finest)
    for part in (part for each in judged.parts.values() for part in each):
        for row in part.rows:
            key = next((key for key in noise._keys(part, row) if noise.pooled.get(key, (0, 0))[1] >= metric_noise.ENOUGH), None)
            if key:
                assert noise.of(part, row) == noise.pooled[key][0]


def test_few_comparisons_have_the_noise_of_their_metric_or_of_other_measurements(judged):
    """A comparison never has its own noise, which would size a comparison by its own spread."""
    usable = (
        part
        for each in judged.parts.values()
        for part in each
        if len({row["metric"] for row in part.rows}) == 1
        and len({claim_parts.compared(row) for row in part.rows if row["n"] >= 3 and row["deviation"] > 0})
        == len(part.rows)
        >= 4
    )
    part = next(usable)
    row = part.rows[0]
    few, one = (
        metric_noise.Noise([part._replace(rows=part.rows[:number])], judged.plan, (), judged.noise) for number in (4, 1)
    )
    assert few.of(part, row) == few.pooled[few._keys(part, row)[1]][0] != judged.noise.of(part, row)
    assert one.of(part, row) == judged.noise.of(part, row) != pytest.approx(row["deviation"])
    assert metric_noise.Noise([part._replace(rows=[row])], judged.plan, ()).of(part, row) == pytest.approx(row["deviation"])


def test_each_arrangement_of_what_a_paper_leaves_open_is_a_part(jha2021, plan_of):
    judged = study_state.reference(jha2021, plan_of(jha2021))
    # An average over cells beside all company becomes one average per placement. The placement on the partner's core is
    # left out.
    parts = judged.parts["jha2021-c70"]
    assert [part.name[2] for part in parts] == ["client and server where the kernel likes", "client and server on one core"]
    assert all(part.average["cells"] == len(part.rows) == 8 for part in parts)
    # No placement is left open there. The condition of the claim is one more part.
    linpack, condition = judged.parts["jha2021-c01"]
    assert (linpack.name, condition.name) == (("jha2021-c01", 1, ""), ("jha2021-c01", 2, ""))
    assert linpack.number == linpack.judged == condition.number == 1 and condition.result["condition"]


def test_both_stages_fit_in_the_time(study, plan_of, judged):
    """Both stages fit if no run is disturbed. Each bought claim has the blocks that it needs; the last one may have
    only half of them."""
    first = two_stages.first_stage(study, plan_of(study), 2 * 3600)
    undisturbed = judged.runs.assign(attempts=1, started=2 * costs.PAUSE * judged.runs["place_in_order"])
    begun = judged._replace(
        plan=plan_of(study, RequestedRepetitions(_runs(plan_of(study), first), exact=True)), runs=undisturbed
    )
    blocks, _, chosen = two_stages.second_stage(begun, None, 2.0, 0.0)
    seconds = costs.of_plan(begun.plan, undisturbed).seconds
    assert seconds(first) < seconds(blocks) <= two_stages.FOR_MEASURING * 2 * 3600
    needed = {need.finding: need.blocks for need in begun.asked(None).needs}
    *whole, last = (needed[finding] for finding in chosen)
    assert all(blocks[cell] >= number for need in whole for cell, number in need.items())
    half = IN_PART * max(last.values())
    assert whole and all(blocks[cell] >= min(half, number) for cell, number in last.items())
    # With less time left, fewer blocks are bought.
    fewer, _, _ = two_stages.second_stage(begun, None, 1.5, 0.0)
    assert seconds(fewer) < seconds(blocks)


def _runs(plan, blocks):
    return {path: number * plan["cells"][path].get("per_block", 1) for path, number in blocks.items()}


def test_more_hours_decide_more_and_what_never_comes_is_named(judged, study, tmp_path):
    two_stages._foretell(tmp_path, judged, None, 0.3, 0.5)
    (made,) = forecasts.read(tmp_path)
    numbers = [each["settled"] for each in made["forecasts"]]
    assert [each["hours"] for each in made["forecasts"]] == [0.5, 1, 3, 10, 30]
    assert made["settled"] <= numbers[0] and numbers == sorted(numbers) and numbers[-1] <= made["testable"]
    # A claim that has the blocks that it needs is decided with a probability of four in five.
    reached = made["testable"] - made["settled"] - len(made["never"]) - len(made["unknown"])
    assert numbers[-1] == made["settled"] + round(0.8 * reached)
    # Differences that other measurements found influence what is bought, as in the second stage.
    two_stages._foretell(tmp_path / "other", judged, judged, 0.3, 0.5)
    (other,) = forecasts.read(tmp_path / "other")
    assert (other["forecasts"], other["never"]) != (made["forecasts"], made["never"])
    two_stages._foretell(tmp_path, judged, None, 1, 1)
    first, second = forecasts.rows(forecasts.read(tmp_path))
    assert (first["earlier"], second["earlier"]) == ([], [numbers[1]])
    assert second["foretold"][1] is None and second["foretold"][3] is not None
    said = forecasts.sentence(study["id"], forecasts.read(tmp_path))
    assert f"{made['settled']} of {made['testable']} testable claims are decided after 1 h of measuring" in said


def test_what_was_kept_of_these_very_runs_is_no_reference_of_theirs(judged, study, tmp_path, capsys):
    own = tmp_path / study["id"]
    shutil.copytree(REFERENCE / study["id"], own, ignore=shutil.ignore_patterns("*.zip", "figures"))
    assert judged_reference(study, judged.plan, own) is None
    assert "the reference measurements are of these very runs, so they are not used" in capsys.readouterr().out
    runs = pd.read_csv(own / "runs.csv", dtype=str, keep_default_na=False)
    runs["started"] = (pd.to_numeric(runs["started"]) + 1e6).astype(str)
    runs.to_csv(own / "runs.csv", index=False)
    assert judged_reference(study, judged.plan, own) is not None
    assert judged_reference(study, judged.plan, tmp_path / "nothing") is not None


def test_what_is_asked_exactly_is_all_that_is_planned(liu2020, plan_of, tmp_path):
    path = "uma/exact/E1/bare/any/default/standard/plain/fft"
    noted = {"stage": "first", "given": [1], "before": 0.0}
    repetitions.ask(tmp_path, "quick", RequestedRepetitions({path: 10}, exact=True, hours=noted))
    asked = repetitions.read_request(tmp_path, "quick")
    assert asked.hours == noted and repetitions.read_request(tmp_path, "paper").hours is None
    made = plan_of(liu2020, asked)
    assert {cell for cell, _ in made["order"]} == {path} and len(made["order"]) == 10
    assert made["cells"]["uma/exact/E1/bare/any/default/standard/plain/beff"]["repetitions"] == 0


def test_rounds_of_precision_remember_the_time_that_was_given(plan_of, tmp_path, monkeypatch):
    folder, noted = tmp_path / "results/jha2018", {"stage": "done", "given": [1.0], "before": 0.0}
    shutil.copytree(REFERENCE / "jha2018", folder)
    planner.write(plan_of(built("jha2018")), folder / "plan.json")
    repetitions.ask(folder, "quick", RequestedRepetitions({}, hours=noted))
    ends = iter((None, KeyboardInterrupt))

    def make(targets, settings):
        if problem := next(ends):
            raise problem

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rounds, "make", make)
    with pytest.raises(KeyboardInterrupt):
        rounds.reach("jha2018", 0.1, 30, [])
    asked = repetitions.read_request(folder, "quick")
    assert asked.hours == noted and max(asked.cells.values()) == 10


def runs_of(plan, paths, seconds, **more):
    """Return a table of three runs of each path, with a launch every `seconds`."""
    return pd.DataFrame(
        {**{factor: plan["cells"][path][factor] for factor in plan["factors"]}, "repetition": repetition}
        | {"started": 100.0 + seconds * repetition, "run_seconds": 0.5, "deploy_seconds": 0.4, "remove_seconds": 0.2, **more}
        for repetition in (1, 2, 3)
        for path in paths
    )


def test_a_launch_costs_what_passes_until_the_next_one(liu2020, plan_of):
    plan = plan_of(liu2020)
    paths = [f"uma/exact/E1/docker/any/default/standard/plain/{section}" for section in ("fft", "beff")]
    known = costs.of_plan(plan, runs_of(plan, paths, 3))
    # There are three seconds from launch to launch. The two sections take one, and the launch itself takes two.
    assert known.run[paths[0]] == pytest.approx(0.5)
    assert known.start[known.launch_of[paths[0]]] == pytest.approx(2.0)
    assert known.seconds(dict.fromkeys(paths, 3)) == pytest.approx(9.0)


def test_what_had_to_be_tried_again_costs_as_often(jha2021, plan_of):
    plan, path = plan_of(jha2021), "2/stream+stream/docker/free"
    known = costs.of_plan(plan, runs_of(plan, [path], 5, attempts=4))
    # Four attempts take 0.5 s each, with 0.6 s of overhead each. The next run begins 0.6 s later.
    assert known.seconds({path: 3}) == pytest.approx(15.0)
    # Another cell is assumed to exceed its planned time by the same factor.
    other = "2/linpack+stream/docker/free"
    longer = known.run[path] / plan["cells"][path]["expected_seconds"]
    assert known.run[other] == pytest.approx(longer * plan["cells"][other]["expected_seconds"])


@pytest.fixture
def given(study, plan_of, judged, tmp_path, monkeypatch):
    """Replace the workflow: it only writes the plan, and its measurements are those of the reference. Return the
    study's name, the plans in order, how many plans there were at each judging, and the hours of each forecast."""
    monkeypatch.chdir(tmp_path)
    planned, folder = [], tmp_path / "results" / study["id"]

    def prepare(settings):
        made = plan_of(study, repetitions.read_request(folder, "quick"))
        return SimpleNamespace(studies={study["id"]: study}, plans={study["id"]: made})

    def run(folder, settings):
        made = prepare(settings).plans[study["id"]]
        planner.write(made, folder / "plan.json")
        reference = PROJECT / "results/reference" / study["id"]
        (folder / "runs.csv").write_text((reference / "runs.csv").read_text())
        planned.append(made)

    def judge(folder, study):
        judged_at.append(len(planned))
        # The reference's disturbed runs, and the pauses between its runs, would use up the time of the second stage.
        undisturbed = judged.runs.assign(attempts=1, started=2 * costs.PAUSE * judged.runs["place_in_order"])
        return judged._replace(plan=planned[-1], runs=undisturbed)

    judged_at, foretold = [], []
    monkeypatch.setattr(two_stages, "_foretell", lambda folder, judged, other, spent, given: foretold.append(given))
    for place, name, replacement in (
        (two_stages, "prepare", prepare),
        (two_stages, "_snakemake", run),
        (study_state, "judge", judge),
    ):
        monkeypatch.setattr(place, name, replacement)
    return SimpleNamespace(study=study["id"], planned=planned, judged_at=judged_at, foretold=foretold)


def stage(given):
    return json.loads((Path("results") / given.study / repetitions.FILE).read_text())["hours"]


def test_an_hour_has_two_stages_and_is_spent_once(given):
    two_stages.spend(given.study, 3.0, ["profile=quick"])
    first, second = given.planned
    assert len(second["order"]) > len(first["order"]) > 100 and given.judged_at == [1, 2]
    assert stage(given)["stage"] == "done" and stage(given)["given"] == [3.0] == given.foretold[1:]
    # All cells keep the blocks of the first stage, and cells that are bought for have more.
    before, after = ({path: cell["repetitions"] for path, cell in made["cells"].items()} for made in (first, second))
    assert all(after[path] >= number for path, number in before.items())
    assert any(after[path] > 1.5 * number > 0 for path, number in before.items())
    two_stages.spend(given.study, 3.0, ["profile=quick"])
    assert len(given.planned) == 2
    two_stages.spend(given.study, 9.0, ["profile=quick"])
    assert stage(given)["given"] == [3.0, 6.0] and len(given.planned) == 4 and given.foretold == [3.0, 3.0, 9.0, 9.0]
    assert len(given.planned[-1]["order"]) > len(second["order"])


@pytest.mark.parametrize("study", ["jha2018"], indirect=True)
def test_a_first_stage_after_which_nothing_can_be_bought_is_judged_once(given, monkeypatch):
    monkeypatch.setattr(
        two_stages, "second_stage", lambda judged, other, hours_, before: (two_stages.blocks_of(judged.plan), [], [])
    )
    two_stages.spend(given.study, 1.0, ["profile=quick"])
    assert len(given.planned) == 1 and given.judged_at == [1]
    assert stage(given)["stage"] == "done" and stage(given)["chosen"] == []


@pytest.mark.parametrize("study", ["jha2018"], indirect=True)
def test_a_killed_stage_goes_on_where_it_was(given, monkeypatch):
    run = two_stages._snakemake

    def killed(folder, settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(two_stages, "_snakemake", killed)
    with pytest.raises(KeyboardInterrupt):
        two_stages.spend(given.study, 1.0, ["profile=quick"])
    assert stage(given)["stage"] == "first"
    monkeypatch.setattr(two_stages, "_snakemake", run)
    two_stages.spend(given.study, 1.0, ["profile=quick"])
    done = {"stage": "done", "given": [1.0], "before": 0.0}
    assert stage(given) == done | {"chosen": stage(given)["chosen"], "ratios": stage(given)["ratios"]}


@pytest.mark.parametrize("study", ["jha2018"], indirect=True)
def test_what_ten_minutes_left_out_is_begun_when_there_is_more_time(given):
    two_stages.spend(given.study, 0.15, ["profile=quick"])
    assert min(cell["repetitions"] for cell in given.planned[-1]["cells"].values() if not cell["reason"]) == 0
    two_stages.spend(given.study, 4.0, ["profile=quick"])
    assert min(cell["repetitions"] for cell in given.planned[-1]["cells"].values() if not cell["reason"]) >= 2


def test_a_stage_makes_what_blocks_are_chosen_from(monkeypatch):
    made = []
    monkeypatch.setattr(rounds, "make", lambda targets, settings: made.append((targets, settings)))
    two_stages._snakemake(Path("results/liu2020"), ["profile=quick"])
    assert made == [(["results/liu2020/runs.csv"], ["profile=quick"])]


@pytest.fixture
def figure_alone(plan_of, tmp_path):
    """A study of which two blocks of each cell of one figure were measured, without a given time: (study, plan, folder)."""
    study = built("liu2020")
    plan = plan_of(study)
    shown = [cell for cell in availability.shown_cells(plan, study, "fig06") if cell["reason"] is None]
    for cell in shown:
        for repetition in range(1, 1 + 2 * cell.get("per_block", 1)):
            about = {"fingerprint": cell["fingerprint"], "status": "valid", "cell": cell, "repetition": repetition}
            record.write(record.path_of(tmp_path / "liu2020/runs", cell["path"], repetition), recorded(**about))
    return study, plan, tmp_path / "liu2020"


def test_what_was_measured_for_a_figure_is_part_of_a_given_time(figure_alone):
    """Otherwise the figure would lose its runs as soon as a time is given."""
    study, plan, folder = figure_alone
    shown = {cell["path"] for cell in availability.shown_cells(plan, study, "fig06") if cell["reason"] is None}
    there = study_state.recorded(folder, plan)
    assert {path for path, blocks in there.items() if blocks} == shown and {there[path] for path in shown} == {2}
    begun = two_stages._begun(study, plan, 0.2 * 3600, folder)
    assert all(begun[path] >= 2 for path in shown)
    # The time that it took is not of the new budget.
    assert two_stages._seconds(folder, plan) == pytest.approx(costs.of_plan(plan).seconds(there)) and there
    other = {**plan, "cells": {path: {**cell, "fingerprint": "0"} for path, cell in plan["cells"].items()}}
    assert study_state.recorded(folder, other) == {}


def test_a_figure_that_is_asked_for_by_name_gets_what_a_given_time_left_out(figure_alone, plan_of):
    study, plan, folder = figure_alone
    assert figure_request.ask(folder, "quick", study, ["fig06"]) == 0
    some = plan["order"][0][0]
    repetitions.ask(folder, "quick", RequestedRepetitions({some: 9}, exact=True))
    timed = plan_of(study, repetitions.read_request(folder, "quick"))
    planner.write(timed, folder / "plan.json")
    cells = figure_request.left_out(timed, study, "fig06")
    assert cells and figure_request.ask(folder, "quick", study, ["fig06"]) == len({cell["path"] for cell in cells} - {some})
    again = plan_of(study, repetitions.read_request(folder, "quick"))
    assert not figure_request.left_out(again, study, "fig06") and again["cells"][some]["repetitions"] == 9
    others = {path for path, cell in again["cells"].items() if cell["repetitions"]} - {cell["path"] for cell in cells}
    assert others == {some}
