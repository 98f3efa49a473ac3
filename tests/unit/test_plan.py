import json

import pytest
from plimsoll import plan, study
from plimsoll.errors import PlimsollError

from tests.conftest import host_of


@pytest.fixture
def make(liu2020, config):
    def make(host, profile="quick", unavailable=None, **changes):
        return plan.make(
            liu2020,
            study.profile(profile),
            host,
            {**config, "profile": profile, **changes},
            unavailable or {},
        )

    return make


def test_two_cores_give_every_runtime_and_scheme(make, small_host):
    made = make(small_host)
    measurable = [cell for cell in made["cells"].values() if cell["reason"] is None]
    assert {(c["runtime"], c["scheme"]) for c in measurable} == {
        *(
            (runtime, s)
            for runtime in ("docker", "singularity", "singularity-instance", "singularity-cgroup")
            for s in ("E1", "E2", "O1", "O2")
        ),
        *(("bare", s) for s in ("E1", "O1")),
        ("docker-ptrace", "E1"),
    }
    assert len(made["order"]) == len(measurable) * made["repetitions"]
    assert all(cell["hardware"] == "uma" for cell in measurable)


def test_cells_that_the_host_cannot_do_stay_with_the_reason(make, small_host):
    impossible = [cell for cell in make(small_host)["cells"].values() if cell["reason"]]
    assert {cell["hardware"] for cell in impossible} == {"numa"}
    assert {cell["scheme"] for cell in impossible} == {"E1", "E2", "E3", "E4", "E5", "O1", "O2", "O3", "O4"}
    assert all("memory node" in cell["reason"] for cell in impossible)


def test_the_paper_s_host_gets_16_ranks_in_both_settings(make, paper_host):
    cells = [cell for cell in make(paper_host, "paper")["cells"].values() if "granularity" in cell["experiments"]]
    assert {cell["ranks"] for cell in cells} == {16}
    # Per setting: 9 schemes of 4 runtimes and 2 baselines, 6 sections each.
    assert len(cells) == 2 * (9 * 4 + 2) * 6
    assert all(cell["reason"] is None for cell in cells)
    assert make(paper_host, "paper")["repetitions"] == 10


def test_cells_that_are_compared_have_one_problem_size(make, paper_host, small_host):
    for host in (paper_host, small_host):
        sizes = {}
        for cell in make(host)["cells"].values():
            if cell["reason"] is None:
                sizes.setdefault((cell["section"], cell["ranks"]), set()).add(json.dumps(cell["parameters"]))
        assert all(len(found) == 1 for found in sizes.values())
        orders = {}
        for cell in make(host)["cells"].values():
            if cell["reason"] is None:
                orders.setdefault(cell["section"], set()).add(cell["parameters"]["order"])
        assert all(len(found) == 1 for found in orders.values())


def test_over_subscribed_runs_yield_and_exact_ones_do_not(make, small_host):
    for cell in make(small_host)["cells"].values():
        assert cell["mpi_parameters"] == ({"mpi_yield_when_idle": 1} if cell["mode"] == "over" else {})


def test_cpusets_are_set_only_where_they_leave_something_out(make, small_host, paper_host):
    assert not any(cell["restricted"] for cell in make(small_host)["cells"].values() if cell["reason"] is None)
    assert all(cell["restricted"] for cell in make(paper_host)["cells"].values())


def test_an_unavailable_runtime_has_no_runs(make, small_host):
    made = make(small_host, unavailable={"docker": "docker is not installed"})
    reasons = {c["reason"] for c in made["cells"].values() if c["runtime"] == "docker" and c["hardware"] == "uma"}
    assert reasons == {"docker is not installed"}
    assert not any("/docker/" in cell for cell, _ in made["order"])


def test_a_runtime_that_is_off_is_not_planned(make, small_host, config):
    made = make(small_host, runtimes={**config["runtimes"], "docker": "off"})
    assert not any(cell["runtime"] == "docker" for cell in made["cells"].values())


def test_a_figure_s_runs_are_its_own(make, small_host):
    runs = plan.runs(make(small_host), {"randomaccess"}, {"granularity"})
    assert {cell.rsplit("/", 1)[1] for cell, _ in runs} == {"randomaccess"}
    assert len(runs) == (4 * 4 + 2) * 6


def test_fingerprints_follow_what_is_measured_not_how_often(make, small_host):
    quick, more = make(small_host), make(small_host, repetitions=9)
    other = make(small_host, "ci")
    for path, cell in quick["cells"].items():
        if cell["reason"] is None:
            assert more["cells"][path]["fingerprint"] == cell["fingerprint"]
            assert other["cells"][path]["fingerprint"] != cell["fingerprint"]


def test_another_host_s_measurements_do_not_count_for_this_one(make, small_host):
    here, there = make(small_host), make({**small_host, "cpu_model": "another processor"})
    for path, cell in here["cells"].items():
        if cell["reason"] is None:
            assert there["cells"][path]["fingerprint"] != cell["fingerprint"]


def test_a_profile_without_a_number_of_cores_that_divides_is_refused(liu2020, config):
    odd = {**liu2020, "factors": {**liu2020["factors"], "processes": 12}}
    with pytest.raises(PlimsollError, match="cannot be divided evenly"):
        plan.make(odd, study.profile("quick"), host_of(1, 16), config, {})
