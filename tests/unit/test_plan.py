import json

import pandas as pd
import pytest
from plimsoll import designs, paths
from plimsoll.analysis import cell_paths
from plimsoll.config import studies, yaml_files
from plimsoll.designs.splitting import affinity
from plimsoll.designs.splitting.factors import SplittingCell, SplittingPlan
from plimsoll.errors import PlimsollError
from plimsoll.host import inventory, topology
from plimsoll.interchange import Cache, Host, MemoryNode, Processor, Topology
from plimsoll.planning import availability, planner

from tests.conftest import host_of, unlike

OURS = studies.load("plimsoll2026", designs.known())


@pytest.fixture
def make(liu2020, config):
    def make(host, profile="quick", unavailable=None, **changes):
        return planner.make(
            liu2020,
            studies.profile(profile),
            host,
            {**config, "profile": profile, **changes},
            unavailable or {},
        )

    return make


def test_plans_and_cells_have_the_keys_that_are_written_down(make, small_host, paper_host):
    for host, profile in ((small_host, "quick"), (paper_host, "paper"), (host_of(1, 1), "quick")):
        made = make(host, profile)
        assert unlike(made, SplittingPlan) == set()
        assert {key for cell in made["cells"].values() for key in unlike(cell, SplittingCell)} == set()


@pytest.mark.parametrize("name", studies.names(studies.STUDIES))
def test_a_cell_s_path_is_that_of_its_levels(config, small_host, name):
    made = planner.make(studies.load(name, designs.known()), studies.profile("quick"), small_host, config, {})
    cells = list(made["cells"].values())
    assert cells and [cell_paths.of_row(cell, made["factors"]) for cell in cells] == list(made["cells"])
    assert list(cell_paths.of_table(pd.DataFrame(cells), made["factors"])) == list(made["cells"])


def test_hosts_have_the_keys_that_are_written_down():
    described = topology.from_description(yaml_files.load(paths.PROJECT / "config/hosts/xeon-e5-2697v4.yaml", "host"))
    assert unlike(described, Topology) == unlike(inventory.here(), Topology) == unlike(inventory.discover(), Host) == set()
    assert all(unlike(processor, Processor) == set() for processor in (*described["cpus"], *topology.discover()["cpus"]))
    assert all(unlike(node, MemoryNode) == set() for node in (*described["nodes"], *topology.discover()["nodes"]))
    assert all(unlike(cache, Cache) == set() for cache in (*described["caches"], *topology.discover()["caches"]))


def test_who_may_make_no_cpuset_is_told_which_levels_take_one(make, small_host):
    found = make({**small_host, "cpusets": False})["cells"].values()
    refused = [cell for cell in found if "take cpusets, which this user may not make" in (cell["reason"] or "")]
    assert {cell["runtime"] for cell in refused} == {"bare", "singularity", "singularity-instance", "singularity-cgroup"}
    apart = {cell["runtime"] for cell in refused if len({place["cpus"] for place in cell["places"]}) > 1}
    assert apart == {"bare", "singularity", "singularity-instance", "singularity-cgroup"}
    # Engines confine their containers themselves. A binding keeps programs that share processors on them, without a cpuset.
    usual = make(small_host)["cells"]
    more = {cell["path"] for cell in found if cell["reason"]} - {path for path, cell in usual.items() if cell["reason"]}
    assert more == {cell["path"] for cell in refused}


def test_two_cores_give_every_runtime_and_scheme(make, small_host):
    made = make(small_host)
    measurable = [cell for cell in made["cells"].values() if cell["reason"] is None]
    granularity = [cell for cell in measurable if {"granularity", "seccomp"} & set(cell["experiments"])]
    assert {(c["runtime"], c["scheme"]) for c in granularity} == {
        *(
            (runtime, s)
            for runtime in ("docker", "singularity", "singularity-instance", "singularity-cgroup")
            for s in ("E1", "E2", "O1", "O2")
        ),
        *(("bare", s) for s in ("E1", "O1")),
        *(("docker-ptrace", s) for s in ("E1", "E2", "O1", "O2")),
    }
    # Runs of bare metal grow with the square root of the number of deployments that are compared with it.
    often = {cell["launch"]: cell["per_block"] for cell in measurable if "per_block" in cell}
    assert often == {
        "uma/exact/E1/bare/any/default/standard/plain": 5,
        "uma/over/O1/bare/any/enabled/standard/plain": 7,
    }
    assert len(made["order"]) == sum(cell.get("per_block", 1) for cell in measurable) * made["repetitions"]
    assert all(cell["hardware"] == "uma" for cell in measurable)


