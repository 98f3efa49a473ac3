"""A run that does more than its cores can do is found, and does not count."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import capacity, collect
from plimsoll.measuring import status

STUDY = {
    "metrics": {"rate": {"limited_by": "cores"}, "seconds": {"limited_by": "processors"}, "other": {}},
    "capacity": {
        "cores": {"each": "ranks", "per": "cores", "alone": {"mode": ["exact"], "where": ["pin"]}},
        "processors": {"per": "processors_used", "alone": {"mode": ["exact"]}},
    },
}
CELLS = {
    "exact/pin": {"mode": "exact", "where": "pin", "reason": None, "ranks": 2, "cores": 2},
    "over/any": {"mode": "over", "where": "any", "reason": None, "ranks": 4, "cores": 2},
}
PLAN = {"factors": ["mode", "where"], "cells": CELLS}
OF_METRIC = {
    "rate": {"label": "a rate", "unit": "1/s", "better": "higher", "cpu_seconds": 1.0, "wall_seconds": 1.0},
    "seconds": {"label": "a time", "unit": "s", "better": "lower", "cpu_seconds": 2.0, "wall_seconds": 1.0},
}


def observations(*rows: tuple[str, str, int, float]) -> pd.DataFrame:
    """Return a table of observations from (path of the cell, metric, repetition, value)."""
    return pd.DataFrame(
        [
            {**dict(zip(PLAN["factors"], path.split("/"), strict=True)), "metric": metric, "repetition": repetition}
            | {"value": value, **OF_METRIC[metric]}
            for path, metric, repetition, value in rows
        ]
    )


# They vary by one percent.
ALONE = tuple(("exact/pin", "rate", number, 50.0 * (1 - number % 3 / 100)) for number in range(1, 13))


@pytest.mark.parametrize(("value", "above"), [(24.9, 0), (27.4, 0), (27.6, 1), (37.6, 1)])
def test_four_ranks_on_two_cores_do_no_more_than_two(value, above):
    checked = capacity.check(STUDY, PLAN, observations(*ALONE, ("over/any", "rate", 1, value)))
    assert len(checked.above) == above
    (row,) = checked.table.to_dict("records")
    assert (row["best"], row["runs"], row["observations"]) == (50, 12, 13)
    assert row["limit"] == pytest.approx(55)
    assert row["highest"] == pytest.approx(max(1, value * 4 / 2 / 50))


def test_of_a_time_the_reciprocal_is_held_against_the_processors_in_use():
    alone = [("exact/pin", "seconds", number, 10.0) for number in range(3, 8)]
    rows = (("over/any", "seconds", 1, 9.2), ("over/any", "seconds", 2, 9.0))
    checked = capacity.check(STUDY, PLAN, observations(*alone, *rows))
    assert checked.table["best"].tolist() == [pytest.approx(0.05)] and checked.table["unit"].tolist() == ["1/s"]
    assert checked.above["repetition"].tolist() == [2]


@pytest.mark.parametrize("alone", [0, 1, capacity.FEWEST - 1])
def test_nothing_is_held_against_a_few_runs_alone(alone):
    checked = capacity.check(STUDY, PLAN, observations(*ALONE[:alone], ("over/any", "rate", 1, 1e9)))
    assert checked.above.empty and checked.table["runs"].tolist() == [alone] and checked.table["limit"].isna().all()


def drawn(random, symmetric: bool, number: int) -> np.ndarray:
    """Return rates that vary by a tenth: equally to both sides, or with slow runs below an upper bound."""
    noise = random.standard_normal(number) if symmetric else -random.exponential(size=number)
    return 20 * np.exp(0.1 * noise)


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_runs_alone_differ_by_is_allowed_to_the_others(symmetric):
    """The best of this many observations exceeds the limit in at most a twentieth of the draws."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(400):
        values = drawn(random, symmetric, 60)
        paths = ["exact/pin"] * 12 + ["over/any"] * 48
        rows = [
            (path, "rate", number, value / (1 if path == "exact/pin" else 2))
            for number, (path, value) in enumerate(zip(paths, values, strict=True))
        ]
        found.append(len(capacity.check(STUDY, PLAN, observations(*rows)).above) > 0)
    assert np.mean(found) < 0.07


