"""More repetitions until intervals are narrow enough, as with `plimsoll precise`."""

import json

import pandas as pd
import pytest
from plimsoll.planning import precision

from tests.project import BARE_AND_DOCKER, RUNS

SETTINGS = ("profile=ci", "repetitions=3", BARE_AND_DOCKER)


@pytest.mark.long
def test_repetitions_are_added_where_intervals_are_wide_and_up_to_the_maximum(fresh):
    fresh.keep_three_cells()
    done = fresh.precise(1000, 4, *SETTINGS)
    assert done.returncode == 0, done.stderr
    assert "intervals are narrow enough (1000)" in done.stdout and "more runs" not in done.stdout
    first = {path: (fresh.folder / path).read_text() for path in fresh.files(RUNS)}
    assert {path.split("/")[-1] for path in first} == {"1.json", "2.json", "3.json"}

    # No interval of three runs is as narrow as this. So every compared cell gets the maximum of repetitions, and no more.
    done = fresh.precise(0.000001, 4, *SETTINGS)
    assert done.returncode == 0, done.stderr
    assert "wider than 1e-06" in done.stdout
    table = pd.read_csv(fresh.folder / "results/liu2020/precision.csv")
    assert len(table) > 0 and not table["reached"].any() and set(table["repetitions"]) == {4}
    compared = {cell for column in precision.CELLS for cell in table[column].dropna()}
    asked = json.loads((fresh.folder / "results/liu2020/repetitions.json").read_text())
    assert {cell for cell, number in asked["cells"].items() if number == 4} == compared
    # Earlier records are unchanged.
    assert all((fresh.folder / path).read_text() == text for path, text in first.items())
    assert len(fresh.files(RUNS)) == len(first) + len(compared)

    # Another start of the workflow wants these repetitions too, and has them.
    assert "measure" not in fresh.jobs("results/liu2020/tables/tests.csv", config=SETTINGS)
