"""The mapping equations, tested with every scenario that the paper spells out and by their properties."""

import os
import subprocess

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plimsoll.designs.splitting import affinity, scheme
from plimsoll.designs.splitting.attempts import misplaced
from plimsoll.errors import Unavailable
from plimsoll.host import cpulist
from plimsoll.mpi import launch

from tests.conftest import DATA, host_of

PRINTED = pd.read_csv(DATA / "liu2020_affinity_maps.csv", dtype=str, keep_default_na=False)
CASES = sorted(set(PRINTED[["hardware", "scheme", "affinity"]].itertuples(index=False, name=None)))


def find(hardware, name, host):
    setting = scheme.setting(hardware, host, 16)
    return setting, next(row for row in scheme.schemes(setting) if row.name == name)


@pytest.mark.parametrize(("hardware", "name", "level"), CASES)
def test_the_paper_s_scenarios_on_two_sockets_of_18_cores(paper_host, hardware, name, level):
    wanted = PRINTED[(PRINTED[["hardware", "scheme", "affinity"]] == [hardware, name, level]).all(axis=1)]
    setting, row = find(hardware, name, paper_host)
    if set(wanted["defined"]) == {"false"}:
        if refused := affinity.refusal(level, hardware):
            assert "is defined over 2 sockets" in refused
        else:
            with pytest.raises(Unavailable):
                affinity.places(level, setting, row)
        return
    places = affinity.places(level, setting, row)
    if level == "cpumempin":
        ours = [
            (str(i + 1), str(j + 1), str(core), cpulist.format(place.nodes))
            for i, place in enumerate(places)
            for j, core in enumerate(place.cores)
        ]
        assert ours == list(wanted[["container", "process", "cpus", "mems"]].itertuples(index=False, name=None))
    else:
        ours = [(str(i + 1), cpulist.format(place.cpus), cpulist.format(place.nodes)) for i, place in enumerate(places)]
        assert ours == list(wanted[["container", "cpus", "mems"]].itertuples(index=False, name=None))


def test_the_table_has_every_scheme_and_level():
    assert len(CASES) == 2 * 9 * 4


@given(st.sampled_from(["uma", "numa"]), st.integers(1, 40), st.sampled_from(sorted(affinity.LEVELS)), st.booleans())
def test_every_rank_is_mapped_and_containers_share_no_core_unless_the_design_says_so(hardware, cores, level, share):
    host = host_of(affinity.SOCKETS[hardware], cores)
    setting = scheme.setting(hardware, host, 16)
    node_of = {cpu["cpu"]: cpu["node"] for cpu in host["cpus"]}
    if affinity.refusal(level, hardware):
        return
    for row in scheme.schemes(setting):
        assert row.containers * row.ranks_per_container == row.ranks
        if row.alone:
            continue
        try:
            places = affinity.places(level, setting, row, share)
        except Unavailable:
            continue
        assert len(places) == row.containers
        allowed = [set(place.cpus) for place in places]
        assert set().union(*allowed) == set(affinity.any_core(setting, row)[0].cpus)
        assert all({node_of[core] for core in place.cpus} <= set(place.nodes) for place in places)
        if level in ("cpumem", "cpumempin"):
            assert all({node_of[core] for core in place.cpus} == set(place.nodes) for place in places)
        if affinity.LEVELS[level].by_container and not row.beyond and not share:
            assert sum(map(len, allowed)) == len(set().union(*allowed))
        if level in ("pin", "cpumempin"):
            bound = [core for place in places for core in place.cores]
            assert len(bound) == row.ranks
            assert all(set(place.cores) <= set(place.cpus) for place in places)
            if not row.beyond:
                assert {bound.count(core) for core in bound} == {row.ratio}


def test_more_containers_than_cores_share_cores_only_where_that_is_asked_for():
    setting, row = find("uma", "O3", host_of(1, 2))
    with pytest.raises(Unavailable, match="1/2 core"):
        affinity.places("cpumem", setting, row)
    assert [place.cpus for place in affinity.places("cpumem", setting, row, share=True)] == [(0,), (0,), (1,), (1,)]


