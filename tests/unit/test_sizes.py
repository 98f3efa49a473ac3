"""Problem sizes are decided once: what is measured stays measured on a host whose memory changes."""

import copy
import json

import pytest
from plimsoll import designs
from plimsoll.config import studies
from plimsoll.errors import DamagedFile
from plimsoll.host import sizing, topology
from plimsoll.interchange import Sizes
from plimsoll.measuring import record
from plimsoll.planning import planner, sizes, study_plans

from tests.conftest import built, host_of, unlike

GIB = 2**30
NAMES = studies.names(studies.STUDIES)
# STREAM's arrays of four times these caches take 3 GiB.
CACHES = {"l3": 256 * 2**20}


def host(gib: float, nodes: int = 1) -> dict:
    """Return a host of two cores with this memory (GiB)."""
    return {**host_of(1, 2, memory=round(gib * GIB), **CACHES), "events": {}}


@pytest.fixture
def plan_of(config, tmp_path):
    """Return a function that plans a study on a host, with what was saved for the study. It then saves what the sizes
    follow from."""

    def plan_of(on, name="liu2020", profile="quick", write=True):
        study = built(name)
        made = study_plans.plans({name: study}, {**config, "profile": profile}, on, {}, tmp_path)[name]
        if write:
            planner.write(made, tmp_path / name / "plan.json")
            plan_of.said = sizes.note(tmp_path / name, made, on)
        return made

    return plan_of


def fingerprints(plan) -> dict[str, str]:
    return {path: cell.get("fingerprint") for path, cell in plan["cells"].items()}


def largest(plan) -> int:
    return max(cell["parameters"]["order"] for cell in plan["cells"].values() if cell["reason"] is None)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_does_not_change_because_memory_does(plan_of, name):
    first = plan_of(host(23.49), name)
    for gib in (23.51, 47, 23.49, 22):
        # With more memory the plan may have more measurable cells, but the others do not change.
        assert fingerprints(plan_of(host(gib), name)) == fingerprints(first)
    assert record.fingerprint(plan_of(host(23.51), name)) == record.fingerprint(first)


def test_sizes_are_kept_while_they_fit_and_follow_the_memory_when_they_do_not(plan_of):
    first = plan_of(host(4))
    assert largest(first) == int((0.3 * 4 * GIB / 8) ** 0.5)
    assert plan_of.said == [] and unlike(first["sizes"], Sizes) == set()
    # The sizes still fit: 30 % of 4 GiB is 80 % of 1.5 GiB.
    assert plan_of(host(1.5))["cells"] == first["cells"] and plan_of.said == []
    small = plan_of(host(1))
    assert largest(small) == int((0.3 * GIB / 8) ** 0.5)
    assert plan_of.said == [
        "liu2020: problem sizes are decided again, as they no longer fit: the smallest memory node has 1.0 GiB, and had "
        "4.0 GiB when they were decided. What was measured with other sizes is put aside."
    ]
    # The new sizes are then kept.
    assert plan_of(host(4))["cells"] == small["cells"]


def test_what_could_be_larger_now_is_said_with_the_command(plan_of, tmp_path):
    plan_of(host(1))
    plan_of(host(1.05))
    assert plan_of.said == []
    plan_of(host(4))
    (said,) = plan_of.said
    assert "stream has N = 6345 and should have 20066 (arrays of 4 times the last-level caches)" in said
    assert "a section may use 30 % of the smallest memory node, which had 1.0 GiB" in said
    assert f"It has 4.0 GiB now, and the sizes are kept: `rm {tmp_path}/liu2020/sizes.json` has them decided again" in said
    (tmp_path / "liu2020/sizes.json").unlink()
    assert largest(plan_of(host(4))) == int((0.3 * 4 * GIB / 8) ** 0.5)


def test_a_changed_profile_takes_effect(plan_of, monkeypatch):
    first = plan_of(host(4))
    changed = copy.deepcopy(studies.profile("quick"))
    changed["hpcc"]["memory_share"] = 0.2
    monkeypatch.setattr(studies, "profile", lambda name: changed)
    assert largest(plan_of(host(8))) == int((0.2 * 4 * GIB / 8) ** 0.5) < largest(first)


