"""Estimates against the libraries that know them, and against what they are of."""

import numpy as np
import pingouin
import pytest
from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired


@pytest.fixture
def draws():
    return np.random.default_rng(20).normal(0.03, 0.05, 10)


def sample(values, blocks=None):
    values = np.asarray(values, float)
    return Sample(values, np.arange(len(values)) if blocks is None else np.asarray(blocks), np.zeros(len(values), bool))


def test_only_blocks_that_have_both_are_compared():
    a, b = blocks.within_blocks(sample([1, 2, 3], [5, 1, 3]), sample([30, 10, 40], [3, 1, 4]))
    assert a.tolist() == [2, 3] and b.tolist() == [10, 30]


def test_the_interval_and_p_are_those_of_the_paired_t_test(draws):
    known = stats.ttest_1samp(draws, 0)
    interval = known.confidence_interval(0.95)
    assert blocks.t_interval(draws) == pytest.approx((draws.mean(), interval.low, interval.high))
    assert blocks.p_difference(draws) == pytest.approx(known.pvalue)


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.1])
def test_likeness_is_tested_by_two_one_sided_tests(draws, margin):
    known, *_ = ttost_paired(draws, np.zeros(10), -margin, margin)
    assert blocks.p_alike(draws, margin) == pytest.approx(known)


def test_values_that_are_all_the_same_or_too_few_prove_nothing():
    for differences in (np.full(10, 0.1), np.array([0.1, 0.2])):
        assert np.isnan(blocks.p_difference(differences)) and np.isnan(blocks.p_alike(differences, 0.05))
    assert np.isnan(blocks.t_interval(np.array([0.1, 0.2]))).all()


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_repetitions_needed_are_those_of_the_power_of_the_t_test(size):
    known = TTestPower().solve_power(effect_size=size, alpha=0.05, power=blocks.POWER)
    assert blocks.needed(1.0, size, 0.05) == pytest.approx(np.ceil(known), abs=1.01)


def test_what_is_detectable_with_n_needs_n():
    effect = blocks.detectable(0.1, 12, 0.05)
    assert blocks.needed(0.1, effect * 1.0001, 0.05) == 12
    assert blocks.needed(0.1, effect * 0.97, 0.05) == 13


@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
def test_likeness_is_shown_with_the_power_that_is_said(deviation):
    n = blocks.needed(deviation, 0.05, 0.05, alike=True)
    random = np.random.default_rng(n)
    shown = np.mean([blocks.p_alike(random.normal(0, deviation, n), 0.05) < 0.05 for _ in range(2000)])
    # A few differences are a little more than it takes: the number is rounded up, and small samples are treated with caution.
    assert 0.76 < shown < (0.9 if n > 8 else 1)


def test_no_number_of_repetitions_is_made_up():
    assert blocks.needed(0.1, 0.0, 0.05) == blocks.MOST + 1
    assert blocks.needed(1.0, 1e-6, 0.05) == blocks.MOST + 1


def test_cliff_s_delta_is_the_common_language_effect_size():
    random = np.random.default_rng(3)
    a, b = random.normal(0.5, 1, 9), random.normal(0, 1, 7)
    assert blocks.cliffs_delta(a, b) == pytest.approx(2 * pingouin.compute_effsize(a, b, eftype="CLES") - 1, abs=1e-9)


def test_bootstrap_intervals_cover_the_ratio_and_do_not_depend_on_the_company():
    random = np.random.default_rng(5)
    b = random.lognormal(0, 0.05, (40, 10))
    a = 1.2 * b * random.lognormal(0, 0.05, (40, 10))
    found = blocks.bootstrap_ratios(a, b, 1000, seed=1)
    alone = blocks.bootstrap_ratios(a[:1], b[:1], 1000, seed=1)
    assert np.mean([(low < 1.2 < high) for low, high in found["mean"]]) > 0.8
    assert found["mean"][0] == pytest.approx(alone["mean"][0])
    assert (found["median"][:, 0] <= found["median"][:, 1]).all()


def test_dispersion_finds_a_sample_that_varies_more():
    random = np.random.default_rng(8)
    a, b = random.lognormal(0, 0.20, 30), random.lognormal(0, 0.02, 30)
    effect, low, high, p = blocks.dispersion(a, b)
    assert low < effect < high and 4 < effect < 20 and p < 1e-4
    back = blocks.dispersion(b, a)
    assert (1 + back[0]) * (1 + effect) == pytest.approx(1)


def test_a_trend_is_found_in_its_direction():
    random = np.random.default_rng(9)
    rising = np.arange(4) * 0.1 + random.normal(0, 0.02, (6, 4))
    up, down = blocks.trend(rising)
    assert up < 0.01 < 0.9 < down
