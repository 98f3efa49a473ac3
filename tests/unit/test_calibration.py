"""The bench that calibrates verdicts judges many draws at once, by the judge's inner functions: that is the same as judging
each of them as the workflow does."""

from dataclasses import replace

import pytest

from tests.bench.calibration import simulation
from tests.bench.calibration.simulation import kinds, rules

WORLDS = [*rules.worlds(), *kinds.worlds()]
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
