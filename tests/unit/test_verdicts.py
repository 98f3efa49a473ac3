"""The truth table of the judge: every case, at its borders too."""

import math

import numpy as np
import pytest
from plimsoll.analysis.blocks import Mean, Signs
from plimsoll.claims import verdicts
from plimsoll.claims.verdicts import (
    AVERAGE,
    CONDITIONAL,
    CONTRADICTED,
    EACH,
    INCONCLUSIVE,
    MOST,
    NOT_TESTABLE,
    REPRODUCED,
    SOME,
    Bounds,
    Strength,
    judge,
    of_arrangements,
    of_parts,
    strength,
    together,
)
from scipy import stats

ALPHA = 0.05
BOUNDS = Bounds(-0.05, 0.05)
TINY = 1e-6


def at(mean: float, error: float = 0.01, degrees: int = 9) -> Mean:
    """A mean that is known to about two hundredths."""
    return Mean(mean, error, degrees)


def verdict(expected: str, shown, named: bool = False) -> str:
    return judge(strength(expected, shown, BOUNDS, named), ALPHA, ALPHA)


@pytest.mark.parametrize(
    ("expected", "shown", "named", "found"),
    [
        # A significant difference with the sign, and with the other.
        ("higher", at(0.2), False, REPRODUCED),
        ("lower", at(-0.2), False, REPRODUCED),
        ("higher", at(-0.2), False, CONTRADICTED),
        ("lower", at(0.2), False, CONTRADICTED),
        # Alike contradicts a claimed difference only where the paper names a size, which is excluded then.
        ("higher", at(0.0), True, CONTRADICTED),
        ("higher", at(0.0), False, INCONCLUSIVE),
        ("lower", at(0.0), True, CONTRADICTED),
        ("lower", at(0.0), False, INCONCLUSIVE),
        ("higher", at(0.0, error=0.1), True, INCONCLUSIVE),
        # A difference that may be there, and is small, is not contradicted before it is found.
        ("higher", at(0.02), True, INCONCLUSIVE),
        ("lower", at(-0.02), True, INCONCLUSIVE),
        # A difference that is significant, has the sign and is smaller than the margin is a difference still.
        ("higher", at(0.03), True, REPRODUCED),
        ("lower", at(-0.03), True, REPRODUCED),
        # No difference: shown only by likeness, never by a large p.
        ("no_difference", at(0.0), False, REPRODUCED),
        ("no_difference", at(0.0, error=0.1), False, INCONCLUSIVE),
        ("no_difference", at(0.02), False, REPRODUCED),
        ("no_difference", at(0.05), False, INCONCLUSIVE),
        ("no_difference", at(0.2), False, CONTRADICTED),
        ("no_difference", at(-0.2), False, CONTRADICTED),
        ("no_difference", at(0.06), False, INCONCLUSIVE),
        # Not lower: as much higher as it likes.
        ("not_lower", at(0.5), False, REPRODUCED),
        ("not_lower", at(0.0), False, REPRODUCED),
        ("not_lower", at(-0.05), False, INCONCLUSIVE),
        ("not_lower", at(-0.2), False, CONTRADICTED),
        ("not_higher", at(-0.5), False, REPRODUCED),
        ("not_higher", at(0.05), False, INCONCLUSIVE),
        ("not_higher", at(0.2), False, CONTRADICTED),
        # Nothing is known.
        ("higher", at(math.nan), True, INCONCLUSIVE),
        ("no_difference", at(math.nan), False, INCONCLUSIVE),
        # A test without an estimate knows of directions, and of no likeness.
        ("higher", Signs(0.001, 0.999), True, REPRODUCED),
        ("lower", Signs(0.001, 0.999), False, CONTRADICTED),
        ("lower", Signs(0.001, 0.999), True, CONTRADICTED),
        ("no_difference", Signs(0.001, 0.999), False, INCONCLUSIVE),
        ("not_lower", Signs(0.001, 0.999), False, INCONCLUSIVE),
    ],
)
def test_one_comparison(expected, shown, named, found):
    assert verdict(expected, shown, named) == found


