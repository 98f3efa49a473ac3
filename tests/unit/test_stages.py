"""Two stages keep the error rates of one: the blocks of the second follow from pooled noise, and never from a difference."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.bench.calibration import halves
from tests.bench.calibration.claims import claim
from tests.bench.calibration.simulation.worlds import World
from tests.bench.calibration.stages import real, rules, staged
from tests.bench.calibration.stages.staged import Time

HIGHER = World("one comparison", "no effect", (0.0, 0.0), (claim("higher", [0], [1]),), 0)
# Nominal rate of the claim that side a is higher: half of alpha, which is two-sided. A contradiction needs more than
# what counts as alike, which is never found without an effect.
NOMINAL = 0.025


def interval(number: int) -> tuple[float, float]:
    """Return the interval that holds the rate of `number` verdicts, at the nominal rate, in all but one of a thousand
    cases."""
    return tuple(end / number for end in stats.binom.interval(0.999, number, NOMINAL))


def wrong(world: World, drawn, time: Time) -> tuple[float, int]:
    """Return (share of decided verdicts, number of verdicts) of a claim where nothing differs."""
    found = []
    for values in drawn:
        studied = staged.several(replace(world, blocks=values.shape[1]), len(values) // len(world.levels))
        found += [one.verdict for one in staged.judged(studied, values, time)]
    return sum(verdict != "inconclusive" for verdict in found) / len(found), len(found)


def simulated(draws: int):
    random = np.random.default_rng(17)
    world = replace(HIGHER, blocks=rules.MOST)
    return rules.drawn(world, random, draws)


def halves_of_runs(draws: int):
    """Yield experiments from iterations of the reference of jha2021 under two labels."""
    table = pd.read_csv(halves.OBSERVATIONS, dtype={"case": str})
    random = np.random.default_rng(18)
    for metric in ("tcp_rr_throughput", "tcp_stream_throughput"):
        source = real.halves_of(table, metric)
        for _ in range(draws):
            logs = source.experiments(1, random)
            yield 100 * np.exp(logs.reshape(-1, *logs.shape[2:]))


def test_a_difference_is_wrongly_found_as_often_as_is_said():
    rate, number = wrong(HIGHER, simulated(50), Time(3, rules.MOST))
    low, high = interval(number)
    assert number == 500 and low <= rate <= high


def test_it_is_so_with_real_runs_too():
    rate, number = wrong(HIGHER, halves_of_runs(30), Time(3, 30))
    low, high = interval(number)
    assert number > 300 and low <= rate <= high


@pytest.mark.parametrize("study", real.STUDIES)
def test_the_references_have_comparisons_to_draw_from(study):
    assert sum(source.blocks >= real.FEWEST for source in real._of_cells(study)) > 2


def test_the_rate_is_seen_to_be_too_high_where_the_second_stage_follows_from_the_verdict_of_the_first():
    rate, number = wrong(HIGHER, simulated(50), Time(3, rules.MOST, peeking=True))
    assert rate > interval(number)[1]


def test_labels_swap_whole_blocks_and_stay_in_them():
    values = np.arange(8 * 2 * 5).reshape(8, 2, 5, 1)
    source = real.Source("made", "up", values.repeat(2, axis=0))
    assert source.joined == 2
    drawn = source.experiments(4, np.random.default_rng(1))
    assert drawn.shape == (2, 8, 10, 1)
    for experiment in drawn:
        for comparison in range(4):
            sides = experiment[[comparison, comparison + 4], :, 0]
            assert (np.abs(sides[0] - sides[1]) == 5).all()
        # The labels are swapped alike for all comparisons of a claim.
        swapped = experiment[:4, :, 0] > experiment[4:, :, 0]
        assert (swapped == swapped[0]).all()


def test_every_rule_is_among_the_worlds():
    worlds = list(rules.worlds())
    assert {world.family for world in worlds} == set(rules.WORLDS)
    asked = {(one.get("holds", "each"), one["expected"]) for world in worlds for one in world.claims}
    assert {(holds, "higher") for holds in ("each", "most", "some", "average")} | {("average", "no_difference")} <= asked
    copied = staged.several(worlds[-1], 3)
    assert len(copied.levels) == 3 * len(worlds[-1].levels) and len({one["id"] for one in copied.claims}) == len(copied.claims)
