"""Runtimes that are given up in one start, or that do not work: when, and what this means for a plan."""

import json

import pytest
from plimsoll import documents
from plimsoll.analysis import complete
from plimsoll.config import studies
from plimsoll.errors import PlimsollError
from plimsoll.measuring import failing_groups, progress, record, status
from plimsoll.measuring.failing_groups import Group
from plimsoll.planning import planner, tries
from plimsoll.terminal import target_check

from tests.conftest import built, recorded

GROUP = Group("docker", "several nodes")
FAILED = "mpirun ended with 1: plimsoll-3f2c0a-c1: no route (process 417)"


@pytest.fixture
def plan(liu2020, small_host, config):
    return planner.make(liu2020, studies.profile("quick"), small_host, config, {})


def group_of(liu2020):
    return lambda cell: Group(cell["runtime"], liu2020.design.cells.kind(cell))


def reasons_of(made, plan, group_of):
    """Return, by group, the reasons in `made` of the cells that can be measured in `plan`."""
    found = {}
    for path, cell in made["cells"].items():
        if not plan["cells"][path]["reason"]:
            found.setdefault(group_of(cell), set()).add(cell["reason"])
    return found


def measure(folder, plan, group_of, *made, **changes):
    """Write records of GROUP's first runs, each with its (status, reason) in `made`."""
    runs = [run for run in plan["order"] if group_of(plan["cells"][run[0]]) == GROUP]
    progress.begin(folder / "progress", [f"{path}/{number}" for path, number in runs])
    for (path, number), (found, reason) in zip(runs, made, strict=False):
        one = recorded(**{"status": found, "reason": reason, "fingerprint": plan["cells"][path]["fingerprint"], **changes})
        record.keep(record.path_of(folder / "runs", path, number), one)
        progress.finish(folder / "progress", f"{path}/{number}", 1.0, one)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ([("failed", FAILED)] * 2, None),
        ([("failed", FAILED)] * 3, "the first runs all failed alike: failed, mpirun ended with 1"),
        # Numbers and names that belong to one run do not count.
        ([("failed", FAILED), ("failed", FAILED.replace("417", "9")), ("failed", FAILED.replace("3f2c0a", "11"))], "the first"),
        ([("timeout", "60 s")] * 3, "the first runs all failed alike: timeout, 60 s"),
        ([("failed", FAILED)] * 2 + [("failed", "no space")], None),
        ([("failed", "no space")] + [("failed", FAILED)] * 3, "the first"),
        ([("failed", FAILED)] * 2 + [("timeout", FAILED)], None),
        ([("valid", None)] + [("failed", FAILED)] * 3, None),
        # A disturbance by neighbours is not caused by the runtime.
        ([("disturbed", "others used 30 %")] * 3, None),
        ([("disturbed", "others used 30 %"), *[("failed", FAILED)] * 2], None),
        ([("failed", FAILED), ("disturbed", "others used 30 %"), *[("failed", FAILED)] * 2], "the first"),
    ],
)
def test_runs_that_fail_alike_and_none_that_counts_give_a_group_up(liu2020, plan, tmp_path, made, why):
    measure(tmp_path, plan, group_of(liu2020), *made)
    found = failing_groups.reason(tmp_path, plan, GROUP, group_of(liu2020))
    assert found is None if why is None else found.startswith(why)


def test_a_busy_machine_and_a_run_of_an_earlier_start_that_counts_give_nothing_up(liu2020, plan, tmp_path):
    busy = {"noise": {"before": {"idle": False, "busy_share": 0.9}}}
    measure(tmp_path, plan, group_of(liu2020), *[("invalid", "the machine was not idle within 30 s")] * 3, **busy)
    assert failing_groups.reason(tmp_path, plan, GROUP, group_of(liu2020)) is None
    measure(tmp_path, plan, group_of(liu2020), *[("failed", FAILED)] * 3)
    path, number = [run for run in plan["order"] if group_of(liu2020)(plan["cells"][run[0]]) == GROUP][-1]
    record.keep(record.path_of(tmp_path / "runs", path, number), recorded(status=status.VALID))
    assert failing_groups.reason(tmp_path, plan, GROUP, group_of(liu2020)) is None


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_kind_of_runs_has_a_trial_that_is_a_cell_and_costs_next_to_nothing(small_host, config, name, profile):
    study = built(name)
    design = study.design
    made = planner.make(study, studies.profile(profile), small_host, config, {})
    groups = {}
    for cell in made["cells"].values():
        if not cell["reason"]:
            groups.setdefault((cell["runtime"], design.cells.kind(cell)), []).append(cell)
    assert groups
    for (_, kind), cells in groups.items():
        if trial := design.cells.trial(made, cells):
            documents.fit(trial, design.factors.CELL)
            assert trial["path"] in made["cells"] and design.cells.kind(trial) == kind
            assert trial["parameters"].get("order", 0) <= 1000 and trial.get("window_seconds") in (None, 0, 0.2)
        else:
            assert kind == "disk"


