"""Estimates, checked with libraries that compute them and with data whose true values are known."""

import numpy as np
import pingouin
import pytest
from plimsoll.analysis import blocks, dispersions, independence, sample_sizes
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


def test_too_few_values_prove_nothing():
    few = np.array([0.1, 0.2])
    assert np.isnan(blocks.p_difference(few)) and np.isnan(blocks.p_alike(few, 0.05)) and np.isnan(blocks.t_interval(few)).all()


@pytest.mark.parametrize("n", [3, 7, 20])
def test_equal_differences_prove_as_much_as_their_signs_however_their_logarithms_are_rounded(n):
    """A t test of differences without a spread would be certain after three blocks."""
    # The mean of many equal numbers is not always that number. Then their standard deviation is not 0.
    counts = [count for count in range(200) if count != 1]
    equal = [np.full(n, np.log((count + 0.5) / 1.5)) for count in counts]
    assert n < 7 or any(differences.std(ddof=1) > 0 for differences in equal)
    for count, differences in zip(counts, equal, strict=True):
        known = stats.binomtest(n, n, alternative="greater").pvalue
        shown = blocks.Mean.of(differences)
        assert blocks.p_difference(differences) == pytest.approx(2 * known)
        assert (shown.above(0), shown.below(0)) == pytest.approx((known, 1.0) if count > 1 else (1.0, known))
    nothing = np.zeros(n)
    assert blocks.p_difference(nothing) == 1.0 and blocks.p_alike(nothing, 0.05) == pytest.approx(0.5**n)
    assert blocks.Mean.of(nothing).above(0) == blocks.Mean.of(nothing).below(0) == 1.0


def test_a_side_that_runs_several_times_in_a_block_is_not_larger_for_that():
    """The logarithm of a mean is above the mean of the logarithms: by 0.4 times the variance for five runs against one."""
    random = np.random.default_rng(11)
    drawn = np.exp(random.normal(0, 0.37, (2000, 6)))
    one = sample(drawn[:, 0])
    several = sample(drawn[:, 1:].ravel(), np.repeat(np.arange(2000), 5))
    change, low, high = blocks.change(one, several)
    assert low < 0 < high and abs(change) < 0.02
    assert blocks.geometric_mean(np.array([2.0, 8.0])) == pytest.approx(4.0)
    assert blocks.geometric_mean(np.array([0.0, 3.0])) == 1.5


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_repetitions_needed_are_those_of_the_power_of_the_t_test(size):
    known = TTestPower().solve_power(effect_size=size, alpha=0.05, power=sample_sizes.POWER)
    assert sample_sizes.sample_size(1.0, size, 0.05) == pytest.approx(np.ceil(known), abs=1.01)


def test_many_blocks_are_tested_as_batches_of_consecutive_ones():
    draws = np.random.default_rng(4).normal(0.03, 0.05, 60)
    batches = draws.reshape(20, 3).mean(axis=1)
    assert independence.units(draws).tolist() == pytest.approx(batches)
    assert len(independence.units(draws[:39])) == 39
    told = blocks.about_zero(draws, 0.05)
    assert told["p"] == pytest.approx(stats.ttest_1samp(batches, 0).pvalue)
    assert told["shown"].degrees == independence.degrees(60) == 19
    assert told["effect"] == pytest.approx(draws.mean()) and told["deviation"] == pytest.approx(batches.std(ddof=1) * 3**0.5)


@pytest.mark.parametrize(("number", "most"), [(400, 0.055), (95, 0.065), (40, 0.08)])
def test_blocks_that_have_seconds_in_common_find_a_difference_about_as_seldom_as_is_said(number, most):
    """The dense blocks of a second stage are like this: a correlation of 0.2 with the block before. Batches of two keep
    some of it."""
    noise = np.random.default_rng(9).normal(size=(4000, number))
    for block in range(1, number):
        noise[:, block] += 0.2 * noise[:, block - 1]
    batches = np.mean([blocks.p_difference(one) < 0.05 for one in noise])
    assert np.mean(stats.ttest_1samp(noise, 0, axis=1).pvalue < 0.05) > 0.09
    low, high = stats.binom.ppf([0.0005, 0.9995], 4000, [0.05, most]) / 4000
    assert low <= batches <= high


def test_a_session_is_one_value_however_many_blocks_it_has():
    random = np.random.default_rng(5)
    each = [random.normal(0.1 * number, 0.05, count) for number, count in enumerate((4, 90, 12), 1)]
    which = np.concatenate([number * independence.SESSION + np.arange(len(one)) for number, one in enumerate(each, 1)])
    told = blocks.about_zero(np.concatenate(each), 0.05, which=which)
    means = [one.mean() for one in each]
    assert told["p"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue) and told["effect"] == pytest.approx(np.mean(means))
    assert told["shown"].degrees == 2
    limited = blocks.by_block(blocks.in_sessions(Sample(np.concatenate(each), which, np.arange(len(which)) == 3)), np.mean)
    assert limited.values.tolist() == pytest.approx(means) and limited.censored.tolist() == [True, False, False]


def test_blocks_of_one_session_say_nothing_over_sessions():
    values, which = np.random.default_rng(6).normal(1, 0.01, 5), 2 * independence.SESSION + np.arange(5)
    told = blocks.about_zero(values, 0.05, which=which)
    assert np.isnan(told["p"]) and np.isnan(told["low"]) and told["shown"].above(0) == 1
    levels = np.stack([values, values + 1, values + 2], axis=-1)
    assert np.isnan(blocks.trend(levels, which)).all() and not np.isnan(blocks.trend(levels)).any()