def test_cells_that_the_host_cannot_do_stay_with_the_reason(make, small_host):
    impossible = [cell for cell in make(small_host)["cells"].values() if cell["reason"]]
    unseen = [cell for cell in impossible if "does not count" in cell["reason"]]
    assert {cell["hardware"] for cell in impossible if cell not in unseen} == {"numa"}
    schemes = {*(f"E{n}" for n in range(1, 6)), *(f"O{n}" for n in range(1, 6)), "H1", "S1"}
    assert {cell["scheme"] for cell in impossible} == schemes
    others = [cell["reason"] for cell in impossible if cell not in unseen]
    assert all("memory node" in reason or "is not defined here" in reason for reason in others)


def test_cells_whose_events_the_host_does_not_count_are_not_measured_and_the_others_are(make, small_host, paper_host, liu2020):
    made = make(small_host)
    cells = [c for c in made["cells"].values() if c["instrument"] == "events" and c["hardware"] == "uma"]
    measured = {c["section"] for c in cells if c["reason"] is None}
    assert measured == {"dgemm", "fft"}
    assert all(c["events"] == {"context_switches": "context-switches", "cpu_migrations": "cpu-migrations"} for c in cells)
    # Figures 27 and 28 share cells of G-FFT with figure 39, where both have them. No other figure needs one rank alone.
    assert all(c["reason"] for c in cells if c["scheme"] == "S1" or c["section"] in ("stream", "beff"))
    assert availability.figure(made, liu2020, "fig14") is None
    assert set(availability.metrics(made, liu2020, liu2020["figures"]["fig14"]["metrics"])) == {
        *("dgemm_l3_misses", "dgemm_local_loads", "dgemm_remote_loads"),
    }
    there = make(paper_host, "paper")
    assert all(c["reason"] is None or "not defined" in c["reason"] for c in there["cells"].values())
    assert [name for name in liu2020["figures"] if availability.figure(there, liu2020, name)] == []


def test_a_host_without_perf_counts_nothing_and_measures_the_rest(make, small_host):
    made = make({**small_host, "events": {}})
    reasons = {c["reason"] for c in made["cells"].values() if c["instrument"] == "events" and c["hardware"] == "uma"}
    assert reasons == {"perf is not installed"}
    assert all(c["reason"] is None for c in made["cells"].values() if c["instrument"] != "events" and c["hardware"] == "uma")


def test_runs_under_an_instrument_are_cells_of_their_own(make, small_host):
    made = make(small_host)
    for cell in made["cells"].values():
        assert cell["path"].split("/")[-2] == cell["instrument"]
        assert (cell["instrument"] == "plain") == (
            not any(name.startswith(("mpi-", "events-", "memory-")) for name in cell["experiments"])
        )


def test_one_rank_alone_has_one_rank_s_part_of_the_problem(make, paper_host):
    cells = make(paper_host, "paper")["cells"]
    alone = cells["numa/exact/S1/bare/any/default/standard/events/fft"]["parameters"]
    together = cells["numa/exact/E1/bare/any/default/standard/events/fft"]["parameters"]
    assert alone["order"] ** 2 * 16 == pytest.approx(together["order"] ** 2, rel=0.001)
    assert (alone["rows"], alone["columns"]) == (1, 1)


def test_the_paper_s_host_gets_16_ranks_in_both_settings(make, paper_host):
    cells = [cell for cell in make(paper_host, "paper")["cells"].values() if "granularity" in cell["experiments"]]
    assert {cell["ranks"] for cell in cells} == {16}
    # Per setting: 9 schemes of 4 runtimes and 2 baselines, each with ANY and PIN, and 6 sections.
    assert len(cells) == 2 * (9 * 4 + 2) * 2 * 6
    assert all(cell["reason"] is None for cell in cells)
    assert make(paper_host, "paper")["repetitions"] == 10


def test_cells_that_are_compared_have_one_problem_size(make, paper_host, small_host):
    for host in (paper_host, small_host):
        sizes = {}
        for cell in make(host)["cells"].values():
            if cell["reason"] is None and cell["scheme"] != "S1":
                sizes.setdefault((cell["sizes"], cell["section"], cell["ranks"]), set()).add(json.dumps(cell["parameters"]))
        assert all(len(found) == 1 for found in sizes.values())
        orders = {}
        for cell in make(host)["cells"].values():
            if cell["reason"] is None and cell["scheme"] != "S1":
                orders.setdefault((cell["sizes"], cell["section"]), set()).add(cell["parameters"]["order"])
        assert all(len(found) == 1 for found in orders.values())


def test_over_subscribed_runs_yield_and_exact_ones_do_not(make, small_host):
    for cell in make(small_host)["cells"].values():
        if "yielding" not in cell["experiments"]:
            assert cell["mpi_parameters"] == ({"mpi_yield_when_idle": 1} if cell["mode"] != "exact" else {})
            assert not cell["keep_timeouts"]


