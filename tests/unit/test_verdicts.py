"""Truth table of the judge: every case, at its borders too."""

import itertools
import math

import numpy as np
import pytest
from plimsoll.analysis.blocks import Mean, Signs
from plimsoll.claims import findings, judging, quantities, verdicts
from plimsoll.claims.judging import Levels
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
    combine,
    decide,
    in_part,
    judge,
    of_sentence,
    p_of,
    strength,
)
from scipy import stats

ALPHA = 0.05
BOUNDS = Bounds(-0.05, 0.05)
TINY = 1e-6


def at(mean: float, error: float = 0.01, degrees: int = 9) -> Mean:
    """Return a mean that is known to about two hundredths."""
    return Mean(mean, error, degrees)


def verdict(expected: str, shown, named: bool = False) -> str:
    return judge(strength(expected, shown, BOUNDS, named), ALPHA, ALPHA)


@pytest.mark.parametrize(
    ("expected", "shown", "named", "found"),
    [
        # A significant difference with the claimed sign, and with the other sign.
        ("higher", at(0.2), False, REPRODUCED),
        ("lower", at(-0.2), False, REPRODUCED),
        ("higher", at(-0.2), False, CONTRADICTED),
        ("lower", at(0.2), False, CONTRADICTED),
        # A difference in the other direction that counts as alike contradicts nothing, however significant it is.
        ("higher", at(-0.03, error=0.001), False, INCONCLUSIVE),
        ("lower", at(0.03, error=0.001), False, INCONCLUSIVE),
        ("higher", at(-0.06, error=0.001), False, CONTRADICTED),
        ("lower", at(0.06, error=0.001), False, CONTRADICTED),
        # The difference is significant, but may be within the margin.
        ("higher", at(-0.06), False, INCONCLUSIVE),
        # If the paper names a size, that size is excluded here.
        ("higher", at(-0.03), True, CONTRADICTED),
        # Likeness contradicts a claimed difference only if the paper names a size, which is then excluded.
        ("higher", at(0.0), True, CONTRADICTED),
        ("higher", at(0.0), False, INCONCLUSIVE),
        ("lower", at(0.0), True, CONTRADICTED),
        ("lower", at(0.0), False, INCONCLUSIVE),
        ("higher", at(0.0, error=0.1), True, INCONCLUSIVE),
        # A small difference that may be there is not contradicted before it is found.
        ("higher", at(0.02), True, INCONCLUSIVE),
        ("lower", at(-0.02), True, INCONCLUSIVE),
        # A significant difference with the claimed sign is still a difference if it is smaller than the margin.
        ("higher", at(0.03), True, REPRODUCED),
        ("lower", at(-0.03), True, REPRODUCED),
        # No difference is shown only by likeness, never by a large p.
        ("no_difference", at(0.0), False, REPRODUCED),
        ("no_difference", at(0.0, error=0.1), False, INCONCLUSIVE),
        ("no_difference", at(0.02), False, REPRODUCED),
        ("no_difference", at(0.05), False, INCONCLUSIVE),
        ("no_difference", at(0.2), False, CONTRADICTED),
        ("no_difference", at(-0.2), False, CONTRADICTED),
        ("no_difference", at(0.06), False, INCONCLUSIVE),
        # Not lower: it may be higher by any amount.
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
        # A test without an estimate shows directions, and never likeness.
        ("higher", Signs(0.001, 0.999), True, REPRODUCED),
        ("lower", Signs(0.001, 0.999), False, INCONCLUSIVE),
        ("lower", Signs(0.001, 0.999), True, INCONCLUSIVE),
        ("no_difference", Signs(0.001, 0.999), False, INCONCLUSIVE),
        ("not_lower", Signs(0.001, 0.999), False, INCONCLUSIVE),
        # An estimate says whether a difference is more than what counts as alike.
        ("lower", Signs(0.001, 0.999, rise=at(0.2)), False, CONTRADICTED),
        ("higher", Signs(0.999, 0.001, fall=at(-0.2)), False, CONTRADICTED),
        ("lower", Signs(0.001, 0.999, rise=at(0.03)), False, INCONCLUSIVE),
        ("lower", Signs(0.2, 0.8, rise=at(0.2)), False, INCONCLUSIVE),
        ("lower", Signs(0.001, 0.999, fall=at(0.2)), False, INCONCLUSIVE),
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
    """Return comparisons with these p-values for the statement. The p-value for its opposite is 1 minus that."""
    return [Strength(one, 1 - one) for one in p]


@pytest.mark.parametrize(
    ("holds", "evidence", "supports", "opposes"),
    [
        # Each: the largest p, not adjusted. Against it: the smallest p, times their number.
        (EACH, of(0.02, 0.02, 0.02), 0.02, 1.0),
        (EACH, of(0.001, 0.001, 0.4), 0.4, 1.0),
        (EACH, of(0.001, 0.001, 0.99), 0.99, 0.03),
        # Some: the smallest p, times their number. Against it: the largest p.
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
    found = combine(evidence, holds)
    assert found.supports == pytest.approx(supports, abs=TINY)
    assert found.opposes == pytest.approx(opposes, rel=0.01, abs=TINY)


@pytest.mark.parametrize("holds", [EACH, MOST, SOME])
def test_no_statement_about_many_is_more_often_reproduced_than_alpha_allows(holds):
    """One comparison less than the statement needs is true. The p-values of the others are uniform."""
    random = np.random.default_rng(7)
    m = 6
    true = {EACH: m - 1, MOST: m // 2, SOME: 0}[holds]
    wrong = 0
    for _ in range(4000):
        p = np.concatenate([np.full(true, 1e-9), random.uniform(size=m - true)])
        wrong += combine([Strength(one, 1.0) for one in p], holds).supports < ALPHA
    assert wrong / 4000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 4000)


def test_a_single_comparison_is_itself_whatever_the_rule():
    for holds in (EACH, MOST, SOME):
        assert combine([Strength(0.03, 0.4)], holds) == Strength(0.03, 0.4)


FOR, AGAINST, OPEN = Strength(TINY, 1.0), Strength(1.0, TINY), Strength(0.3, 0.3)
P = {REPRODUCED: FOR, CONTRADICTED: AGAINST, INCONCLUSIVE: OPEN, NOT_TESTABLE: None}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([FOR, FOR], REPRODUCED),
        ([FOR, OPEN], INCONCLUSIVE),
        ([FOR, AGAINST], CONTRADICTED),
        ([OPEN, AGAINST], CONTRADICTED),
        # Each part may contradict only at its share of alpha.
        ([FOR, Strength(1.0, 0.02)], CONTRADICTED),
        ([FOR, Strength(1.0, 0.03)], INCONCLUSIVE),
        # Reproducing all parts takes no adjustment.
        ([Strength(0.04, 1.0), Strength(0.04, 1.0)], REPRODUCED),
    ],
)
def test_a_sentence_of_several_parts(parts, found):
    assert judge(of_sentence(parts, len(parts)), ALPHA, ALPHA) == found


def test_a_part_that_cannot_be_asked_keeps_its_share_of_the_error():
    assert of_sentence([Strength(0.5, 0.02)], 3).opposes == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("arranged", "found"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([CONTRADICTED, CONTRADICTED], CONTRADICTED),
        ([NOT_TESTABLE, NOT_TESTABLE], NOT_TESTABLE),
        ([INCONCLUSIVE, INCONCLUSIVE], INCONCLUSIVE),
        ([REPRODUCED, CONTRADICTED], CONDITIONAL),
        ([REPRODUCED, INCONCLUSIVE, CONTRADICTED], CONDITIONAL),
        # Decided in one, and inconclusive or not testable in another: this shows no difference between them. The
        # verdict is in part.
        ([REPRODUCED, INCONCLUSIVE], REPRODUCED),
        ([CONTRADICTED, INCONCLUSIVE], CONTRADICTED),
        ([REPRODUCED, NOT_TESTABLE], REPRODUCED),
        ([INCONCLUSIVE, NOT_TESTABLE], INCONCLUSIVE),
    ],
)
def test_a_claim_in_every_arrangement_of_what_its_paper_leaves_open(arranged, found):
    assert decide([P[verdict] for verdict in arranged], ALPHA, ALPHA) == (found, arranged)
    assert in_part(found, arranged) == (found in (REPRODUCED, CONTRADICTED) and len(set(arranged)) > 1)


def test_all_arrangements_together_take_no_adjustment_and_each_by_itself_takes_holm_s():
    barely = Strength(0.04, 1.0)
    assert decide([barely, barely, barely], ALPHA, ALPHA) == (REPRODUCED, [REPRODUCED] * 3)
    assert decide([barely, barely, OPEN], ALPHA, ALPHA) == (INCONCLUSIVE, [INCONCLUSIVE] * 3)
    # Holm's method: the smallest p counts three times, and the next one twice.
    found = decide([Strength(0.016, 1.0), Strength(0.024, 1.0), OPEN], ALPHA, ALPHA)
    assert found == (REPRODUCED, [REPRODUCED, REPRODUCED, INCONCLUSIVE])
    assert decide([Strength(0.018, 1.0), Strength(0.018, 1.0), OPEN], ALPHA, ALPHA)[0] == INCONCLUSIVE


def test_an_arrangement_that_is_not_asked_does_not_count():
    assert decide([Strength(0.024, 1.0), OPEN, None], ALPHA, ALPHA)[0] == REPRODUCED


@pytest.mark.parametrize("seed", range(40))
def test_p_of_a_claim_is_small_where_it_is_decided(seed):
    random = np.random.default_rng(seed)
    arranged = [None if random.random() < 0.1 else Strength(*random.uniform(0, 0.2, 2)) for _ in range(3)]
    # No test finds both for and against a claim.
    sides = random.choice(Strength._fields, 3)
    arranged = [one and one._replace(**{side: 1.0}) for one, side in zip(arranged, sides, strict=True)]
    if any(arranged):
        verdict, _ = decide(arranged, ALPHA, ALPHA)
        assert (p_of(arranged, ALPHA) < ALPHA) == (verdict in verdicts.DECIDED)


def test_p_of_what_holds_in_all_arrangements_is_that_of_the_weakest():
    assert p_of([Strength(0.0003, 1.0), Strength(0.02, 1.0), Strength(0.01, 1.0)], ALPHA) == 0.02
    assert p_of([Strength(0.0003, 1.0), Strength(0.2, 1.0), Strength(0.01, 1.0)], ALPHA) == pytest.approx(0.0009)
    assert p_of([Strength(0.0003, 1.0), None], ALPHA) == 0.0003
    assert p_of([None, None], ALPHA) == 1.0


def test_p_of_a_conditional_claim_is_that_of_its_weaker_half():
    arranged = [Strength(0.000001, 1.0), Strength(1.0, 0.01), OPEN]
    assert decide(arranged, ALPHA, ALPHA)[0] == verdicts.CONDITIONAL
    assert p_of(arranged, ALPHA) == pytest.approx(0.03)


def test_a_printed_range_that_contains_zero_is_as_large_as_itself():
    shown = Mean(math.log(0.98), 0.001, 30)
    assert verdicts.size(shown, Bounds(math.log(0.97), math.log(1.11)), ALPHA) == "as large"


@pytest.mark.parametrize("true", [0, 1, 2])
def test_chance_alone_decides_no_arrangement_more_often_than_alpha_allows(true):
    """In `true` of three arrangements the claim holds. In the others only chance decides: p is uniform."""
    random, wrong = np.random.default_rng(5), 0
    for p in random.uniform(size=(4000, 3 - true)):
        _, each = decide([FOR] * true + [Strength(one, 1.0) for one in p], ALPHA, ALPHA)
        wrong += REPRODUCED in each[true:]
    assert wrong / 4000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 4000)