def test_a_session_has_one_spread_whatever_its_blocks_have():
    """One side has one value in each block. The other has two values in half of the blocks."""
    random = np.random.default_rng(8)
    sessions = np.repeat(np.arange(1, 6), 30) * independence.SESSION
    one = sample(np.exp(random.normal(0, 0.05, 150)), sessions + np.tile(np.arange(30), 5))
    two = sample(np.exp(random.normal(0, 0.2, 150)), sessions + np.tile(np.arange(30) // 2, 5))
    which, differences = dispersions.spread_differences(two, one)
    assert list(which // independence.SESSION) == [1, 2, 3, 4, 5] and differences.mean() == pytest.approx(np.log(4), abs=0.2)
    which, variation = dispersions.log_variation(one)
    assert len(which) == 5 and np.exp(variation.mean()) == pytest.approx(0.05, rel=0.15)


def test_what_is_detectable_with_n_needs_n():
    effect = sample_sizes.detectable(0.1, 12, 0.05)
    assert sample_sizes.sample_size(0.1, effect * 1.0001, 0.05) == 12
    assert sample_sizes.sample_size(0.1, effect * 0.97, 0.05) == 13


@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
def test_likeness_is_shown_with_the_power_that_is_said(deviation):
    n = sample_sizes.sample_size(deviation, 0.05, 0.05, alike=True)
    random = np.random.default_rng(n)
    shown = np.mean([blocks.p_alike(random.normal(0, deviation, n), 0.05) < 0.05 for _ in range(2000)])
    # With few differences the power is higher than necessary: their number is rounded up, and small samples are treated
    # with caution.
    assert 0.76 < shown < (0.9 if n > 8 else 1)


def test_no_number_of_repetitions_is_made_up():
    assert sample_sizes.sample_size(0.1, 0.0, 0.05) == sample_sizes.MOST + 1
    assert sample_sizes.sample_size(1.0, 1e-6, 0.05) == sample_sizes.MOST + 1


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


def several(random, blocks_, of_block, spread):
    """Return blocks with `of_block` values each, which vary by `spread` around their own block's mean."""
    means = np.repeat(random.normal(0, 0.3, blocks_), of_block)
    return sample(np.exp(means + random.normal(0, spread, blocks_ * of_block)), np.repeat(np.arange(blocks_), of_block))


@pytest.mark.parametrize(("of_a", "of_b"), [(4, 4), (2, 8), (3, 10)])
def test_spreads_within_blocks_have_no_bias_however_many_values_a_block_has(of_a, of_b):
    random = np.random.default_rng(8)
    _, found = dispersions.spread_differences(several(random, 3000, of_a, 0.1), several(random, 3000, of_b, 0.1))
    assert abs(found.mean()) < 4 * found.std(ddof=1) / np.sqrt(len(found))


def test_a_known_ratio_of_spreads_is_found_with_one_value_a_block_too():
    random = np.random.default_rng(12)
    for of_block in (5, 1):
        _, found = dispersions.spread_differences(several(random, 60, of_block, 0.2), several(random, 60, of_block, 0.02))
        _, low, high = blocks.t_interval(found)
        true = np.log(10) if of_block > 1 else np.log(np.hypot(0.3, 0.2) / np.hypot(0.3, 0.02))
        assert low < true < high


def test_means_of_many_values_are_not_taken_for_single_ones():
    random = np.random.default_rng(13)
    differ = 0
    for _ in range(200):
        many, one = (sample(np.exp(random.normal(0, 0.1, 10 * k)), np.repeat(np.arange(10), k)) for k in (10, 1))
        differ += blocks.p_difference(dispersions.spread_differences(many, one)[1]) < 0.05
    assert differ / 200 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("of_block", [4, 1])
def test_spreads_that_are_alike_differ_as_seldom_as_is_said(of_block):
    random = np.random.default_rng(14)
    differ = 0
    for _ in range(400):
        a, b = (several(random, 10, of_block, 0.1) for _ in "ab")
        differ += blocks.p_difference(dispersions.spread_differences(a, b)[1]) < 0.05
    assert differ / 400 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_blocks_of_one_value_say_nothing_beside_blocks_of_several():
    random = np.random.default_rng(16)
    mixed = several(random, 5, 4, 0.1)
    single = sample([1.0], [99])
    both = Sample(*(np.concatenate([getattr(mixed, key), getattr(single, key)]) for key in ("values", "blocks", "censored")))
    assert dispersions.log_spreads(both)[0].tolist() == [0, 1, 2, 3, 4]


def test_a_coefficient_of_variation_is_found():
    random = np.random.default_rng(18)
    _, found = dispersions.log_variation(several(random, 3000, 5, 0.1))
    assert abs(found.mean() - np.log(0.1)) < 4 * found.std(ddof=1) / np.sqrt(len(found))


def test_a_trend_is_found_in_its_direction():
    random = np.random.default_rng(9)
    rising = np.arange(4) * 0.1 + random.normal(0, 0.02, (6, 4))
    up, down = blocks.trend(rising)
    assert up < 0.01 < 0.9 < down
