"""What the spreads of many comparisons lend to one comparison of few blocks."""

import numpy as np
import pytest
from plimsoll.analysis import blocks, independence, spreads
from plimsoll.analysis.spreads import NOTHING, UNKNOWN, Lent, Spread
from scipy import stats


def drawn(d0: float, s0: float, number: int = 4000, degrees: int = 3) -> np.ndarray:
    """Return variances of comparisons whose true variances are s0^2 d0 / chi2(d0)."""
    random = np.random.default_rng(5)
    true = s0**2 * d0 / random.chisquare(d0, number)
    return true * random.chisquare(degrees, number) / degrees


@pytest.mark.parametrize(("d0", "s0"), [(4.0, 0.2), (12.0, 0.03), (1.5, 1.0)])
def test_what_comparisons_have_in_common_is_found(d0, s0):
    found = spreads.fit(drawn(d0, s0), [3] * 4000)
    # d0 is taken from the upper end of how much the variances differ.
    assert 0.65 * d0 < found.degrees < 1.1 * d0
    assert found.deviation == pytest.approx(s0, rel=0.06)


def test_what_is_alike_lends_all_that_it_knows():
    found = spreads.fit(drawn(1e9, 0.2), [3] * 4000)
    assert found.degrees > 40 and found.deviation == pytest.approx(0.2, rel=0.03)
    # Few variances do not show that they are alike.
    assert spreads.fit(drawn(1e9, 0.2, 12), [3] * 12).degrees < 20


def test_few_lend_nothing():
    assert spreads.fit([0.1] * (spreads.ENOUGH - 1), [3] * (spreads.ENOUGH - 1)) == UNKNOWN
    # Comparisons in which nothing varies do not count.
    assert spreads.fit([0.1] * (spreads.ENOUGH - 1) + [0.0], [3] * spreads.ENOUGH) == UNKNOWN
    assert UNKNOWN.with_own(0.3, 4) == Spread(0.3, 4)
    assert spreads.lent([Spread(0.1, 3)] * (spreads.ENOUGH - 1)) == NOTHING


def test_a_spread_is_between_its_own_and_what_others_lend():
    both = Spread(0.2, 6).with_own(0.1, 3)
    assert both == Spread(pytest.approx(np.sqrt((6 * 0.04 + 3 * 0.01) / 9)), 9)


def test_what_differs_too_much_lends_no_prior():
    """A comparison that is always noisier than the others would be mistaken for one of them."""
    alike, unlike = (spreads.lent([Spread(float(one) ** 0.5, 3) for one in drawn(d0, 0.2, 200)]) for d0 in (1e9, 3.0))
    assert alike.prior.degrees >= spreads.ALIKE and unlike.prior == UNKNOWN
    assert alike.pooled == Spread(pytest.approx(0.2, rel=0.06), spreads.MOST)
    # Evidence that is adjusted for many comparisons uses the mean of all variances.
    assert unlike.pooled.deviation == pytest.approx(np.sqrt(drawn(3.0, 0.2, 200).mean()))


def test_however_alike_others_are_a_comparisons_own_spread_keeps_its_weight():
    many = spreads.lent([Spread(float(one) ** 0.5, 3) for one in drawn(1e9, 0.2, 2000)])
    assert many.prior == Spread(pytest.approx(0.2, rel=0.06), spreads.CAP)


def test_variances_that_differ_have_fewer_degrees_together():
    """Satterthwaite: one variance that is a hundred times as large as nine others leaves hardly more than its own."""
    one_large = spreads.pool([Spread(10.0, 30), *[Spread(1.0, 30)] * 9])
    assert one_large.deviation == pytest.approx(np.sqrt(109 / 10))
    assert one_large.degrees == pytest.approx(32 / 30 * 30 * 109**2 / (100**2 + 9), rel=1e-9)
    random = np.random.default_rng(6)
    alike = [spreads.pool([Spread(one, 3) for one in draw.std(axis=1, ddof=1)]) for draw in random.normal(size=(200, 30, 4))]
    assert np.median([one.degrees for one in alike]) == pytest.approx(90, rel=0.1)


def test_kinds_of_few_comparisons_have_what_all_have():
    of_a = [("a", Spread(0.1 + number / 1000, 3)) for number in range(20)]
    of_b = [("b", Spread(1.0 + number / 1000, 3)) for number in range(3)]
    found = spreads.of_kinds([*of_a, *of_b])
    assert found["a"] == spreads.lent([spread for _, spread in of_a])
    assert found["b"] == spreads.lent([spread for _, spread in (*of_a, *of_b)]) != found["a"]


def test_cells_that_differ_in_one_factor_are_set_against_each_other():
    levels = {"bare/E1": ("bare", "E1"), "docker/E1": ("docker", "E1"), "docker/E2": ("docker", "E2"), "vm/E3": ("vm", "E3")}
    assert list(spreads.neighbours(levels)) == [("bare/E1", "docker/E1"), ("docker/E1", "docker/E2")]
    assert list(spreads.neighbours({})) == []


