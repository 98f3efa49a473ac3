"""Reports about valid records: why they are put aside, which come back, and which are left out."""

import copy

import pytest
from plimsoll.config import studies
from plimsoll.measuring import record, staleness, status
from plimsoll.planning import planner, record_moves

from tests.conftest import built, recorded

STREAM = "uma/exact/E1/bare/any/default/standard/plain/stream"


@pytest.fixture
def plans(config, small_host):
    """Return a function that plans a study with a profile, on a host with these changes."""

    def plans(name="liu2020", profile="quick", unavailable=(), **changes):
        host, settings = {**small_host, **changes}, {**config, "profile": profile}
        return planner.make(built(name), studies.profile(profile), host, settings, dict(unavailable))

    return plans


def keep(folder, plan, cells=None, aside=False, **changes) -> list[tuple[str, int]]:
    """Write records of the first repetition of a plan's measurable cells, or of some `cells`. Return their runs."""
    runs = [(path, 1) for path, cell in plan["cells"].items() if not cell["reason"] and (cells is None or path in cells)]
    for path, repetition in runs:
        cell = plan["cells"][path]
        found = recorded(**{"cell": cell, "fingerprint": cell["fingerprint"], "profile": plan["profile"], **changes})
        place = (
            folder / f"archive/{cell['fingerprint']}/1-1.json" if aside else record.path_of(folder / "runs", path, repetition)
        )
        record.keep(place, found)
    return runs


def told(folder, plan, runs):
    return record_moves.sentences(folder, built(plan["study"]).design, plan, runs)


def test_nothing_is_said_of_what_is_measured_for_the_first_time(plans, tmp_path):
    plan = plans()
    assert told(tmp_path, plan, plan["order"]) == []


def test_another_problem_size_is_said_with_both_sizes(plans, tmp_path):
    plan = plans()
    now = copy.deepcopy(plan)
    now["cells"][STREAM]["parameters"]["order"] = 20278
    now["cells"][STREAM]["fingerprint"] = "another"
    then = plan["cells"][STREAM]["parameters"]["order"]
    runs = keep(tmp_path, plan, [STREAM])
    assert told(tmp_path, now, runs) == [
        f"liu2020: 1 valid run is put aside in {tmp_path}/archive/: the problem size (order) was {then} and is 20278 now."
    ]


def test_of_many_runs_there_is_one_sentence_per_kind_of_change(plans, tmp_path):
    runs = keep(tmp_path, plans())
    (said,) = told(tmp_path, plans(cpu_model="another processor"), runs)
    assert said.startswith(f"liu2020: {len(runs)} valid runs are put aside in {tmp_path}/archive/: the host was ['unknown', ")
    assert len(runs) > 100 and "and is ['another processor', " in said


def test_another_profile_is_named(plans, tmp_path):
    runs = keep(tmp_path, plans(profile="ci"))
    said = told(tmp_path, plans(), runs)
    assert len(said) < 6 and all("by the profile quick in place of ci" in sentence for sentence in said)
    assert any("the problem size (order) was 1000 and is 4500 now" in sentence for sentence in said)


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_what_has_changed_is_said_of_every_design(plans, tmp_path, name):
    plan = plans(name)
    runs = keep(tmp_path, plan, [path for path, _ in plan["order"]][:3])
    (said,) = told(tmp_path, plans(name, cpu_model="another processor"), runs)
    assert f"{len(runs)} valid runs are put aside" in said and "the host was [" in said


def test_a_record_that_says_nothing_else_than_the_plan_is_of_another_version(plans, tmp_path):
    plan = plans()
    runs = keep(tmp_path, plan, [STREAM], fingerprint="0123456789abcdef")
    (said,) = told(tmp_path, plan, runs)
    assert said.endswith(f"archive/: {record_moves.UNKNOWN}.")


@pytest.mark.parametrize("found", status.NAMES)
def test_only_runs_that_count_are_counted(plans, tmp_path, found):
    plan = plans()
    runs = keep(tmp_path, plan, [STREAM], fingerprint="0123456789abcdef", status=found)
    assert bool(told(tmp_path, plan, runs)) == (found in status.COUNTED)


def test_what_is_in_the_archive_is_taken_back_as_is_said(plans, tmp_path):
    plan = plans()
    runs = keep(tmp_path, plan, [STREAM], aside=True)
    assert told(tmp_path, plan, runs) == [
        f"liu2020: 1 valid run is taken back from {tmp_path}/archive/, as measured with what is planned now."
    ]
    target = record.path_of(tmp_path / "runs", STREAM, 1)
    assert staleness.usable_record(tmp_path, plan["cells"][STREAM], 1, target, 3)[0] and target.exists()
    assert told(tmp_path, plan, runs) == []


def test_runs_of_what_cannot_be_measured_now_are_left_out_and_kept(plans, tmp_path):
    keep(tmp_path, plans(), [STREAM, STREAM.replace("bare", "docker"), STREAM.replace("bare/any", "docker/pin")])
    gone = plans(unavailable={"docker": "it does not answer"})
    assert told(tmp_path, gone, []) == ["liu2020: 2 valid runs are left out, and kept where they are: it does not answer."]