# Bounds of a printed 30 to 40 %, on a scale of differences.
PAPER, LOSS = Bounds(0.3, 0.4), Bounds(-0.4, -0.3)


@pytest.mark.parametrize(
    ("mean", "error", "paper", "relation"),
    [
        (0.35, 0.01, PAPER, "as large"),
        # A different size, between half and twice the printed one, still counts as equally large.
        (0.5, 0.01, PAPER, "as large"),
        (0.2, 0.01, PAPER, "as large"),
        (0.85, 0.01, PAPER, "larger"),
        (0.1, 0.01, PAPER, "smaller"),
        (-0.1, 0.01, PAPER, "opposite"),
        # An interval that holds the printed size, and also more than twice of it or nothing at all, shows no size.
        (0.35, 0.2, PAPER, "of unclear size"),
        (0.8, 0.01, PAPER, "larger"),
        (0.45, 0.2, PAPER, "of unclear size"),
        (-0.35, 0.01, LOSS, "as large"),
        (-0.85, 0.01, LOSS, "larger"),
        (-0.1, 0.01, LOSS, "smaller"),
        (0.1, 0.01, LOSS, "opposite"),
        (-0.35, 0.2, LOSS, "of unclear size"),
    ],
)
def test_sizes(mean, error, paper, relation):
    assert verdicts.size(at(mean, error), paper, ALPHA) == relation