@pytest.mark.parametrize("pair", [("higher", "lower"), ("not_higher", "not_lower"), ("no_difference", "no_difference")])
@pytest.mark.parametrize("mean", [-0.3, -0.05, -0.01, 0.0, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("error", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("named", [True, False])
def test_the_sign_turns_the_verdict_and_nothing_else(pair, mean, error, named):
    assert verdict(pair[0], at(mean, error), named) == verdict(pair[1], at(-mean, error), named)


@pytest.mark.parametrize("expected", ["higher", "lower", "no_difference", "not_lower", "not_higher"])
@pytest.mark.parametrize("mean", np.linspace(-0.3, 0.3, 25))
@pytest.mark.parametrize("named", [True, False])
def test_nothing_is_reproduced_and_contradicted_at_once(expected, mean, named):
    found = strength(expected, at(mean), BOUNDS, named)
    assert found.supports >= ALPHA or found.opposes >= ALPHA


def test_p_values_are_those_of_the_one_sided_t_test():
    differences = np.random.default_rng(3).normal(0.02, 0.05, 8)
    shown = Mean.of(differences)
    for value in (-0.05, 0.0, 0.03):
        assert shown.above(value) == pytest.approx(stats.ttest_1samp(differences, value, alternative="greater").pvalue)
        assert shown.below(value) == pytest.approx(stats.ttest_1samp(differences, value, alternative="less").pvalue)


def test_the_threshold_itself_is_not_below_it():
    assert judge(Strength(ALPHA, 1.0), ALPHA, ALPHA) == INCONCLUSIVE
    assert judge(Strength(np.nextafter(ALPHA, 0), 1.0), ALPHA, ALPHA) == REPRODUCED
    assert judge(Strength(1.0, 0.02), ALPHA, ALPHA / 2) == CONTRADICTED
    assert judge(Strength(1.0, 0.03), ALPHA, ALPHA / 2) == INCONCLUSIVE


def of(*p: float) -> list[Strength]:
    """Comparisons with these p-values for the statement; the opposite is as unlikely as they are likely."""
    return [Strength(one, 1 - one) for one in p]


@pytest.mark.parametrize(
    ("holds", "evidence", "supports", "opposes"),
    [
        # Each: the largest p, not adjusted; against it the smallest, times their number.
        (EACH, of(0.02, 0.02, 0.02), 0.02, 1.0),
        (EACH, of(0.001, 0.001, 0.4), 0.4, 1.0),
        (EACH, of(0.001, 0.001, 0.99), 0.99, 0.03),
        # Some: the smallest, times their number; against it the largest.
        (SOME, of(0.01, 0.5, 0.9), 0.03, 0.99),
        (SOME, of(0.999, 0.999, 0.97), 1.0, 0.03),
        # Most of five: three of them, by partial conjunction.
        (MOST, of(0.001, 0.002, 0.01, 0.8, 0.9), 0.03, 1.0),
        (MOST, of(0.999, 0.998, 0.99, 0.2, 0.1), 1.0, 0.03),
        # Half of four is not more than half.
        (MOST, of(0.001, 0.001, 0.9, 0.9), 1.0, 0.3),
    ],
)
def test_several_comparisons(holds, evidence, supports, opposes):
    found = together(evidence, holds)
    assert found.supports == pytest.approx(supports, abs=TINY)
    assert found.opposes == pytest.approx(opposes, rel=0.01, abs=TINY)


@pytest.mark.parametrize("holds", [EACH, MOST, SOME])
def test_no_statement_about_many_is_more_often_reproduced_than_alpha_allows(holds):
    """As many of the comparisons as the statement needs are false but one; these have uniform p-values."""
    random = np.random.default_rng(7)
    m = 6
    true = {EACH: m - 1, MOST: m // 2, SOME: 0}[holds]
    wrong = 0
    for _ in range(4000):
        p = np.concatenate([np.full(true, 1e-9), random.uniform(size=m - true)])
        wrong += together([Strength(one, 1.0) for one in p], holds).supports < ALPHA
    assert wrong / 4000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 4000)


def test_a_single_comparison_is_itself_whatever_the_rule():
    for holds in (EACH, MOST, SOME):
        assert together([Strength(0.03, 0.4)], holds) == Strength(0.03, 0.4)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, INCONCLUSIVE], INCONCLUSIVE),
        ([REPRODUCED, CONTRADICTED], CONTRADICTED),
        ([INCONCLUSIVE, CONTRADICTED], CONTRADICTED),
        ([REPRODUCED, NOT_TESTABLE], REPRODUCED),
        ([NOT_TESTABLE, NOT_TESTABLE], NOT_TESTABLE),
        ([CONDITIONAL, REPRODUCED], CONDITIONAL),
        ([CONDITIONAL, NOT_TESTABLE], CONDITIONAL),
        ([CONDITIONAL, INCONCLUSIVE], INCONCLUSIVE),
        ([CONDITIONAL, CONTRADICTED], CONTRADICTED),
    ],
)
def test_a_sentence_of_several_parts(parts, found):
    assert of_parts(parts) == found


