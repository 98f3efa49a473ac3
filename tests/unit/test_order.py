from hypothesis import given
from hypothesis import strategies as st
from plimsoll.measuring import record
from plimsoll.planning import planner

cells = st.lists(st.text("abc/", min_size=1), min_size=1, max_size=20, unique=True)


@given(cells, st.integers(1, 5), st.integers(0, 10))
def test_every_block_holds_every_cell_once(names, repetitions, seed):
    runs = planner.blocks(dict.fromkeys(names, repetitions), seed)
    for block in range(repetitions):
        part = runs[block * len(names) : (block + 1) * len(names)]
        assert sorted(cell for cell, _ in part) == sorted(names)
        assert {repetition for _, repetition in part} == {block + 1}


@given(cells, st.integers(0, 10), st.randoms())
def test_the_order_depends_on_cells_and_seed_only(names, seed, random):
    shuffled = list(names)
    random.shuffle(shuffled)
    assert planner.blocks(dict.fromkeys(names, 3), seed) == planner.blocks(dict.fromkeys(shuffled, 3), seed)


def test_more_repetitions_leave_the_first_blocks_as_they_were():
    names = [str(n) for n in range(20)]
    assert planner.blocks(dict.fromkeys(names, 5), 1)[:40] == planner.blocks(dict.fromkeys(names, 2), 1)


def test_a_cell_with_more_repetitions_leaves_the_others_where_they_were():
    names = [str(n) for n in range(20)]
    runs = planner.blocks({**dict.fromkeys(names, 2), "7": 4, "9": 3}, 1)
    assert runs[:40] == planner.blocks(dict.fromkeys(names, 2), 1)
    whole = planner.blocks(dict.fromkeys(names, 4), 1)[40:]
    assert runs[40:] == [run for run in whole if run in (("7", 3), ("7", 4), ("9", 3))]


def test_blocks_and_seeds_differ():
    names = [str(n) for n in range(20)]
    whole = planner.blocks(dict.fromkeys(names, 2), 1)
    first, second = whole[:20], whole[20:]
    assert [c for c, _ in first] != [c for c, _ in second]
    assert planner.blocks(dict.fromkeys(names, 1), 1) != planner.blocks(dict.fromkeys(names, 1), 2)


def test_cells_of_a_launch_follow_each_other_in_an_order_that_changes():
    launches = {f"{launch}/{part}": launch for launch in "abcdef" for part in ("x", "y", "z")}
    runs = planner.blocks(dict.fromkeys(launches, 4), 1, launches)
    triples = [runs[place : place + 3] for place in range(0, len(runs), 3)]
    assert all(len({(launches[cell], repetition) for cell, repetition in triple}) == 1 for triple in triples)
    assert len({tuple(cell[-1] for cell, _ in triple) for triple in triples}) > 3


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 10))
def test_what_runs_more_often_does_so_in_every_block(blocks, each, seed):
    runs = planner.blocks({"often": blocks * each, "once": blocks, "too": blocks}, seed, each={"often": each})
    size = each + 2
    for block in range(blocks):
        part = runs[block * size : (block + 1) * size]
        assert sorted(part) == sorted(
            [("often", block * each + number) for number in range(1, each + 1)] + [("once", block + 1), ("too", block + 1)]
        )
    cell = {"per_block": each}
    assert [record.block_of(cell, number) for number in (1, each, each + 1)] == [1, 1, 2]