@pytest.mark.parametrize("slow", [0.08, 0.15])
def test_slow_runs_alone_hide_no_rate_that_is_impossible(slow):
    """Ranks that do not overlap claimed 1.44 times what their cores can do. The runs that had the cores to themselves
    were sometimes slow."""
    random = np.random.default_rng(2)
    found = []
    for _ in range(200):
        alone = 20 * np.exp(-slow * random.exponential(size=30))
        rows = [("exact/pin", "rate", number, value) for number, value in enumerate(alone)]
        checked = capacity.check(STUDY, PLAN, observations(*rows, ("over/any", "rate", 1, 1.44 * alone.max() / 2)))
        found.append(len(checked.above) == 1)
    assert np.mean(found) > 0.9


def test_a_part_of_a_study_is_held_against_what_it_has_all_cells_alone_of():
    """A figure that lacks some of these cells would have another limit, and would count other runs than the verdicts."""
    plan = {**PLAN, "cells": {**CELLS, "exact/any": {**CELLS["exact/pin"], "where": "any"}}}
    either = {
        **STUDY,
        "capacity": {**STUDY["capacity"], "cores": {"each": "ranks", "per": "cores", "alone": {"mode": ["exact"]}}},
    }
    observed = observations(*ALONE, ("over/any", "rate", 1, 37.6))
    for cells, above in ((None, 1), (set(plan["cells"]), 1), ({"exact/pin", "over/any"}, 0)):
        assert len(capacity.check(either, plan, observed, cells).above) == above


def test_a_study_without_limits_has_none():
    assert capacity.check({}, PLAN, observations(*ALONE)).table.empty


def test_a_run_that_exceeds_them_is_invalid_and_has_no_observations():
    observed = observations(*ALONE, ("over/any", "rate", 1, 37.6), ("over/any", "rate", 2, 24.0))
    runs = observed[["mode", "where", "repetition"]].assign(status=status.VALID, reason=None)
    kept, told = collect.possible(observed, runs, STUDY, PLAN)
    assert kept["value"].tolist() == [*(value for *_, value in ALONE), 24]
    assert told["status"].tolist() == [*[status.VALID] * 12, status.INVALID, status.VALID]
    said = "its a rate is 1.50 times the best of runs that have the cores for themselves"
    assert told["reason"].tolist() == [*[None] * 12, said, None]
    assert (capacity.exceeding(told, "a rate"), capacity.exceeding(told, "rate")) == (1, 0)


def test_a_figure_has_no_run_that_the_list_of_all_runs_says_is_impossible(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    observed = observations(*ALONE, ("over/any", "rate", 1, 37.6), ("over/any", "rate", 2, 24.0))
    runs = observed[["mode", "where", "repetition"]].assign(status=status.VALID, reason=None)
    collect.possible(observed, runs, STUDY, PLAN)[1].to_csv(path, index=False)
    some = (table[table["mode"] == "over"].reset_index(drop=True) for table in (observed, runs))
    monkeypatch.setattr(collect, "_read", lambda *asked, read=tuple(some): read)
    nothing = tmp_path / "nothing.csv"
    runs.assign(status=status.VALID).to_csv(nothing, index=False)
    for judged, values in ((path, [24]), (nothing, [37.6, 24]), (None, [37.6, 24])):
        kept, told = collect.collect_some(tmp_path, PLAN, STUDY, [("over/any", 1), ("over/any", 2)], judged)
        assert kept["value"].tolist() == values and (told["status"] == status.VALID).sum() == len(values)
    # A figure without a run.
    without = pd.DataFrame(columns=runs.columns, dtype=float)
    monkeypatch.setattr(collect, "_read", lambda *asked: (observed.head(0), without))
    for judged in (path, nothing):
        assert collect.collect_some(tmp_path, PLAN, STUDY, [], judged)[1].empty