@pytest.mark.parametrize(
    ("arranged", "found"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([CONTRADICTED, CONTRADICTED], CONTRADICTED),
        ([NOT_TESTABLE, NOT_TESTABLE], NOT_TESTABLE),
        ([REPRODUCED, CONTRADICTED], CONDITIONAL),
        ([REPRODUCED, INCONCLUSIVE, CONTRADICTED], CONDITIONAL),
        ([REPRODUCED, INCONCLUSIVE], INCONCLUSIVE),
        ([CONTRADICTED, INCONCLUSIVE], INCONCLUSIVE),
        ([REPRODUCED, NOT_TESTABLE], INCONCLUSIVE),
    ],
)
def test_a_claim_in_every_arrangement_of_what_its_paper_leaves_open(arranged, found):
    p = {REPRODUCED: Strength(TINY, 1.0), CONTRADICTED: Strength(1.0, TINY)}
    assert of_arrangements(arranged, [p.get(verdict, Strength(0.3, 0.3)) for verdict in arranged], ALPHA, ALPHA) == found


@pytest.mark.parametrize("evidence", [[Strength(0.04, 1.0), Strength(1.0, TINY)], [Strength(TINY, 1.0), Strength(1.0, 0.04)]])
def test_conditional_is_adjusted_for_the_number_of_arrangements_on_both_sides(evidence):
    assert of_arrangements([REPRODUCED, CONTRADICTED], evidence, ALPHA, ALPHA) == INCONCLUSIVE
    assert of_arrangements([REPRODUCED, CONTRADICTED], evidence, 2 * ALPHA, 2 * ALPHA) == CONDITIONAL


def test_chance_alone_is_hardly_ever_conditional():
    """One arrangement bears the claim out, and nothing is there in the two others: p against it are uniform."""
    random, wrong = np.random.default_rng(5), 0
    for against in random.uniform(size=(4000, 2)):
        evidence = [Strength(TINY, 1.0), *(Strength(1.0, p) for p in against)]
        wrong += of_arrangements([judge(one, ALPHA, ALPHA) for one in evidence], evidence, ALPHA, ALPHA) == CONDITIONAL
    assert wrong / 4000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 4000)


PAPER = {"low": 0.3, "high": 0.4}
LOSS = {"low": -0.4, "high": -0.3}


@pytest.mark.parametrize(
    ("low", "high", "paper", "relation"),
    [
        (0.35, 0.5, PAPER, "as large"),
        (0.42, 0.5, PAPER, "larger"),
        (0.1, 0.28, PAPER, "smaller"),
        # A printed 40 % may have been 40.9 %.
        (0.405, 0.5, PAPER, "as large"),
        (0.1, 0.295, PAPER, "as large"),
        (-0.2, 0.1, PAPER, "smaller"),
        (-0.3, -0.1, PAPER, "opposite"),
        (-0.9, -0.5, LOSS, "larger"),
        (-0.2, -0.1, LOSS, "smaller"),
        (0.1, 0.2, LOSS, "opposite"),
        (0.1, 0.2, None, ""),
        (math.nan, math.nan, PAPER, ""),
    ],
)
def test_sizes(low, high, paper, relation):
    assert verdicts.size(low, high, paper) == relation


def test_words_of_rules_are_the_schema_s():
    assert {EACH, MOST, SOME, AVERAGE} == {"each", "most", "some", "average"}
