"""A study in a given time, planned from the reference measurements: nothing is measured here."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from plimsoll import hours
from plimsoll.analysis import collect
from plimsoll.claims import costs, needs
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.planning import forecasts, planner, repetitions
from plimsoll.planning.repetitions import Asked

from tests.conftest import PROJECT

# Judging takes seconds: it is done once.
JUDGED = {}


@pytest.fixture
def plan(liu2020, small_host, config):
    made = planner.make(liu2020, studies.profile("quick"), small_host, {**config, "profile": "quick"}, {})
    return {**made, "order": [tuple(run) for run in made["order"]]}


@pytest.fixture
def judged(liu2020, plan):
    if "liu2020" not in JUDGED:
        JUDGED["liu2020"] = _of_reference(liu2020, plan)
    return JUDGED["liu2020"]


def _of_reference(liu2020, plan):
    folder = PROJECT / "results/reference/liu2020"
    tables = (collect.table(folder / name, plan["factors"]) for name in ("observations.csv", "runs.csv"))
    return hours._judge(liu2020, plan, *tables)


def test_a_time_that_is_none_is_refused():
    assert hours.hours_of("0.15") == 0.15
    for text, said in (("soon", "is not a number"), ("0", "above 0"), ("inf", "finite")):
        with pytest.raises(PlimsollError, match=said):
            hours.hours_of(text)


def test_an_hour_begins_with_blocks_of_everything(liu2020, plan):
    blocks = hours._first(liu2020, plan, 3600)
    assert set(blocks) == {path for path, cell in plan["cells"].items() if cell["reason"] is None}
    assert set(blocks.values()) == {3, 4}
    # Fewer are of what no finding is about that can be tested with two ranks: profiles, say.
    fewer = {path for path, number in blocks.items() if number == 3}
    assert fewer == set(blocks) - hours._asked(liu2020, plan)
    assert costs.of(plan).seconds(blocks) <= hours.FIRST_SHARE * 3600


def test_ten_minutes_are_for_what_the_reference_settled_first(liu2020, plan):
    blocks = hours._first(liu2020, plan, 540)
    assert costs.of(plan).seconds(blocks) <= 540
    assert 0 < len(blocks) < 150 and min(blocks.values()) >= hours.LEAST


def test_a_time_that_is_too_short_for_anything_says_how_long_it_takes(liu2020, plan):
    with pytest.raises(
        PlimsollError, match=r"HOURS=0.001 is too short for any finding .* 3 blocks of everything take some 0\.\d"
    ):
        hours._first(liu2020, plan, 3.6)


def test_what_is_clear_needs_nothing_and_the_rest_is_known(judged):
    asked = judged.asked
    assert asked.clear and asked.needs
    assert not set(asked.clear) & {need.finding for need in asked.needs}
    settled = {result["id"] for result in judged.results if result["verdict"] in ("reproduced", "contradicted")}
    assert set(asked.clear) <= settled
    assert all(number >= 3 for need in asked.needs for number in need.blocks.values())


def test_the_noise_of_a_comparison_is_that_of_many(judged):
    noise = needs.Noise(judged.rows, judged.plan)
    rows = judged.rows[(judged.rows["metric"] == "fft_gflops") & judged.rows["low"].notna()].to_dict("records")
    by_runtimes: dict[frozenset, set[float]] = {}
    for row in rows:
        runtimes = frozenset(judged.plan["cells"][row[side]]["runtime"] for side in ("cell_a", "cell_b"))
        by_runtimes.setdefault((runtimes, row["scale"], row["metric_b"]), set()).add(round(noise.of(row), 12))
    assert len(by_runtimes) > 3 and all(len(found) == 1 for found in by_runtimes.values())
    # From the interval back to the spread.
    row = {"scale": "difference", "low": -1.0, "high": 1.0, "n": 5}
    assert needs.deviation(row) == pytest.approx(5**0.5 / 2.776445, rel=1e-6)


def test_more_hours_settle_more_and_what_never_comes_is_named(judged, tmp_path):
    hours._foretell(tmp_path, judged, 0.5)
    (made,) = forecasts.read(tmp_path)
    numbers = [each["settled"] for each in made["forecasts"]]
    assert [each["hours"] for each in made["forecasts"]] == [1, 3, 10, 30]
    assert made["settled"] <= numbers[0] and numbers == sorted(numbers) and numbers[-1] <= made["testable"]
    assert len(made["never"]) == made["testable"] - numbers[-1]
    hours._foretell(tmp_path, judged, 1)
    first, second = forecasts.rows(forecasts.read(tmp_path))
    assert (first["earlier"], second["earlier"]) == ([], [numbers[0]])
    assert second["foretold"][1] is None and second["foretold"][3] is not None
    said = forecasts.sentence("liu2020", forecasts.read(tmp_path))
    assert f"{made['settled']} of {made['testable']} testable findings are settled after 1 hours" in said


def test_what_is_asked_exactly_is_all_that_is_planned(liu2020, small_host, config, tmp_path):
    path = "uma/exact/E1/bare/any/default/standard/plain/fft"
    repetitions.ask(tmp_path, "quick", Asked({path: 10}, exact=True), hours={"stage": "first", "given": [1], "before": 0.0})
    assert json.loads((tmp_path / repetitions.FILE).read_text())["hours"]["stage"] == "first"
    asked = repetitions.asked(tmp_path, "quick")
    made = planner.make(liu2020, studies.profile("quick"), small_host, {**config, "profile": "quick"}, {}, asked)
    assert {cell for cell, _ in made["order"]} == {path} and len(made["order"]) == 10
    assert made["cells"]["uma/exact/E1/bare/any/default/standard/plain/beff"]["repetitions"] == 0


def test_a_launch_costs_what_passes_until_the_next_one(plan):
    paths = [f"uma/exact/E1/docker/any/default/standard/plain/{section}" for section in ("fft", "beff")]
    rows = [
        {**{factor: plan["cells"][path][factor] for factor in plan["factors"]}, "repetition": repetition}
        | {"started": 100.0 + 3 * repetition, "run_seconds": 0.5, "deploy_seconds": 0.4, "remove_seconds": 0.2}
        for repetition in (1, 2, 3)
        for path in paths
    ]
    known = costs.of(plan, pd.DataFrame(rows))
    # Three seconds from launch to launch: one of the two sections, and two beside them.
    assert known.run[paths[0]] == pytest.approx(0.5)
    assert known.start[known.launch_of[paths[0]]] == pytest.approx(2.0)
    assert known.seconds(dict.fromkeys(paths, 3)) == pytest.approx(9.0)


@pytest.fixture
def given(liu2020, small_host, config, judged, tmp_path, monkeypatch):
    """Spends hours on a study of which nothing is measured: the workflow only writes its plan, and what it would find is what
    the reference measurements found. The plans that it was given, in order."""
    monkeypatch.chdir(tmp_path)
    planned, folder = [], tmp_path / "results/liu2020"

    def prepare(settings):
        asked = repetitions.asked(folder, "quick")
        made = planner.make(liu2020, studies.profile("quick"), small_host, {**config, "profile": "quick"}, {}, asked)
        return SimpleNamespace(studies={"liu2020": liu2020}, plans={"liu2020": made})

    def run(folder, settings):
        made = prepare(settings).plans["liu2020"]
        planner.write(made, folder / "plan.json")
        reference = PROJECT / "results/reference/liu2020"
        (folder / "runs.csv").write_text((reference / "runs.csv").read_text())
        planned.append(made)

    def judge(folder, study):
        made = planned[-1]
        return judged._replace(plan={**made, "order": [tuple(run) for run in made["order"]]})

    for name, replacement in (("prepare", prepare), ("_snakemake", run), ("judge", judge)):
        monkeypatch.setattr(hours, name, replacement)
    return planned


def stage(folder=Path("results/liu2020")):
    return json.loads((folder / repetitions.FILE).read_text())["hours"]


def test_an_hour_has_two_stages_and_is_spent_once(given):
    hours.spend("liu2020", 1.0, ["profile=quick"])
    first, second = given
    assert len(second["order"]) > len(first["order"]) > 1000
    assert stage()["stage"] == "done" and stage()["given"] == [1.0]
    # All cells have their first blocks, and those of what is bought have more.
    before, after = ({path: cell["repetitions"] for path, cell in made["cells"].items()} for made in (first, second))
    assert all(after[path] >= number for path, number in before.items())
    assert any(after[path] > 2 * number > 0 for path, number in before.items())
    hours.spend("liu2020", 1.0, ["profile=quick"])
    assert len(given) == 2
    hours.spend("liu2020", 3.0, ["profile=quick"])
    assert stage()["given"] == [1.0, 2.0] and len(given) == 4 and len(given[-1]["order"]) > len(second["order"])


def test_a_killed_stage_goes_on_where_it_was(given, monkeypatch):
    run = hours._snakemake

    def killed(folder, settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(hours, "_snakemake", killed)
    with pytest.raises(KeyboardInterrupt):
        hours.spend("liu2020", 1.0, ["profile=quick"])
    assert stage()["stage"] == "first"
    monkeypatch.setattr(hours, "_snakemake", run)
    hours.spend("liu2020", 1.0, ["profile=quick"])
    assert stage() | {"chosen": None} == {"stage": "done", "given": [1.0], "before": 0.0, "chosen": None}


def test_what_ten_minutes_left_out_is_begun_when_there_is_more_time(given):
    hours.spend("liu2020", 0.15, ["profile=quick"])
    assert min(cell["repetitions"] for cell in given[-1]["cells"].values() if not cell["reason"]) == 0
    hours.spend("liu2020", 2.0, ["profile=quick"])
    assert min(cell["repetitions"] for cell in given[-1]["cells"].values() if not cell["reason"]) >= 3
