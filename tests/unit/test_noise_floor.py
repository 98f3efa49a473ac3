"""What a machine can show, with noise whose size and correlation are known."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import noise_floor

KEYS = ["cell"]


def observed(spread=0.1, stays=0.0, runs=4000, gap=2.0, unit="GB/s"):
    """Return runs of many cells in random order, `gap` seconds apart. A share `stays` of a run's noise remains in the
    next run."""
    random = np.random.default_rng(3)
    noise = [random.normal()]
    for _ in range(runs - 1):
        noise.append(stays * noise[-1] + np.sqrt(1 - stays**2) * random.normal())
    cells = random.permutation(np.arange(runs) % 40)
    return pd.DataFrame(
        {
            "metric": "m",
            "label": "M",
            "unit": unit,
            "cell": cells.astype(str),
            "value": np.exp(spread * np.array(noise)) * (cells + 1),
            "started": gap * np.arange(runs),
            "censored": False,
        }
    )


def test_the_spread_is_that_within_cells_and_says_what_blocks_find():
    (row,) = noise_floor.describe(observed(), KEYS, 0.05)
    assert row["spread"] == pytest.approx(np.expm1(0.1), rel=0.05)
    # Two cells and 5 pairs: the spread of the difference is 14 %. A difference of 1.66 times that is found in 80 % of cases.
    assert row["shows"][5] == pytest.approx(np.expm1(0.1 * np.sqrt(2) * 1.66), rel=0.1)
    assert row["shows"][5] > row["shows"][10] > row["shows"][30] > 0.05


def test_independent_noise_does_not_last():
    (row,) = noise_floor.describe(observed(gap=0.5), KEYS, 0.05)
    assert set(row["correlations"]) == set(noise_floor.APART)
    assert all(abs(value) < 0.05 for value in row["correlations"].values())
    assert noise_floor.lasts(row["correlations"]) == "less than 1 s"


def test_noise_that_lasts_is_seen_with_its_time():
    # The correlation is 0.97 from run to run: 0.97 after 2 s, about 0.7 after 20 s, and none after 300 s.
    (row,) = noise_floor.describe(observed(stays=0.97), KEYS, 0.05)
    assert row["correlations"][3.0] > 0.9 and 0.5 < row["correlations"][30.0] < row["correlations"][10.0]
    assert noise_floor.lasts(row["correlations"]) == "more than 300 s"
    (row,) = noise_floor.describe(observed(stays=0.6), KEYS, 0.05)
    assert row["correlations"][3.0] > 0.5 and noise_floor.lasts(row["correlations"]) == "less than 30 s"


def test_counts_and_single_runs_say_nothing():
    assert noise_floor.describe(observed(unit="count"), KEYS, 0.05) == []
    assert noise_floor.describe(observed(runs=40), KEYS, 0.05) == []
    assert noise_floor.lasts({5.0: float("nan")}) == ""
