"""What the rules need: which files are made from which, in which order, and who may measure."""

import fcntl
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from plimsoll import designs, target_paths, workflow
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.host import file_times
from plimsoll.measuring import lock, staleness
from plimsoll.planning import availability, planner
from plimsoll.target_paths import bundle_path, path_of, paths_of
from plimsoll.terminal import request
from plimsoll.workflow import FIRST, Workflow, refuse_other_host

NAME = "liu2020"


@pytest.fixture
def made(small_host, config, tmp_path, monkeypatch) -> Workflow:
    """Yield the workflow of liu2020 on a small host, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    staleness.seen_at_start.cache_clear()
    loaded = studies.load(NAME, designs.known())
    plan = planner.make(loaded, studies.profile("quick"), small_host, config, {})
    yield Workflow([NAME], [NAME], {NAME: loaded}, {NAME: plan}, {}, {}, small_host)
    staleness.seen_at_start.cache_clear()


def put(made, run, **changes) -> None:
    cell, repetition = run
    found = {"format": 1, "study": NAME, "cell": {}, "repetition": repetition, "status": "valid", "attempts": 1}
    found["fingerprint"] = made.plans[NAME]["cells"][cell]["fingerprint"]
    path = Path(f"results/{NAME}/runs/{cell}/{repetition}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**found, **changes}, indent=1) + "\n")


def test_the_first_run_of_the_order_has_the_highest_priority(made):
    order = made.plans[NAME]["order"]
    priorities = [made.priority(NAME, *run) for run in order]
    assert priorities[0] == FIRST and priorities == sorted(priorities, reverse=True) and len(set(priorities)) == len(order)
    assert made.records(NAME)[0] == f"results/{NAME}/runs/{order[0][0]}/{order[0][1]}.json"


def test_the_plan_of_a_study_that_is_not_wanted_stays_what_its_results_were_made_with(made, small_host):
    plan, there = made.plans[NAME], Path("results/other/plan.json")
    there.parent.mkdir(parents=True)
    there.write_text("what it was")
    Workflow([NAME], [NAME], made.studies, {NAME: plan, "other": plan}, {}, {}, small_host).write_plans()
    assert json.loads(Path(f"results/{NAME}/plan.json").read_text())["study"] == NAME
    session = json.loads(Path(f"results/{NAME}/session.json").read_text())
    assert len(session["encodings"]) == 126 and session["metrics"].keys() == made.studies[NAME]["metrics"].keys()
    assert there.read_text() == "what it was"


def test_one_study_comes_after_the_other(made):
    plan = made.plans[NAME]
    both = Workflow([NAME, "other"], [NAME, "other"], {}, {NAME: plan, "other": plan}, {}, {}, made.host)
    order = plan["order"]
    of_each = [both.priority(name, *run) for name in (NAME, "other") for run in order]
    assert of_each == [FIRST - place for place in range(2 * len(order))]


def test_a_run_needs_the_tried_environments_until_its_record_is_there(made):
    run = made.plans[NAME]["order"][0]
    assert made.prerequisites(NAME, *run) == ["results/images/hpcc.runtimes.json"]
    put(made, run)
    staleness.seen_at_start.cache_clear()
    assert made.prerequisites(NAME, *run) == []
    fingerprint = made.plans[NAME]["cells"][run[0]]["fingerprint"]
    assert made.asked_for(NAME, *run) == f"results/{NAME}/plan.json results/images/hpcc.json {run[0]} {run[1]} {fingerprint}"


@pytest.mark.parametrize("changes", [{"fingerprint": "another"}, {"status": "invalid"}])
def test_a_record_of_another_plan_or_one_that_does_not_count_is_measured_again(made, changes):
    workflow._now.cache_clear()
    run = made.plans[NAME]["order"][0]
    put(made, run, **changes)
    # The record is from an earlier start.
    os.utime(path_of(NAME, *run), (1, 1))
    image, started = made.prerequisites(NAME, *run)
    assert image == "results/images/hpcc.runtimes.json"
    # The record is older than this input, whatever Snakemake knows of the job that made it.
    assert file_times.newer(started, Path(target_paths.path_of(NAME, *run)).stat().st_mtime_ns)


def test_a_run_that_was_tried_often_enough_is_left_alone(made):
    run = made.plans[NAME]["order"][0]
    put(made, run, status="failed", starts=made.plans[NAME]["limits"]["starts"])
    assert made.prerequisites(NAME, *run) == []


def test_only_deleted_records_are_named_and_only_where_observations_are_there(made, tmp_path):
    order = made.plans[NAME]["order"]
    assert made.deleted_records(NAME) == []
    for run in order[:3]:
        put(made, run)
    (tmp_path / f"results/{NAME}/observations.csv").write_text("")
    assert made.deleted_records(NAME) == made.records(NAME)[3:]


def test_a_table_names_what_its_kind_is_made_from(made):
    of_runs, of_host = made.table_inputs(NAME, "table01"), made.table_inputs(NAME, "table03")
    assert of_host == {"host": "results/host.json", "image": "results/images/hpcc.json"}
    assert set(of_runs) == {"records", "image", "runs"} and of_runs["runs"] == []
    records = [record for path in of_runs["records"] for record in made.bundle(NAME, Path(path).name)]
    assert records and all("/mpi/" in path for path in records)
    assert made.table_inputs(NAME, "table05") == {"environments": "results/images/hpcc.runtimes.json"}
    with pytest.raises(PlimsollError, match="liu2020 has no table 'table07'; it has table01, table02"):
        made.table_inputs(NAME, "table07")


def test_every_record_is_in_one_bundle_and_a_figure_s_bundles_hold_its_records_alone(made):
    def records(paths: list[str]) -> list[str]:
        return sorted(record for path in paths for record in made.bundle(NAME, Path(path).name))

    assert records(made.bundles(NAME)) == sorted(made.records(NAME))
    assert len(made.bundles(NAME)) < 50
    plan, study = made.plans[NAME], made.studies[NAME]
    for name in study["figures"]:
        assert records(made.bundles(NAME, name)) == sorted(paths_of(NAME, availability.figure_runs(plan, study, name)))
    assert made.bundles(NAME, "fig09") and not made.bundles(NAME, "fig16")


def test_a_bundle_keeps_its_name_when_runs_are_added(made, small_host, config):
    more = planner.make(made.studies[NAME], studies.profile("quick"), small_host, {**config, "repetitions": 7}, {})
    longer = Workflow([NAME], [NAME], made.studies, {NAME: more}, {}, {}, small_host)
    assert longer.bundles(NAME) == made.bundles(NAME)
    bundle = Path(made.bundles(NAME)[0]).name
    assert set(longer.bundle(NAME, bundle)) > set(made.bundle(NAME, bundle))
    assert longer.bundle_digest(NAME, bundle) != made.bundle_digest(NAME, bundle)


def _length(bundle: tuple[str, list[str]]) -> int:
    return len(bundle[1])


def test_of_a_bundle_that_is_there_only_records_are_followed_that_are_open_or_newer(made):
    bundle, every = min(((Path(path).name, made.bundle(NAME, Path(path).name)) for path in made.bundles(NAME)), key=_length)
    runs = [run for run in made.plans[NAME]["order"] if path_of(NAME, *run) in every]
    assert len(runs) > 4
    for run in runs:
        put(made, run)
    marker = Path(bundle_path(NAME, bundle))
    assert made.bundle(NAME, bundle) == every

    marker.parent.mkdir(parents=True)
    marker.touch()
    staleness.seen_at_start.cache_clear()
    assert made.bundle(NAME, bundle) == []

    later = marker.stat().st_mtime_ns + 1
    Path(every[0]).unlink()
    put(made, runs[1], fingerprint="another")
    put(made, runs[2], status="disturbed")
    Path(every[3]).write_text("{")
    for path in every[1:]:
        os.utime(path, ns=(later - 1, later - 1))
    os.utime(every[4], ns=(later, later))
    staleness.seen_at_start.cache_clear()
    # A damaged record is reported to the user and kept. It is as old as before, so that it is not followed. Because one
    # record is deleted, a file that is newer than the bundle is followed too.
    assert made.bundle(NAME, bundle) == [*every[:3], every[4], f"results/{NAME}/progress/started"]
    put(made, runs[0])
    staleness.seen_at_start.cache_clear()
    assert made.bundle(NAME, bundle) == [*every[:3], every[4]]


def test_a_figure_s_digest_changes_with_its_own_cells_alone(made):
    before = made.figure_digest(NAME, "fig29"), made.figure_digest(NAME, "fig31"), made.digest(NAME)
    cell = next(cell for cell in made.plans[NAME]["cells"].values() if cell["sizes"] == "yielding")
    cell["fingerprint"] = "another"
    after = made.figure_digest(NAME, "fig29"), made.figure_digest(NAME, "fig31")
    assert after[0] != before[0] and after[1] == before[1]


def test_the_queue_is_noted_in_the_order_of_measuring(made, tmp_path):
    order = made.plans[NAME]["order"]
    made.note_queue([(NAME, *run) for run in reversed(order[:5])])
    queue = json.loads((tmp_path / f"results/{NAME}/progress/queue.json").read_text())
    assert queue == [f"{cell}/{repetition}" for cell, repetition in order[:5]]


def test_who_is_at_work_in_a_folder_is_said_and_can_be_waited_for(tmp_path):
    said = rf"Another workflow is running in this folder \(\w+, process {os.getpid()}\): wait for it to end, or stop it"
    with lock.hold_folder(tmp_path / "lock") as file:
        with pytest.raises(lock.Busy, match=said) as busy:
            lock.hold_folder(tmp_path / "lock")
        waiting = threading.Thread(target=busy.value.wait)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        fcntl.flock(file, fcntl.LOCK_UN)
        waiting.join(10)
        assert not waiting.is_alive()
    with lock.hold_folder(tmp_path / "lock") as file:
        assert fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) is None


def test_another_host_s_plan_is_not_measured():
    refuse_other_host({"host_file": None})
    with pytest.raises(PlimsollError, match="describes another host, for which plans can be made"):
        refuse_other_host({"host_file": "config/hosts/xeon-e5-2697v4.yaml"})


def test_what_a_study_asks_for_is_tried_when_the_study_or_one_of_its_files_is_wanted(config, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tried = []
    monkeypatch.setattr(workflow, "unavailable_here", lambda wishes: tried.append(wishes) or {"docker-shared": "x"})
    asked = "results/plimsoll2026/figures/ladder.pdf"
    for targets, wish in (((), "off"), (("all", "results/claims.html"), "off"), ((asked,), "optional")):
        made = workflow.prepare({**config, "studies": NAME, "profile": "quick"}, request.studies_of(targets))
        assert made.selected == [NAME] and tried[-1]["docker-shared"] == made.wishes("hpcc")["docker-shared"] == wish
    made = workflow.prepare({**config, "studies": "plimsoll2026", "profile": "quick"})
    assert tried[-1]["docker-shared"] == "optional"
    reasons = {cell["reason"] for cell in made.plans["plimsoll2026"]["cells"].values() if cell["runtime"] == "docker-shared"}
    assert reasons == {"x"}


def test_of_a_study_that_is_asked_for_or_there_as_a_whole_the_list_of_runs_says_which_are_impossible(made, monkeypatch):
    judged = [f"results/{NAME}/runs.csv"]
    assert made.judged(NAME) == []
    whole = replace(made, all_runs=frozenset({NAME}))
    assert whole.judged(NAME) == judged and whole.table_inputs(NAME, "table01")["runs"] == judged

    Path(judged[0]).parent.mkdir(parents=True)
    Path(judged[0]).touch()
    assert replace(made).judged(NAME) == []
    monkeypatch.setattr(Workflow, "_open", lambda *run: False)
    assert replace(made).judged(NAME) == judged
