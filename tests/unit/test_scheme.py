import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plimsoll import paths
from plimsoll.designs.splitting import affinity, scheme
from plimsoll.errors import PlimsollError, Unavailable
from plimsoll.host import cpulist

from tests.conftest import host_of


def table4(setting):
    return [row for row in scheme.schemes(setting) if not row.beyond and not row.alone and row.mode != scheme.HALVED]


@pytest.mark.parametrize(("sockets", "cores", "ranks"), [(1, 2, 2), (1, 6, 4), (1, 18, 16), (2, 2, 4), (2, 18, 16)])
def test_halved_runs_have_as_many_ranks_on_half_of_the_cores(sockets, cores, ranks):
    setting = scheme.setting(("uma", "numa")[sockets - 1], host_of(sockets, cores), 16)
    (halved,) = [row for row in scheme.schemes(setting) if row.mode == scheme.HALVED]
    assert (halved.containers, halved.ranks, halved.cores, halved.ratio) == (1, ranks, ranks // 2, 2)
    (place,) = affinity.places("pin", setting, halved)
    assert len(place.cpus) == ranks // 2 and place.cores == tuple(core for core in place.cpus for _ in range(2))


@pytest.mark.parametrize(("sockets", "cores"), [(1, 1), (2, 1)])
def test_no_run_is_halved_where_a_socket_would_have_no_core(sockets, cores):
    setting = scheme.setting(("uma", "numa")[sockets - 1], host_of(sockets, cores), 16)
    assert scheme.HALVED not in {row.mode for row in scheme.schemes(setting)}


def test_over_subscribed_schemes_go_on_to_one_rank_a_container(paper_host):
    for setting in (scheme.setting("uma", paper_host, 16), scheme.setting("uma", host_of(1, 2), 16)):
        beyond = [row for row in scheme.schemes(setting) if row.beyond]
        assert [row.mode for row in beyond] == ["over"]
        assert beyond[0].containers == beyond[0].ranks == 2 * beyond[0].cores


def test_the_paper_s_host_gives_the_paper_s_table_4(paper_host):
    printed = pd.read_csv(paths.PROJECT / "config/reference/liu2020_table4_schemes.csv")
    ours = []
    for hardware in ("numa", "uma"):
        setting = scheme.setting(hardware, paper_host, 16)
        for row in table4(setting):
            place = affinity.any_core(setting, row)[0]
            ours.append(
                (
                    row.name,
                    row.mode,
                    row.containers,
                    row.ranks_per_container,
                    row.ranks,
                    hardware,
                    cpulist.format(place.cpus),
                )
            )
    columns = ["scheme", "mode", "containers", "processes_per_container", "processes", "hardware", "cores"]
    assert sorted(ours) == sorted(printed[columns].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("cores", "exact", "over"),
    [
        (1, [(1, 1)], [(1, 2)]),
        (2, [(1, 2), (2, 2)], [(1, 4), (2, 4)]),
        (6, [(1, 4), (2, 4), (4, 4)], [(1, 8), (2, 8), (4, 8)]),
    ],
)
def test_a_smaller_host_is_scaled(cores, exact, over):
    rows = table4(scheme.setting("uma", host_of(1, cores), 16))
    assert [(r.containers, r.ranks) for r in rows if r.mode == "exact"] == exact
    assert [(r.containers, r.ranks) for r in rows if r.mode == "over"] == over
    assert {r.cores for r in rows} == {2 ** (cores.bit_length() - 1)}


@given(st.integers(1, 2), st.integers(1, 64))
def test_every_rank_has_a_container_and_containers_are_alike(sockets, cores):
    host = host_of(sockets, cores)
    for name in ("uma", "numa")[:sockets]:
        setting = scheme.setting(name, host, 16)
        for row in scheme.schemes(setting):
            assert row.containers * row.ranks_per_container == row.ranks
            places = affinity.places("any", setting, row)
            assert len(places) == row.containers
            assert {len(set(place.cpus)) for place in places} == {row.cores}


@given(st.integers(1, 2), st.integers(1, 64), st.sampled_from(["any", "pin", "cpu", "cpumem", "cpumempin"]))
def test_one_rank_alone_has_one_core_and_its_memory_at_every_level(sockets, cores, level):
    setting = scheme.setting(("uma", "numa")[sockets - 1], host_of(sockets, cores), 16)
    (alone,) = [row for row in scheme.schemes(setting) if row.alone]
    assert (alone.name, alone.mode, alone.containers, alone.ranks, alone.cores) == ("S1", "exact", 1, 1, 1)
    assert affinity.places(level, setting, alone) == [affinity.Place((0,), (0,))]


def test_smt_siblings_are_one_core():
    setting = scheme.setting("uma", host_of(1, 4, threads=2), 16)
    assert setting.cores == 4
    assert setting.sockets == ((0, 1, 2, 3),)


def test_numa_needs_two_nodes():
    with pytest.raises(Unavailable, match="needs 2 sockets with a memory node each, and this host has 1 socket"):
        scheme.setting("numa", host_of(1, 8), 16)
    with pytest.raises(Unavailable, match="2 socket\\(s\\) and 1 memory node"):
        scheme.setting("numa", host_of(2, 8, nodes=1), 16)


def test_ranks_that_do_not_divide_are_refused():
    with pytest.raises(PlimsollError, match="12 ranks cannot be divided evenly among the 8 containers"):
        scheme.schemes(scheme.setting("uma", host_of(1, 16), 12))