def _without_sizes(tmp_path, name, memory: int) -> None:
    """Rewrite a plan as an earlier version wrote it: the memory is part of the host, and what sizes follow from is
    missing."""
    path = tmp_path / name / "plan.json"
    plan = json.loads(path.read_text())
    design = designs.find(plan["design"])
    del plan["sizes"]
    for cell in plan["cells"].values():
        cell["host"] = [*cell["host"], memory]
        if "fingerprint" in cell:
            cell["fingerprint"] = record.identify(design.cells.measured(cell))
    path.write_text(json.dumps(plan))
    (tmp_path / name / sizes.FILE).unlink()


@pytest.mark.parametrize("name", NAMES)
def test_what_an_earlier_version_has_measured_is_not_measured_again(plan_of, tmp_path, name):
    plan_of(host(4), name)
    _without_sizes(tmp_path, name, 4)
    earlier = fingerprints(json.loads((tmp_path / name / "plan.json").read_text()))
    for gib in (4, 9, 3.4, 3.6):
        assert fingerprints(plan_of(host(gib), name)) == earlier
    # The host is also the same after a user has deleted the file.
    (tmp_path / name / sizes.FILE).unlink()
    assert plan_of(host(4), name)["sizes"]["host"][-1] == 4


def test_sizes_of_an_earlier_version_that_did_not_want_for_memory_are_no_limit(plan_of, tmp_path):
    plan_of(host(64), profile="ci")
    _without_sizes(tmp_path, "liu2020", 64)
    assert plan_of(host(64))["sizes"]["node_bytes"] == 64 * GIB


def test_a_host_is_the_same_with_more_memory_and_with_memory_nodes_without_processors():
    one = topology.identity(host(23.49))
    assert one == topology.identity(host(23.51)) == topology.identity(host(47))
    more = host(23.49)
    more["nodes"].append({"node": 1, "cpus": [], "distances": [], "memory_bytes": GIB})
    assert topology.identity(more) == one != topology.identity(host_of(2, 1))
    # Earlier versions saved the number of all memory nodes, and the memory.
    for noted in (one, [*one[:-1], 2, 24]):
        assert topology.is_identity(noted, more)
    for noted in ([*one[:-1], 2], [*one[:-1], 3, 24], ["another", *one[1:]], []):
        assert not topology.is_identity(noted, more)


def test_another_host_decides_for_itself(plan_of):
    plan_of(host(4))
    assert plan_of({**host(8), "cpu_model": "another"})["sizes"]["node_bytes"] == 8 * GIB


def test_the_memory_of_other_machines_of_a_cluster_is_noted_too(plan_of, tmp_path):
    def of(gib):
        others = [{"name": f"n{number}", "kernel": "6.1", "memory_bytes": gib * GIB} for number in range(4)]
        return {**host(64), "cluster_hosts": others}

    first = plan_of(of(16), "li2018-hadoop")
    assert fingerprints(plan_of(of(17), "li2018-hadoop")) == fingerprints(first)
    assert record.fingerprint(plan_of(of(17), "li2018-hadoop")) == record.fingerprint(first)
    small = plan_of(of(1), "li2018-hadoop")
    assert all("GiB of the memory of n0" in cell["reason"] for cell in small["cells"].values())


def test_a_session_has_the_sizes_of_the_one_before_it(plan_of, tmp_path, monkeypatch):
    first = plan_of(host(4))
    aside = tmp_path / "sessions/liu2020/1"
    aside.parent.mkdir(parents=True)
    (tmp_path / "liu2020").rename(aside)
    known = {"parts": sizes.system.now([]), "identities": {}, "seen": {"boot": "", "settings": {}, "programs": {}}}
    (aside / "system.json").write_text(json.dumps(known))
    assert plan_of(host(8))["cells"] == first["cells"]
    # On another system its own memory decides.
    (tmp_path / "liu2020/sizes.json").unlink()
    (tmp_path / "liu2020/plan.json").unlink()
    known["parts"]["this host"]["kernel"] = "another"
    (aside / "system.json").write_text(json.dumps(known))
    assert plan_of(host(8))["sizes"] == sizing.present(host(8))


def test_a_damaged_note_says_what_to_do(plan_of, tmp_path):
    plan_of(host(4))
    (tmp_path / "liu2020/sizes.json").write_text('{"host": [')
    with pytest.raises(DamagedFile, match=r"sizes\.json is damaged .*: delete it, and problem sizes are decided again"):
        plan_of(host(4), write=False)
