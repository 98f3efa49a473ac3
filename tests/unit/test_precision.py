"""More is measured because of the width of intervals, and for no other reason."""

import json

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import blocks
from plimsoll.errors import PlimsollError
from plimsoll.planning import precision, repetitions

from tests.conftest import REFERENCE


def found(*rows, n=1_000_000):
    """Return widths that are known to the last digit: there are so many differences that no caution is needed."""
    return pd.DataFrame(rows, columns=["what", "metric", "a", "b", "width"]).assign(
        n=n, degrees=np.asarray(n) - 1, reference_a=None, reference_b=None
    )


def test_what_is_narrow_enough_asks_for_nothing():
    now = {"x": 5, "y": 5}
    assert precision.next_repetitions(now, found(("c", "m", "x", "y", 0.0999)), 0.1, 30) == now


def test_few_differences_are_not_trusted_to_know_their_spread():
    now = {"x": 5, "y": 5}
    assert precision.next_repetitions(now, found(("c", "m", "x", "y", 0.099), n=5), 0.1, 30) == {"x": 10, "y": 10}


def test_both_cells_of_a_wide_comparison_get_more_and_no_other():
    now = {"x": 5, "y": 5, "z": 5}
    assert precision.next_repetitions(now, found(("c", "m", "x", "y", 0.11)), 0.1, 30) == {"x": 7, "y": 7, "z": 5}


def test_what_a_wide_loss_is_relative_to_gets_more_too():
    wide = precision.widths(compared(scale="difference", reference_a="r", reference_b="s"), pd.DataFrame())
    assert precision.next_repetitions(dict.fromkeys("xyrsz", 5), wide, 0.1, 30) == {**dict.fromkeys("xyrs", 10), "z": 5}


def test_growth_is_bounded_and_so_is_the_number():
    now = {"x": 5, "y": 5}
    wide = found(("c", "m", "x", "y", 9.0))
    assert precision.next_repetitions(now, wide, 0.1, 30) == {"x": 10, "y": 10}
    assert precision.next_repetitions({"x": 20, "y": 20}, wide, 0.1, 30) == {"x": 30, "y": 30}
    assert precision.next_repetitions({"x": 30, "y": 30}, wide, 0.1, 30) == {"x": 30, "y": 30}


def test_a_maximum_below_what_there_is_takes_nothing_away():
    assert precision.next_repetitions({"x": 10, "y": 10}, found(("c", "m", "x", "y", 9.0)), 0.1, 5) == {"x": 10, "y": 10}


def compared(**changed):
    row = {
        **{"claim": "c", "metric": "m", "cell_a": "x", "cell_b": "y", "n": 5, "degrees": 4, "test": "paired t within blocks"},
        **{"effect": 79.0, "low": 75.0, "high": 83.0, "scale": "ratio", "reference_a": None, "reference_b": None},
    }
    return pd.DataFrame([{**row, **changed}])


@pytest.mark.parametrize(
    ("row", "width"),
    [
        ({}, 8 / 80),
        ({"effect": 0.0, "low": -0.05, "high": 0.05}, 0.1),
        ({"effect": -0.5, "low": -0.55, "high": -0.45}, 0.2),
        # Losses are fractions of their own reference already.
        ({"effect": -0.5, "low": -0.55, "high": -0.45, "scale": "difference"}, 0.1),
        ({"test": "none: too few blocks", "effect": np.nan, "low": np.nan, "high": np.nan, "n": 1}, np.inf),
    ],
)
def test_a_width_is_relative_to_its_ratio(row, width):
    rows = precision.widths(compared(**row), pd.DataFrame())
    assert rows["width"].to_list() == [pytest.approx(width)]


def test_counts_and_ranks_have_no_width():
    assert precision.widths(compared(test="Mann-Whitney"), pd.DataFrame()).empty


def test_tests_that_compare_no_cells_leave_the_claims_comparisons():
    """Tests of a study of interference have ratios with intervals, but compare views and not two cells."""
    tests = pd.read_csv(REFERENCE / "jha2021/tables/tests.csv")
    assert tests["ratio_low"].notna().any()
    assert precision.widths(compared(), tests)["what"].to_list() == ["c"]


def test_too_few_blocks_ask_for_as_many_again():
    unknown = found(("c", "m", "x", "y", np.inf), n=1)
    assert precision.next_repetitions({"x": 1, "y": 1}, unknown, 0.1, 30) == {"x": 2, "y": 2}
    assert precision.next_repetitions({"x": 2, "y": 2}, unknown, 0.1, 3) == {"x": 3, "y": 3}


def test_cells_that_are_not_in_the_plan_are_passed_over():
    assert precision.next_repetitions({"x": 5}, found(("c", "m", "x", "gone", 9.0)), 0.1, 30) == {"x": 10}


def test_repetitions_of_another_profile_are_not_asked_for(tmp_path):
    (tmp_path / repetitions.FILE).write_text(json.dumps({"profile": "quick", "cells": {"x": 8}}))
    assert repetitions.read_request(tmp_path, "quick") == repetitions.RequestedRepetitions({"x": 8})
    assert repetitions.read_request(tmp_path, "paper") == repetitions.NOTHING
    assert repetitions.read_request(tmp_path / "nowhere", "quick") == repetitions.NOTHING


def test_a_damaged_file_is_refused_by_name(tmp_path):
    (tmp_path / repetitions.FILE).write_text('{"profile": "quick"')
    with pytest.raises(PlimsollError, match="repetitions.json is damaged"):
        repetitions.read_request(tmp_path, "quick")


def test_stopping_by_width_does_not_make_differences_out_of_none():
    """Two thousand experiments have no effect. Each one continues until its interval is narrow enough."""
    random = np.random.default_rng(11)
    differences = {f"cell {number}": random.normal(0, 0.05, 5) for number in range(2000)}
    going_on = list(differences)
    while going_on:
        now = {cell: len(differences[cell]) for cell in going_on}
        intervals = {cell: blocks.t_interval(differences[cell]) for cell in going_on}
        widths = [("c", "m", cell, cell, high - low) for cell, (_, low, high) in intervals.items()]
        wanted = precision.next_repetitions(now, found(*widths, n=list(now.values())), 0.05, 60)
        going_on = [cell for cell in going_on if wanted[cell] > now[cell]]
        for cell in going_on:
            differences[cell] = np.append(differences[cell], random.normal(0, 0.05, wanted[cell] - now[cell]))
    assert max(len(values) for values in differences.values()) > 5
    significant = sum(blocks.p_difference(values) < 0.05 for values in differences.values())
    assert significant / 2000 < 0.075


@pytest.mark.parametrize("text", ["abc", "", "0", "-1", "nan", "inf", "10%"])
def test_a_width_that_is_none_is_refused_in_one_sentence(text):
    with pytest.raises(PlimsollError, match="such as 0.1 for 10 %"):
        precision.width_of(text)


@pytest.mark.parametrize("text", ["x", "", "0", "-1", "2.5"])
def test_a_maximum_that_is_none_is_refused_in_one_sentence(text):
    with pytest.raises(PlimsollError, match="is not a whole number of repetitions"):
        precision.maximum_of(text)


def test_a_width_and_a_maximum_are_read():
    assert precision.width_of("0.1") == 0.1 and precision.width_of("1e-6") == 1e-6 and precision.maximum_of("30") == 30
