"""A run that does more than its cores can is found, and does not count."""

import pandas as pd
import pytest
from plimsoll.analysis import capacity, collect
from plimsoll.measuring import status

STUDY = {
    "capacity": [
        {
            "resource": "cores",
            "metrics": ["rate"],
            "each": "ranks",
            "per": "cores",
            "alone": {"mode": ["exact"], "where": ["pin"]},
        },
        {"resource": "processors", "metrics": ["seconds"], "per": "processors_used", "alone": {"mode": ["exact"]}},
    ]
}
CELLS = {
    "exact/pin": {"ranks": 2, "cores": 2},
    "over/any": {"ranks": 4, "cores": 2},
}
PLAN = {"factors": ["mode", "where"], "cells": CELLS}
OF_METRIC = {
    "rate": {"label": "a rate", "unit": "1/s", "better": "higher", "cpu_seconds": 1.0, "wall_seconds": 1.0},
    "seconds": {"label": "a time", "unit": "s", "better": "lower", "cpu_seconds": 2.0, "wall_seconds": 1.0},
}


def observations(*rows: tuple[str, str, int, float]) -> pd.DataFrame:
    """Of a cell's path, a metric, a repetition and a value."""
    return pd.DataFrame(
        [
            {**dict(zip(PLAN["factors"], path.split("/"), strict=True)), "metric": metric, "repetition": repetition}
            | {"value": value, **OF_METRIC[metric]}
            for path, metric, repetition, value in rows
        ]
    )


ALONE = (("exact/pin", "rate", 1, 50.0), ("exact/pin", "rate", 2, 48.0))


@pytest.mark.parametrize(("value", "above"), [(24.9, 0), (27.4, 0), (27.6, 1), (37.6, 1)])
def test_four_ranks_on_two_cores_do_no_more_than_two(value, above):
    checked = capacity.check(STUDY, PLAN, observations(*ALONE, ("over/any", "rate", 1, value)))
    assert len(checked.above) == above
    (row,) = checked.table.to_dict("records")
    assert (row["most"], row["runs"], row["observations"]) == (50, 2, 3)
    assert row["highest"] == pytest.approx(max(1, value * 4 / 2 / 50))


def test_of_a_time_the_reciprocal_is_held_against_the_processors_in_use():
    rows = (("exact/pin", "seconds", 1, 10.0), ("over/any", "seconds", 1, 9.2), ("over/any", "seconds", 2, 9.0))
    checked = capacity.check(STUDY, PLAN, observations(*rows))
    assert checked.table["most"].tolist() == [pytest.approx(0.05)] and checked.table["unit"].tolist() == ["1/s"]
    assert checked.above["repetition"].tolist() == [2]


def test_nothing_is_held_against_cells_that_have_no_runs():
    checked = capacity.check(STUDY, PLAN, observations(("over/any", "rate", 1, 1e9)))
    assert checked.above.empty and checked.table["runs"].tolist() == [0] and checked.table["most"].isna().all()


def test_a_study_without_limits_has_none():
    assert capacity.check({}, PLAN, observations(*ALONE)).table.empty


def test_a_run_that_exceeds_them_is_invalid_and_has_no_observations():
    observed = observations(*ALONE, ("over/any", "rate", 1, 37.6), ("over/any", "rate", 2, 24.0))
    runs = observed[["mode", "where", "repetition"]].assign(status=status.VALID, reason=None)
    kept, told = collect.possible(observed, runs, STUDY, PLAN)
    assert kept["value"].tolist() == [50, 48, 24]
    assert told["status"].tolist() == [status.VALID, status.VALID, status.INVALID, status.VALID]
    assert told["reason"].tolist() == [None, None, "its a rate is 1.50 times what the cores can do", None]