def test_a_size_is_wrongly_as_large_no_more_often_than_alpha_allows():
    random, wrong = np.random.default_rng(11), 0
    for differences in random.normal(0.15, 0.05, (4000, 5)):
        wrong += verdicts.size(Mean.of(differences), Bounds(0.3, 0.3), ALPHA) == "as large"
    assert 0 < wrong / 4000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 4000)


@pytest.mark.parametrize(
    ("low", "high", "printed", "relation"),
    [
        # From 4 to 5 blocks: an interval of -46 to -7 % does not show that a loss is as large as 7.6 %.
        (-0.46, -0.07, -0.076, "of unclear size"),
        (-0.041, 0.029, -0.023, "of unclear size"),
        (-0.09, -0.065, -0.076, "as large"),
        (-0.50, -0.42, -0.46, "as large"),
        # Twice a loss means twice on the scale of the test, because no loss is more than 100 %.
        (-0.99, -0.95, -0.6, "larger"),
        (2.5, 3.5, 0.47, "larger"),
        (0.03, 0.05, 0.46, "smaller"),
    ],
)
def test_sizes_that_papers_print(low, high, printed, relation):
    quantity, degrees = quantities.find(None), 4
    half = (math.log1p(high) - math.log1p(low)) / 2
    shown = Mean((math.log1p(high) + math.log1p(low)) / 2, half / stats.t.ppf(0.975, degrees), degrees)
    claim = {"magnitude": {"low": printed, "high": printed, "of": "(a - b) / b"}}
    assert judging.size_of(claim, quantity, {"shown": shown, "low": low}, ALPHA) == relation