def test_sockets_whose_cores_alternate_are_followed_by_their_lists():
    host = host_of(2, 4)
    for cpu in host["cpus"]:
        cpu["socket"] = cpu["node"] = cpu["cpu"] % 2
    setting, row = find("numa", "E2", host)
    assert [place.cpus for place in affinity.places("cpumem", setting, row)] == [(0, 2, 4, 6), (1, 3, 5, 7)]


def cell(places, ranks_per_container, cpus="0-3", nodes="0-1"):
    return {"places": places, "ranks_per_container": ranks_per_container, "everything": {"cpus": cpus, "nodes": nodes}}


def rank(cpus, mems):
    return {"cpus_allowed": cpus, "mems_allowed": mems}


FREE = [{"cpus": "0-1", "nodes": "0", "cores": [], "slots": []}, {"cpus": "2-3", "nodes": "1", "cores": [], "slots": []}]
PINNED = [
    {"cpus": "0-1", "nodes": "0", "cores": [0, 1], "slots": [0, 1]},
    {"cpus": "2-3", "nodes": "1", "cores": [2, 3], "slots": [2, 3]},
]


@pytest.mark.parametrize(
    ("places", "ranks", "problem"),
    [
        (FREE, [rank("0-1", "0")] * 2 + [rank("2-3", "1")] * 2, None),
        (FREE, [rank("0-1", "0")] * 3 + [rank("2-3", "1")], "rank 2 was allowed the processors 0-1, where the design has 2-3"),
        (
            FREE,
            [rank("0-1", "0")] * 2 + [rank("2-3", "0-1")] * 2,
            "rank 2 was allowed the memory nodes 0-1, where the design has 1",
        ),
        (PINNED, [rank("0", "0"), rank("1", "0"), rank("2", "1"), rank("3", "1")], None),
        (PINNED, [rank("0", "0"), rank("0-1", "0"), rank("2", "1"), rank("3", "1")], "rank 1 was allowed the processors 0-1"),
        # The kernel also lists processors and nodes that a machine could have.
        (FREE, [rank("0-1", "0")] * 2 + [rank("2-127", "1-63")] * 2, None),
        (FREE, [rank("", "0")] * 4, "rank 0 was allowed the processors none"),
    ],
)
def test_ranks_that_are_not_where_the_design_says_are_seen(places, ranks, problem):
    found = misplaced(cell(places, 2), ranks)
    assert found == problem if problem is None else problem in found


def test_a_rankfile_gives_each_rank_its_host_and_core():
    text = launch.rankfile(["c0", "c1"], PINNED)
    assert text == "rank 0=c0 slot=0\nrank 1=c0 slot=1\nrank 2=c1 slot=2\nrank 3=c1 slot=3\n"


def test_the_host_file_tells_the_truth_about_slots(tmp_path):
    launch.placement(tmp_path, ["c0", "c1"], FREE, 8)
    assert (tmp_path / "hosts").read_text() == "c0 slots=2\nc1 slots=2\n"


def test_binding_is_always_explicit(tmp_path):
    free = launch.placement(tmp_path, ["c0", "c1"], FREE, 4)
    assert free[-2:] == ["--bind-to", "none"] and "--oversubscribe" not in free
    assert "--oversubscribe" in launch.placement(tmp_path, ["c0", "c1"], FREE, 8)
    together = [{**place, "cpus": "0-3"} for place in PINNED]
    assert launch.placement(tmp_path, ["c0", "c1"], together, 4)[-2:] == ["--rankfile", "rankfile"]
    assert (tmp_path / "rankfile").read_text().startswith("rank 0=c0 slot=")


def test_ranks_of_containers_with_different_cores_bind_themselves(tmp_path):
    """Open MPI would bind the ranks by the cores of the container that answered first."""
    assert launch.placement(tmp_path, ["c0", "c1"], PINNED, 4)[-2:] == ["--bind-to", "none"]
    program = launch.self_bound(tmp_path, PINNED, ["grep", "Cpus_allowed_list", "/proc/self/status"])
    assert (tmp_path / "cores").read_text() == "0\n1\n2\n3\n"
    core = str(min(os.sched_getaffinity(0)))
    (tmp_path / "cores").write_text(f"4095\n{core}\n")
    environment = {"PATH": os.environ["PATH"], "OMPI_COMM_WORLD_RANK": "1"}
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == core
