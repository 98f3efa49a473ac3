"""Drift, outliers and two modes are found where they were put in, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import drift
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT

KEYS = [*OF_DEPLOYMENT, "section"]


def observed(cells=8, runs=12, drift=0.0, outlier=1.0, two=0.0, seed=2):
    """Return a table of cells with different levels, measured block by block, one run every ten seconds."""
    random = np.random.default_rng(seed)
    rows = []
    for block in range(runs):
        for cell in range(cells):
            started = 10.0 * (block * cells + cell)
            value = (cell + 1) * np.exp(random.normal(0, 0.01) + drift * started / 3600)
            value *= 1 + two * (random.random() < 0.5)
            rows.append(
                {
                    **dict.fromkeys(OF_DEPLOYMENT, "x"),
                    **{"scheme": f"E{cell}", "section": "s", "metric": "m", "label": "M", "censored": False},
                    **{"value": value, "started": started, "repetition": block + 1},
                }
            )
    rows[17]["value"] *= outlier
    return pd.DataFrame(rows)


def test_a_steady_machine_has_nothing_to_show():
    (row,) = drift.describe(observed(), KEYS)
    assert row["drift_low"] < 0 < row["drift_high"] and row["drift_p_holm"] > 0.05
    assert row["outlier_share"] < 0.05
    assert row["cells_looked_at"] == 8 and row["bimodal"] <= 2


def test_drift_is_found_with_its_size():
    (row,) = drift.describe(observed(drift=0.3), KEYS)
    assert row["drift"] == pytest.approx(np.expm1(0.3), abs=0.05) and row["drift_p_holm"] < 1e-6


def test_an_outlier_is_counted_and_stays():
    table = observed(outlier=1.5)
    before = len(table)
    (row,) = drift.describe(table, KEYS)
    assert row["outliers"] == drift.describe(observed(), KEYS)[0]["outliers"] + 1
    assert row["runs"] == before


def test_two_modes_are_seen():
    (row,) = drift.describe(observed(runs=30, two=0.3), KEYS)
    assert row["bimodal"] >= 6


def test_few_runs_say_nothing_about_modes():
    (row,) = drift.describe(observed(runs=5), KEYS)
    assert row["cells_looked_at"] == 0


def test_censored_runs_are_left_out():
    table = observed()
    table.loc[3, ["value", "censored"]] = (1e6, True)
    (row,) = drift.describe(table, KEYS)
    assert row["runs"] == len(table) - 1
