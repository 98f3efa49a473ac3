"""The bench that calibrates verdicts judges many draws at once, by the judge's inner functions: that is the same as judging
each of them as the workflow does."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.bench.calibration import halves, simulation

WORLDS = simulation.worlds()
# The last world of each family, which mostly is the largest.
LAST = {world.family: world for world in WORLDS}


@pytest.mark.parametrize("family", LAST)
def test_many_draws_at_once_are_judged_as_the_workflow_judges_one(family):
    rows = simulation.simulate((0, replace(LAST[family], draws=simulation.WHOLE)))
    assert rows and all(row["agree"] == row["whole"] == simulation.WHOLE for row in rows)


def test_averages_over_both_directions_count_what_is_better():
    """Where two rates rise and two times fall, all four are better, and on the whole so; where the times rise too, they are
    not."""
    of = {(world.truth, world.blocks): world for world in WORLDS if world.family == "mixed directions"}
    found = {}
    for truth in ("as claimed", "half better, half worse", "the other way"):
        for row in simulation.simulate((0, replace(of[truth, 20], draws=200))):
            found[truth, row["expected"], row["named"]] = row
    assert found["as claimed", "better", ""]["reproduced"] > 0.95
    assert found["the other way", "better", ""]["contradicted"] > 0.95
    assert found["half better, half worse", "better", ""]["reproduced"] < 0.1
    assert found["half better, half worse", "better", ""]["contradicted"] < 0.1
    assert found["as claimed", "no_difference", ""]["reproduced"] == 0


def test_arrangements_that_disagree_are_conditional_and_never_reproduced():
    """Of three arrangements one bears the claim out, one contradicts it, and in one there is nothing."""
    of = {world.truth: world for world in WORLDS if world.family == "arrangements" and world.blocks == 20}
    for truth, found in (("both ways", "conditional"), ("as claimed", "reproduced"), ("the other way", "contradicted")):
        row = simulation.simulate((0, replace(of[truth], draws=200)))[0]
        assert (row["expected"], row["named"]) == ("higher", "") and row[found] > 0.8
    (row, *_) = simulation.simulate((0, replace(of["as claimed in all but one"], draws=200)))
    assert row["reproduced"] < 0.1 and np.isfinite(row["wrongly_found"])


def test_halves_of_a_block_share_no_iteration_and_stay_in_their_block():
    of_blocks = {block: 100.0 * block + np.arange(number) for block, number in ((1, 4), (2, 7), (5, 5))}
    values = halves.split([of_blocks], np.random.default_rng(1))
    assert values.shape == (halves.SPLITS, 2, 3, 2)
    for split in values:
        for place, own in enumerate(of_blocks.values()):
            drawn = split[:, place].ravel()
            assert len(set(drawn)) == 4 and set(drawn) <= set(own)
    assert len({tuple(sorted(split[0].ravel())) for split in values}) > 20


def test_the_labels_of_halves_decide_nothing():
    """Iterations of the reference under two labels: differences are found as rarely as they should be."""
    table = pd.read_csv(halves.OBSERVATIONS, dtype={"case": str})
    views = halves.views_of(table, "triad")
    assert len(views) > 20
    rows = list(halves.of_metric("triad", views, np.random.default_rng(3)))
    of_differences = [row for row in rows if row["expected"] == "higher" and not row["named"]]
    assert {row["quantity"] for row in of_differences} == {"value", "dispersion", "relative loss"}
    assert all(row["reproduced_low"] <= 0.03 and row["contradicted_low"] <= 0.03 for row in of_differences)
    assert all(row["covers_high"] >= 0.94 for row in rows)