def test_figure_29_leaves_yielding_to_open_mpi_switches_it_off_and_on(make, small_host):
    cells = [c for c in make(small_host)["cells"].values() if c["experiments"] == ["yielding"] and c["reason"] is None]
    values = {"default": {}, "disabled": {"mpi_yield_when_idle": 0}, "enabled": {"mpi_yield_when_idle": 1}}
    assert all(cell["mpi_parameters"] == values[cell["yield"]] and cell["keep_timeouts"] for cell in cells)
    assert {(c["runtime"], c["scheme"]) for c in cells} == {
        ("bare", "O1"),
        *((runtime, s) for runtime in ("docker", "singularity", "singularity-instance") for s in ("O1", "O2")),
    }
    assert {cell["section"] for cell in cells} == {"dgemm", "fft", "ptrans", "randomaccess"}


def test_cpusets_are_set_only_where_they_leave_something_out(make, small_host, paper_host):
    for cell in make(small_host)["cells"].values():
        if cell["reason"] is None:
            apart = cell["affinity"] in ("cpumem", "cpumempin") and cell["containers"] > 1
            # Memory alone is bound even if that leaves nothing out. Half of the cores leaves the other half out.
            assert cell["restricted"] == (apart or cell["affinity"] == "mem" or cell["mode"] == "halved")
    assert all(cell["restricted"] for cell in make(paper_host)["cells"].values() if cell["reason"] is None)


def test_an_unavailable_runtime_has_no_runs(make, small_host):
    made = make(small_host, unavailable={"docker": "docker is not installed"})
    reasons = {c["reason"] for c in made["cells"].values() if c["runtime"] == "docker" and c["hardware"] == "uma"}
    assert reasons == {"docker is not installed"}
    assert not any("/docker/" in cell for cell, _ in made["order"])


def test_a_runtime_that_is_off_is_not_planned(make, small_host, config):
    made = make(small_host, runtimes={**config["runtimes"], "docker": "off"})
    assert not any(cell["runtime"] == "docker" for cell in made["cells"].values())


def test_a_figure_s_runs_are_its_own(make, small_host, liu2020):
    made = make(small_host)
    runs = availability.figure_runs(made, liu2020, "fig09")
    assert {cell.rsplit("/", 1)[1] for cell, _ in runs} == {"randomaccess"}
    # Each affinity has 18 cells. Without an affinity, the two cells of bare metal run 5 and 7 times in a block.
    assert len(runs) == ((4 * 4 + 2) * 2 + 4 + 6) * made["repetitions"]
    assert {cell.split("/")[4] for cell, _ in availability.figure_runs(made, liu2020, "fig40")} == {"cpumem"}
    assert availability.figure_runs(made, liu2020, "fig04") == []


def test_a_comparison_of_settings_needs_both(make, small_host, paper_host, liu2020):
    here = make(small_host)
    assert availability.figure_runs(here, liu2020, "fig16") == []
    assert "the numa setting needs 2 sockets" in availability.figure(here, liu2020, "fig16").reason
    there = make(paper_host)
    assert availability.figure(there, liu2020, "fig16") is None
    assert {cell.split("/")[0] for cell, _ in availability.figure_runs(there, liu2020, "fig16")} == {"numa", "uma"}


def test_every_cell_has_at_least_five_runs_in_the_quick_profile(make, small_host):
    assert make(small_host)["repetitions"] >= 5


def test_the_paper_s_host_from_its_file_gives_the_paper_s_cells(make, paper_host):
    file = yaml_files.load(paths.PROJECT / "config/hosts/xeon-e5-2697v4.yaml", "host")
    made = make(topology.from_description(file), "paper")
    assert {path: cell.get("places") for path, cell in made["cells"].items()} == {
        path: cell.get("places") for path, cell in make(paper_host, "paper")["cells"].items()
    }
    affine = [cell for cell in made["cells"].values() if "affinity" in cell["experiments"]]
    # E2-E5 and O2-O4 run in three runtimes and six sections. CPU is not defined for E5 and O4 (figure 40 defines it for
    # O4 and DGEMM).
    counts = {
        (hardware, level): sum(1 for c in affine if (c["hardware"], c["affinity"], c["reason"]) == (hardware, level, None))
        for hardware in ("numa", "uma")
        for level in ("any", "cpu", "cpumem", "cpumempin")
    }
    assert counts == {
        **{(hardware, level): 7 * 3 * 6 for hardware in ("numa", "uma") for level in ("any", "cpumem", "cpumempin")},
        ("numa", "cpu"): 5 * 3 * 6,
        ("uma", "cpu"): 0,
    }
    containers = [c for c in made["cells"].values() if "cgroup-scheduling" in c["experiments"] and c["reason"] is None]
    assert {c["containers"] for c in containers} == {1, 2, 4, 8, 16}
    shared = made["cells"]["numa/over/O5/docker/cpumem/enabled/standard/plain/dgemm"]
    assert [place["cpus"] for place in shared["places"]][:3] == ["0", "0", "1"]


