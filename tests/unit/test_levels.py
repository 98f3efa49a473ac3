"""Variance by level, of random data with known components and in equations worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import levels
from plimsoll.analysis.levels import Component
from plimsoll.config import studies

from tests.bench import levels as bench

# Standard deviations at each level.
TRUE = {"value": 0.02, "launch": 0.05, "block": 0.1, "session": 0.08}


def drawn(sizes: dict[str, int], shared: float = 0.0, seed: int = 3, cells: int = 300, lost: float = 0.0) -> pd.DataFrame:
    """Return observations with a known variance at each level. All cells have the share `shared` of the blocks'
    variance in common. The share `lost` of the values is missing."""
    random = np.random.default_rng(seed)
    shape = tuple(sizes[level] for level in ("session", "block", "launch", "value"))
    of_all = random.normal(0, np.sqrt(shared) * TRUE["block"], (1, *shape[:2], 1, 1))
    own = random.normal(0, np.sqrt(1 - shared) * TRUE["block"], (cells, *shape[:2], 1, 1))
    log = random.normal(0, 1, (cells, 1, 1, 1, 1)) + of_all + own
    log = log + random.normal(0, TRUE["session"], (cells, shape[0], 1, 1, 1))
    log = log + random.normal(0, TRUE["launch"], (cells, *shape[:3], 1)) + random.normal(0, TRUE["value"], (cells, *shape))
    places = np.indices(log.shape).reshape(5, -1)
    table = pd.DataFrame(dict(zip(("cell", "session", "block", "launch", "value"), places, strict=True)))
    table["repetition"] = table["block"] * shape[2] + table["launch"]
    table = table.assign(value=np.exp(log.ravel()), metric="rate", label="rate", unit="1/s", censored=False, runtime="bare")
    return table[random.random(len(table)) >= lost].reset_index(drop=True)


def found(table: pd.DataFrame) -> dict[str, dict]:
    return {row["level"]: row for row in levels.describe(table, ["cell"], ["runtime"])}


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_known_components_are_found(lost):
    """Known components are also found if the numbers of values differ."""
    rows = found(drawn({"session": 3, "block": 4, "launch": 3, "value": 4}, lost=lost))
    assert list(rows) == list(levels.LEVELS)
    for level, row in rows.items():
        assert np.log1p(row["deviation"]) == pytest.approx(TRUE[level], rel=0.06), level
        assert row["share"] == pytest.approx(TRUE[level] ** 2 / sum(one**2 for one in TRUE.values()), abs=0.04)
        assert level == "value" or row["p"] < 1e-6


def test_equation_of_a_balanced_design():
    """T_2^2 = S_2^2 - S_1^2 / r_1, with r_1 = 3 values of each of two launches."""
    logs = np.array([[0.0, 0.1, 0.2], [0.6, 0.9, 0.6]])
    table = pd.DataFrame({"log": logs.ravel(), "cell": 1, "session": 1, "block": 1, "repetition": [1, 1, 1, 2, 2, 2]})
    value, launch = levels.components(table.assign(value_number=[0, 1, 2] * 2))
    within, between = logs.var(axis=1, ddof=1).mean(), logs.mean(axis=1).var(ddof=1)
    assert (value.variance, value.degrees) == (pytest.approx(within), 4)
    assert (launch.variance, launch.degrees) == (pytest.approx(between - within / 3), 1)


def test_what_all_cells_share_cancels():
    rows = found(drawn({"session": 1, "block": 40, "launch": 1, "value": 3}, shared=0.6, cells=60))
    assert list(rows) == ["value", "block"]
    assert rows["block"]["shared"] == pytest.approx(0.5, abs=0.15)  # of the sum of blocks and launches
    alone = found(drawn({"session": 1, "block": 40, "launch": 1, "value": 3}, cells=60))
    assert alone["block"]["shared"] < 0.05 and np.isnan(alone["value"]["shared"])


def test_a_level_without_repetitions_is_part_of_the_next():
    (row,) = found(drawn({"session": 1, "block": 30, "launch": 1, "value": 1})).values()
    assert row["level"] == "block" and row["share"] == 1
    assert np.log1p(row["deviation"]) == pytest.approx(
        np.sqrt(sum(TRUE[one] ** 2 for one in ("value", "launch", "block"))), rel=0.03
    )


def test_what_is_not_there_is_not_found():
    table = drawn({"session": 1, "block": 6, "launch": 3, "value": 1})
    random = np.random.default_rng(4)
    nothing = table.assign(value=np.exp(random.normal(0, 0.1, len(table))))
    rows = found(nothing)
    assert rows["block"]["deviation"] < 0.03 and rows["block"]["p"] > 0.001
    assert list(levels.describe(nothing.assign(unit="count"), ["cell"], ["runtime"])) == []
    assert list(levels.describe(nothing.assign(censored=True), ["cell"], ["runtime"])) == []


def test_iterations_of_the_quick_profile_follow_from_the_reference(jha2021):
    """The iterations follow from the variance and the cost of the pairs in the reference. The cost is flat near the best
    number, so machines that differ by one iteration share a profile."""
    found, known = bench.enough(list(bench.iterations(jha2021))), studies.profile("quick")["interference"]["enough"]
    assert known.keys() == found.keys() and all(abs(known[name] - found[name]) <= 1 for name in known)


def test_the_optimum_of_repetitions():
    """Kalibera and Jones 2013: r_1 = ceil(sqrt(c_2 / c_1 * T_1^2 / T_2^2))."""
    value, block = Component("value", 0.09, 100, np.nan, np.nan), Component("block", 0.04, 20, 0.0, 0.0)
    assert bench.optimum(value, block, 1.0, 16.0) == 6
    assert bench.optimum(value, block, 1.0, 4.0) == 3
    assert bench.optimum(value._replace(variance=-0.01), block, 1.0, 4.0) == 1
    # What all cells share cancels in a comparison.
    assert bench.optimum(value, block._replace(shared=0.03), 1.0, 4.0) == 6
    assert bench.optimum(value, block._replace(variance=-0.01), 1.0, 4.0) == bench.UNLIMITED