def test_what_is_given_up_holds_for_one_start(tmp_path, monkeypatch):
    monkeypatch.setenv(failing_groups.VARIABLE, "this")
    failing_groups.note(tmp_path, GROUP, "no route")
    failing_groups.note(tmp_path, Group("vm", ""), "no KVM")
    assert failing_groups.reasons(tmp_path) == {"docker, several nodes": "no route", "vm": "no KVM"}
    monkeypatch.setenv(failing_groups.VARIABLE, "the next")
    assert failing_groups.reasons(tmp_path) == {}


@pytest.mark.parametrize(("wish", "refused"), [("required", True), ("optional", False)])
def test_cells_that_are_given_up_have_no_runs_and_are_missing_where_the_runtime_is_required(
    liu2020, plan, small_host, config, wish, refused
):
    config["runtimes"]["docker"] = wish
    reasons = {"liu2020/docker, several nodes": "no route", "other/docker, one node": "it is another study"}
    made = planner.make(liu2020, studies.profile("quick"), small_host, config, reasons)
    found = reasons_of(made, plan, group_of(liu2020))
    assert found[GROUP] == {"no route"} and found[Group("docker", "one node")] == {None}
    assert made.get("given_up", {}) == ({GROUP.text: "no route"} if refused else {})
    if refused:
        with pytest.raises(PlimsollError, match=r"required runtimes do not work.*: docker, several nodes \(no route\)"):
            complete.check(made, [])


def test_a_runtime_that_does_not_work_on_an_image_is_not_there_for_its_studies(liu2020, plan, small_host, config):
    reasons = {"hpcc/singularity": "no setuid", "hadoop/docker": "another image"}
    made = planner.make(liu2020, studies.profile("quick"), small_host, config, reasons)
    found = reasons_of(made, plan, group_of(liu2020))
    assert found[Group("singularity", "one node")] == found[Group("singularity", "several nodes")] == {"no setuid"}
    assert found[GROUP] == {None}


def test_only_optional_runtimes_are_left_out_of_plans():
    tried = {
        "docker": {"works": True, "kinds": {"one node": None, "several nodes": "no route"}},
        "podman": {"works": False, "reason": "no crun"},
        "vm": {"works": False, "reason": "no KVM"},
    }
    wishes = {"docker": "optional", "podman": "optional", "vm": "required"}
    reasons = tries.of_image("hpcc", tried, wishes)
    assert reasons == {"hpcc/docker, several nodes": "no route", "hpcc/podman": "no crun"}


def test_what_was_tried_holds_for_a_place_and_of_what_fails_for_a_system(tmp_path, monkeypatch):
    results = tmp_path / "results"
    (results / "images").mkdir(parents=True)
    file = tries.file_of("hpcc", results / "images")

    def write(**changes) -> None:
        look = {**tries.look(tries.runtimes.find("bare"), results), **changes}
        file.write_text(json.dumps({"bare": {"works": works, "reason": "no", "look": look}}))

    another = {"boot": "another", "settings": {}, "programs": {}}
    for works, changes, holds in (
        (True, {}, True),
        (False, {}, True),
        (True, {"system": another}, True),
        (False, {"system": another}, False),
        (True, {"place": ["/elsewhere", 0, 0]}, False),
    ):
        write(**changes)
        expected = {"hpcc/bare": "no"} if holds and not works else {}
        assert tries.known_failures(results, [], {"bare": "optional"}) == expected
        assert tries.forget_others(results, ["hpcc"]) == (not holds) and file.exists() == holds


def test_a_target_without_runs_that_count_is_no_success(liu2020, plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["liu2020"], {"liu2020": liu2020}, {"liu2020": plan}
    runs = [run for run in plan["order"] if group_of(liu2020)(plan["cells"][run[0]]) == GROUP]
    measure(tmp_path / "results/liu2020", plan, group_of(liu2020), ("failed", FAILED), ("valid", None))
    (failed, valid) = (f"results/liu2020/runs/{path}/{number}.json" for path, number in runs[:2])
    target_check.refuse_missing([valid, "all", "results/host.json", "results/liu2020/claims.json"], *asked)
    with pytest.raises(PlimsollError) as told:
        target_check.refuse_missing([failed, valid], *asked)
    assert str(told.value).startswith(f"{failed}: 0 of 1 runs asked for count; the others do not: failed: {FAILED} (1).")
    with pytest.raises(PlimsollError, match=r"fig11.pdf: \d+ of \d+ runs asked for count; .*not measured \(\d+\)"):
        target_check.refuse_missing(["results/liu2020/figures/fig11.pdf"], *asked)
    for target in ("measurements", "results/liu2020/report.html"):
        with pytest.raises(PlimsollError, match=rf"{target}: 1 of {len(plan['order'])} runs asked for count"):
            target_check.refuse_missing([target], *asked)