def test_a_place_outside_the_machine_is_refused(make, paper_host, monkeypatch):
    outside = affinity.Level(lambda setting, row, share: [affinity.Place((99,), (0,))] * row.containers)
    monkeypatch.setitem(affinity.LEVELS, "cpumem", outside)
    with pytest.raises(PlimsollError, match="would use the processors 99, and this host has 0-35"):
        make(paper_host)


@pytest.mark.parametrize(
    ("cores", "problem"),
    [((0,), "gives the 16 ranks of container 1 1 cores"), ((17,) * 16, "to the cores 17, which the container may not use")],
)
def test_a_binding_that_open_mpi_would_refuse_is_refused_before_anything_is_measured(
    make, paper_host, monkeypatch, cores, problem
):
    broken = affinity.Level(lambda setting, row, share: [affinity.Place((0, 1), (0,), cores)] * row.containers)
    monkeypatch.setitem(affinity.LEVELS, "pin", broken)
    with pytest.raises(PlimsollError, match=problem):
        make(paper_host)


def test_the_summary_says_what_there_is_what_cannot_be_and_how_long_it_takes(make, small_host):
    made = make(small_host)
    text = planner.summary(made)
    assert f"{len(made['order'])} runs" in text and "needs 2 sockets" in text
    told = [line.split() for line in text.splitlines() if line.startswith("  granularity ")]
    cells = [cell for cell in made["cells"].values() if "granularity" in cell["experiments"] and not cell["reason"]]
    minutes = round(sum(cell["expected_seconds"] * cell["repetitions"] for cell in cells) / 60)
    assert told == [["granularity", "uma", str(len(cells)), str(minutes), "minutes"]]


def test_a_cell_that_has_no_part_in_the_given_time_is_not_counted(make, small_host):
    made = make(small_host)
    cells = [cell for cell in made["cells"].values() if not cell["reason"]]
    for cell in cells[1:]:
        cell["repetitions"] = 0
    assert "all, cells of several experiments once: 1 cell, about 1 minute" in planner.summary(made)
    cells[0]["repetitions"] = 0
    assert "all, cells of several experiments once: 0 cells, about no time" in planner.summary(made)


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
    odd = studies.Study({**liu2020, "factors": {**liu2020["factors"], "processes": 12}}, liu2020.design)
    with pytest.raises(PlimsollError, match="cannot be divided evenly"):
        planner.make(odd, studies.profile("quick"), host_of(1, 16), config, {})


def test_a_study_gets_the_runtimes_that_it_asks_for_and_no_other_study_does(small_host, config, make):
    assert {config["runtimes"][name] for name in OURS["asks"]} == {"off"}
    made = planner.make(OURS, studies.profile("quick"), small_host, {**config, "profile": "quick"}, {})
    assert set(OURS["asks"]) < {cell["runtime"] for cell in made["cells"].values() if cell["reason"] is None}
    assert not set(OURS["asks"]) & {cell["runtime"] for cell in make(small_host)["cells"].values()}
    unavailable = planner.make(
        OURS, studies.profile("quick"), small_host, {**config, "profile": "quick"}, {"docker-shared": "x"}
    )
    assert {cell["reason"] for cell in unavailable["cells"].values() if cell["runtime"] == "docker-shared"} == {"x"}


def test_what_the_configuration_requires_stays_required_of_a_study_that_asks(config):
    runtimes = {**config["runtimes"], "docker-shared": "required"}
    assert studies.wishes(OURS, runtimes)["docker-shared"] == "required"
    assert studies.wishes(OURS, runtimes)["singularity-user"] == "optional"
    assert studies.wishes_of_all([OURS, {}], runtimes) == studies.wishes(OURS, runtimes)
    assert studies.wishes_of_all([{}], runtimes) == runtimes


def test_the_ladder_has_one_rank_in_each_container_and_bare_metal_beside(small_host, paper_host, config):
    for host in (small_host, paper_host):
        made = planner.make(OURS, studies.profile("quick"), host, {**config, "profile": "quick"}, {})
        shown = availability.shown_cells(made, OURS, "ladder")
        assert {cell["runtime"] for cell in shown} == set(OURS["figures"]["ladder"]["steps"])
        assert {cell["ranks_per_container"] for cell in shown if cell["runtime"] != "bare"} == {1}
        assert {cell["containers"] for cell in shown if cell["runtime"] == "bare"} == {1}