def test_a_claim_without_a_printed_size_or_an_interval_has_no_answer_about_it():
    claim = {"magnitude": {"low": 0.1, "high": 0.1, "of": "(a - b) / b"}}
    for row in ({"shown": at(0.1)}, {"shown": at(math.nan), "low": math.nan}, {"shown": Signs(0.1, 0.9), "low": 0.1}, {}):
        assert judging.size_of(claim, quantities.find(None), row, ALPHA) == ""
    assert judging.size_of({}, quantities.find(None), {"shown": at(0.1), "low": 0.1}, ALPHA) == ""


def rows_of(*means: tuple[float, str]) -> list[dict]:
    return [{"expected": expected, "shown": at(mean), "low": mean} for mean, expected in means]


def test_the_bound_that_holds_for_all_comparisons_is_the_widest_of_each():
    quantity = quantities.find("relative loss")
    found = judging.bound_of(quantity, rows_of((0.02, "no_difference"), (-0.03, "no_difference")), ALPHA)
    half = 0.01 * stats.t.ppf(0.95, 9)
    assert found == {"comparisons": 2, "lower": pytest.approx(-0.03 - half), "upper": pytest.approx(0.02 + half)}
    one_sided = judging.bound_of(quantity, rows_of((0.02, "not_lower"), (-0.03, "not_lower")), ALPHA)
    assert one_sided["upper"] is None and one_sided["lower"] == pytest.approx(-0.03 - half)
    assert judging.bound_of(quantity, [*rows_of((0.02, "not_lower")), {"expected": "not_lower"}], ALPHA) is None