POOLED = Spread(0.5, 100)


def of(prior: Spread, pooled: Spread = POOLED) -> Lent:
    return Lent(prior, pooled)


def test_a_comparison_of_few_blocks_takes_what_others_lend():
    differences, prior = np.array([0.02, 0.05, 0.03, 0.06]), Spread(0.05, 12)
    own, lent = (blocks.about_zero(differences, 0.05, lent=one) for one in (NOTHING, of(prior)))
    error = prior.with_own(differences.std(ddof=1), 3).deviation / 2
    assert (lent["effect"], lent["deviation"]) == (own["effect"], own["deviation"])
    low, high = stats.t.interval(0.95, 15, differences.mean(), error)
    assert (lent["low"], lent["high"]) == (pytest.approx(low), pytest.approx(high))
    assert lent["p"] == pytest.approx(2 * stats.t.sf(differences.mean() / error, 15))
    assert lent["shown"].above(0) == pytest.approx(lent["p"] / 2)
    assert lent["detectable"] == pytest.approx((stats.t.ppf(0.975, 15) + stats.t.ppf(0.8, 15)) * error)
    # If the others are not alike, nothing is lent.
    unlike = blocks.about_zero(differences, 0.05, lent=of(UNKNOWN))
    assert {name: value for name, value in unlike.items() if name != "shown"} == {
        name: value for name, value in own.items() if name != "shown"
    }
    assert unlike["shown"].above(0) == own["shown"].above(0)


def test_beside_many_others_blocks_that_are_alike_by_chance_show_nothing():
    """Four runs are in the slow one of two modes, and four in the fast one."""
    differences = np.log(3) + np.array([0.010, 0.011, 0.012, 0.011])
    shown = blocks.about_zero(differences, 0.05, lent=of(UNKNOWN, Spread(0.7, 100)))["shown"]
    assert shown.above(0) < 1e-6 and 1e-3 < shown.strictly.above(0) < 2e-3
    assert shown.turned().strictly.below(0) == shown.strictly.above(0) and shown.strictly.below(0) > 0.99
    # A comparison's own spread counts if it is larger.
    alone = blocks.about_zero(differences, 0.05, lent=of(UNKNOWN, Spread(1e-6, 100)))["shown"]
    assert alone.strictly.above(0) == alone.above(0)
    assert blocks.about_zero(differences, 0.05)["shown"].strictly.above(0) == alone.above(0)
    assert blocks.Signs(0.01, 0.99).strictly.above(0) == 0.01


def test_what_has_a_spread_of_its_own_takes_nothing():
    random = np.random.default_rng(9)
    many = random.normal(0.1, 0.2, independence.BATCHED)
    by_session = np.repeat(np.arange(1, 4), 2) * independence.SESSION + np.tile([1, 2], 3)
    for differences, which in ((many, None), (many[:6], by_session), (many[:2], None), (np.full(4, 0.1), None)):
        lent, own = (blocks.about_zero(differences, 0.05, which=which, lent=one) for one in (of(Spread(0.1, 50)), NOTHING))
        assert repr(lent) == repr(own)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_error_rates_are_nominal_whether_spreads_differ_or_not(factor):
    """There is no effect in 60 studies, each with 64 comparisons of four blocks."""
    random = np.random.default_rng(10)
    wrong = []
    for _ in range(60):
        differences = np.exp(np.log(factor) * random.normal(size=(64, 1))) * random.normal(size=(64, 4))
        lent = spreads.lent([Spread(one.std(ddof=1), 3) for one in differences])
        wrong += [blocks.about_zero(one, 0.05, lent=lent)["p"] < 0.05 for one in differences]
    assert 0.04 < np.mean(wrong) < 0.06


def test_a_cell_that_is_always_noisier_is_wrong_hardly_more_often():
    """There is no effect in 300 studies of 52 comparisons of four blocks. Half of the baselines have twice the noise.

    With a prior of as many degrees as are estimated, their comparisons would be wrong in 7 %.
    """
    random = np.random.default_rng(11)
    wrong = []
    for _ in range(300):
        scale = np.where(random.random(7) < 0.5, 2.0, 1.0)[np.arange(52) // 8]
        differences = scale[:, None] * random.normal(size=(52, 4))
        means, own = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        lent = spreads.lent([Spread(one, 3) for one in own])
        shown = [blocks.Mean(*one, 3).moderated(lent) for one in zip(means, own / 2, strict=True)]
        wrong.append([min(one.above(0), one.below(0)) < 0.025 for one in shown] + list(scale > 1))
    found, noisy = np.hsplit(np.array(wrong), 2)
    assert found.mean() < 0.055 and found[noisy].mean() < 0.065
