"""How a time budget is spent: cheapest claims first, shared costs paid once, and never more than the budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plimsoll.features.time_budget.allocation import IN_PART, SURER, Costs, Need, allocate, in_order

# Two deployments with two sections each. A launch takes one second, and a section half a second.
CELLS = ("a/x", "a/y", "b/x", "b/y")
COSTS = Costs(dict.fromkeys(CELLS, 0.5), {"a": 1.0, "b": 1.0}, {cell: cell[0] for cell in CELLS}, {})
NOW = dict.fromkeys(CELLS, 2)


def test_a_launch_is_paid_once_for_all_its_sections():
    assert COSTS.seconds({"a/x": 3}) == pytest.approx(4.5)
    assert COSTS.seconds({"a/x": 3, "a/y": 2}) == pytest.approx(5.5)
    often = COSTS._replace(per_block={"a/x": 2, "a/y": 2})
    assert often.seconds({"a/x": 3, "a/y": 3}) == pytest.approx(12.0)


def test_what_is_cheapest_is_bought_first_and_nothing_that_is_too_dear():
    needs = [Need("dear", {"b/x": 100}), Need("cheap", {"a/x": 4}), Need("next", {"a/x": 4, "a/y": 4})]
    blocks, bought = allocate(NOW, needs, COSTS, budget=4.0)
    assert bought == ["cheap", "next"]
    assert blocks == {"a/x": 4, "a/y": 4, "b/x": 2, "b/y": 2}


def test_what_others_have_bought_costs_nothing_more():
    blocks, bought = allocate(NOW, [Need("one", {"a/x": 6}), Need("same", {"a/x": 5})], COSTS, budget=6.0)
    assert set(bought) == {"one", "same"} and blocks["a/x"] == 6


def test_what_is_bought_gets_what_makes_it_sure_of_what_is_left_and_no_more():
    needs = [Need("one", {"a/x": 6}), Need("never", {"b/x": 10_000})]
    for budget, number in ((6.0, 6), (11.9, 6), (12.0, 10), (900.0, 10)):
        assert allocate(NOW, needs, COSTS, budget) == ({**NOW, "a/x": number}, ["one"])


@pytest.mark.parametrize(("budget", "number"), [(12.0, 10), (11.9, 9), (7.5, 7), (4.5, 5), (4.4, 2)])
def test_time_that_is_left_is_for_half_of_the_next_one_or_more(budget, number):
    blocks, bought = allocate(NOW, [Need("one", {"a/x": 10})], COSTS, budget)
    assert blocks == {**NOW, "a/x": number}
    assert bought == (["one"] if number > 2 else [])


amounts = st.dictionaries(st.sampled_from(CELLS), st.integers(1, 60), min_size=1)


@given(st.lists(amounts, max_size=8), st.floats(0, 500))
def test_no_more_is_spent_than_there_is_and_nothing_is_taken_away(wanted, budget):
    needs = [Need(str(number), blocks) for number, blocks in enumerate(wanted)]
    blocks, bought = allocate(NOW, needs, COSTS, budget)
    assert COSTS.seconds(blocks) <= COSTS.seconds(NOW) + budget + 1e-9
    assert all(blocks[cell] >= NOW[cell] for cell in CELLS)
    for need in needs:
        enough = all(
            blocks[cell] >= IN_PART * max(need.blocks.values()) or blocks[cell] >= number
            for cell, number in need.blocks.items()
        )
        assert enough or need.finding not in bought
    most = {cell: max([0, *(need.blocks.get(cell, 0) for need in needs)]) for cell in CELLS}
    assert all(blocks[cell] <= max(NOW[cell], math.ceil(SURER * most[cell])) for cell in CELLS)


def test_ratios_are_bought_in_their_order_each_a_little_before_any_gets_more():
    """The expensive ratio comes first in the order. Then all get more blocks evenly, up to what each needs."""
    needs = [Need("dear", {"a/x": 9, "a/y": 9}), Need("cheap", {"b/x": 4})]
    assert in_order({}, needs, COSTS, 8.0, 4) == ({"a/x": 4, "a/y": 4}, ["dear"])
    assert in_order({}, needs, COSTS, 14.0, 4) == ({"a/x": 4, "a/y": 4, "b/x": 4}, ["dear", "cheap"])
    assert in_order({}, needs, COSTS, 18.0, 4)[0] == {"a/x": 6, "a/y": 6, "b/x": 4}
    assert in_order({}, needs, COSTS, 500.0, 4)[0] == {"a/x": 9, "a/y": 9, "b/x": 4}


def test_time_that_does_not_suffice_for_a_ratio_is_for_the_next():
    needs = [Need("dear", {"a/x": 4, "a/y": 4}), Need("cheap", {"b/x": 400})]
    # Here it ends: the cheap ratio does not take blocks that the expensive one may get when there is more time.
    assert in_order({}, needs, COSTS, 7.0, 4) == ({"b/x": 4}, ["cheap"])
    assert in_order({"b/x": 4}, needs, COSTS, 5.0, 4) == ({"b/x": 4}, [])
    assert in_order({}, [], COSTS, 5.0, 4) == ({}, [])


@given(st.lists(amounts, max_size=6), st.floats(0, 500))
def test_in_order_no_more_is_spent_than_there_is_and_nothing_is_taken_away(wanted, budget):
    needs = [Need(str(number), blocks) for number, blocks in enumerate(wanted)]
    blocks, served = in_order(NOW, needs, COSTS, budget, 4)
    assert COSTS.seconds(blocks) <= COSTS.seconds(NOW) + budget + 1e-9
    assert all(blocks[cell] >= NOW[cell] for cell in CELLS)
    for need in needs:
        assert need.finding not in served or all(blocks[cell] >= min(4, number) for cell, number in need.blocks.items())