def test_the_bound_holds_for_all_comparisons_in_95_of_100_experiments():
    """The worst of eight true values is -0.04, and several lie near it."""
    random, truths, missed = np.random.default_rng(3), np.array([-0.04, -0.04, -0.039, -0.03, 0, 0, 0.01, 0.1]), 0
    for draw in random.normal(truths, 0.03, (2000, 6, 8)):
        rows = [{"expected": "not_lower", "shown": Mean.of(column), "low": 0.0} for column in draw.T]
        missed += judging.bound_of(quantities.find("relative loss"), rows, ALPHA)["lower"] > truths.min()
    assert missed / 2000 < ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 2000)


def row(mean: float, error: float = 0.01, cell: str = "a", expected: str = "higher", n: int = 10, **given) -> dict:
    """Return a comparison of two cells that is not judged yet; without a block if `n` is 0."""
    shown = {"shown": at(mean, error), "low": mean - 2 * error, "high": mean + 2 * error} if n else {}
    cells = {"cell_a": cell, "cell_b": f"{cell}-b", "reference_a": None, "reference_b": None}
    about = {"metric": "m", "benchmark": "b", "expected": expected, "margin": 0.05, "n": n, "effect": mean, "deviation": 0.1}
    return {**about, **cells, **shown, **given}


def judged(rows: list[dict], holds: str = "each") -> dict:
    return judging.judge({"id": "x", "holds": holds}, quantities.find(None), rows, Levels(ALPHA, ALPHA))


def test_metrics_of_one_run_have_one_vote_in_most():
    """Four metrics of one run hold, and those of two other runs do not."""
    of_one = [row(0.5, cell="a", metric=metric) for metric in "wxyz"]
    others = [row(0.0, cell=cell) for cell in "bc"]
    assert judged([*of_one, *others], "most")["verdict"] == INCONCLUSIVE
    # As comparisons of runs of their own, four of six would be most.
    own = [row(0.5, cell=cell) for cell in "defg"]
    assert judged([*own, *[row(0.0, cell=cell) for cell in "bc"]], "most")["verdict"] == REPRODUCED
    # A run whose metrics disagree has no vote for the claim.
    mixed = [[row(0.5, cell=cell, metric="w"), row(0.0, cell=cell, metric="x")] for cell in "abc"]
    assert judged([*itertools.chain(*mixed), row(0.5, cell="d")], "most")["verdict"] == INCONCLUSIVE


@pytest.mark.parametrize(
    ("rows", "alike"),
    [
        ([row(0.0, 0.01)], 0.05),
        ([row(0.0, 0.01), row(0.01, 0.01, "b")], 0.05),
        # One of them may be as large as the margin.
        ([row(0.0, 0.01), row(0.0, 0.03, "b")], None),
        ([row(0.04, 0.02)], None),
        # A likeness within the margin is a verdict of its own.
        ([row(0.06, 0.04, expected="no_difference")], None),
        ([row(0.0, 0.01), row(0.0, n=0)], None),
    ],
)
def test_an_open_difference_is_shown_to_be_small_by_two_one_sided_tests(rows, alike):
    found = judged(rows)
    assert (found["verdict"], found["alike"]) == (INCONCLUSIVE, alike)
    said = findings.verdict_of({**found, "comparisons": len(rows), "n_most": 10, "in_part": False})
    assert said == ("inconclusive, no difference of 5 % or more" if alike else "inconclusive")


def test_a_difference_at_the_margin_is_wrongly_small_no_more_often_than_alpha_allows():
    random = np.random.default_rng(5)
    edge = np.log(1.05)
    shown = [row(0.0, shown=Mean.of(random.normal(edge, 0.03, 6))) for _ in range(3000)]
    wrong = [judging.alike_within(quantities.find(None), [one], ALPHA) is not None for one in shown]
    assert 0.035 < np.mean(wrong) < 0.062


def test_what_has_no_block_has_no_verdict():
    rows = [row(0.0, n=0), row(0.5, cell="b")]
    found = judged(rows)
    assert [one["verdict"] for one in rows] == ["not measured", REPRODUCED] and found["verdict"] == INCONCLUSIVE
    nothing = {"verdict": INCONCLUSIVE, "comparisons": 2, "n_most": 0, "in_part": False}
    assert findings.verdict_of(nothing) == "not measured"


def test_words_of_rules_are_the_schema_s():
    assert {EACH, MOST, SOME, AVERAGE} == {"each", "most", "some", "average"}
