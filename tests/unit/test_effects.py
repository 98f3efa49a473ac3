"""Effects that claims rest on, compared between two sets: checked with SciPy's tests of the blocks' differences."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import blocks
from plimsoll.claims import quantities, verdicts
from plimsoll.claims.quantities.count import share
from plimsoll.features.compare import effects, set_sides, two_sets
from plimsoll.features.compare.two_sets import ALIKE, DIFFERENT, UNDECIDED, Terms
from plimsoll.result_sets.sets import OF_COMPARISON, SessionVerdicts
from scipy import special, stats

OF_THESE_SESSIONS = Terms(session_blocks=np.inf)
LABEL = {"metric": "m", "metric_b": "m", "label": "Metric", "unit": "s", "expected": "higher"}
PRINTED = 0.3


def drawn(mean: float, spread: float, number: int, seed: int) -> np.ndarray:
    """Return the differences of `number` blocks, on the scale of the test."""
    return mean + spread * np.random.default_rng(seed).standard_normal(number)


def row(differences: np.ndarray, quantity: str = "value", **more) -> dict:
    """Return a comparison as the judge writes it, from its blocks' differences."""

    def back(difference: float) -> float:
        if quantity == "printed value":
            return float(special.expit(special.logit(PRINTED) + difference) - PRINTED)
        return quantities.find(quantity).back(difference)

    told = blocks.about_zero(differences, 0.05, back)
    numbers = {name: told[name] for name in ("effect", "low", "high")}
    cells = {"claim": "s-1", "cell_a": "a", "cell_b": "b", "test": "t", "n": len(differences), "mean_b": PRINTED}
    return {**LABEL, **cells, **numbers, **more}


def judged(rows: list[dict], **results: dict) -> SessionVerdicts:
    """Return a session's claims from their comparisons. Each is about all of its comparisons unless `results` says
    otherwise."""
    names = dict.fromkeys(one["claim"] for one in rows)
    told = {name: {"id": name, "holds": "each", **results.get(name.replace("-", "_"), {})} for name in names}
    return SessionVerdicts(told, pd.DataFrame(rows).reindex(columns=list(OF_COMPARISON)))


def compared(
    a: list[SessionVerdicts], b: list[SessionVerdicts], terms: Terms = OF_THESE_SESSIONS, tables: int = 1, but=()
) -> effects.Effects:
    return effects.compare(a, b, sorted({*a[-1].results, *b[-1].results}), but, terms, tables)


@pytest.mark.parametrize(
    ("quantity", "told", "margin"),
    [
        ("value", np.expm1, np.log1p(0.05)),
        ("dispersion", np.expm1, np.log1p(0.25)),
        ("relative loss", float, 0.05),
        ("memory contention ratio", float, 0.05),
        ("printed value", np.expm1, np.log1p(0.5)),
    ],
)
def test_without_an_allowance_for_days_it_is_welch_s_test_of_the_blocks_differences(quantity, told, margin):
    """The comparison works on the scale of the effect's own test. Quantities of which less is known have a wider
    margin, as in verdicts."""
    a, b = drawn(0.1, 0.05, 6, 1), drawn(0.25, 0.1, 9, 2)
    sets = [[judged([row(one, quantity)], s_1={"quantity": quantity})] for one in (a, b)]
    (found,) = compared(*sets).rows.to_dict("records")
    welch = stats.ttest_ind(b, a, equal_var=False)
    assert found["p"] == pytest.approx(welch.pvalue) and found["degrees"] == pytest.approx(welch.df)
    interval = welch.confidence_interval(0.95)
    ends = [told(end) for end in (b.mean() - a.mean(), interval.low, interval.high)]
    assert [found[key] for key in ("change", "change_low", "change_high")] == pytest.approx(ends)
    one_sided = [
        stats.ttest_ind(b + margin, a, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(b - margin, a, equal_var=False, alternative="less").pvalue,
    ]
    assert found["p_alike"] == pytest.approx(max(one_sided))
    assert (found["blocks_a"], found["blocks_b"], found["quantity"]) == (6, 9, quantity)


@pytest.mark.parametrize(
    ("change", "spread", "answer"), [(0.0, 0.004, ALIKE), (0.02, 0.002, ALIKE), (0.3, 0.02, DIFFERENT), (0.1, 0.15, UNDECIDED)]
)
def test_there_are_three_answers(change, spread, answer):
    a, b = (judged([row(drawn(mean, spread, 8, seed))]) for mean, seed in ((0.5, 1), (0.5 + change, 2)))
    (found,) = compared([a], [b], Terms()).rows.to_dict("records")
    assert found["answer"] == answer
    assert (answer == UNDECIDED) == bool(found["blocks_needed"] > 8 or found["sessions_needed"] > 1)


def test_days_are_allowed_for_as_for_cells():
    """The variance of days follows from all comparisons of the quantity and metric in both sets."""
    spread = 0.1
    a, b = (
        judged([row(drawn(0, spread, 400, 50 * side + n), claim=f"s-{n}", cell_a=f"a{n}") for n in range(8)]) for side in (0, 1)
    )
    found = compared([a], [b], Terms()).rows
    within = found["between_blocks"] ** 2 * 200
    assert found["between_sessions"].to_numpy() == pytest.approx(
        np.sqrt(2 * within.mean() / set_sides.SESSION_BLOCKS), rel=0.05
    )
    # On each side, 400 blocks are tested as 20 batches.
    assert (found["degrees"] < 15).all() and compared([a], [b]).rows["degrees"].between(25, 38.01).all()


def test_sessions_of_a_set_say_how_much_days_differ():
    def of(levels: list[float], seed: int) -> list[SessionVerdicts]:
        return [
            judged([row(drawn(level, 0.02, 5, 100 * seed + 10 * at + n), cell_a=f"a{n}", claim=f"s-{n}") for n in range(6)])
            for at, level in enumerate(levels)
        ]

    calm = compared(of([0, 0, 0], 1), of([0, 0, 0], 2), Terms()).rows
    stormy = compared(of([-0.1, 0, 0.1], 1), of([0, 0.1, -0.1], 2), Terms()).rows
    assert (calm["sessions_a"] == 3).all() and (calm["blocks_b"] == 15).all()
    assert (stormy["between_sessions"] > 3 * calm["between_sessions"]).all()


def test_an_average_is_what_its_findings_are_about():
    """An average's own interval counts, not those of its comparisons. Each arrangement has one average."""
    whole = {"cells": 2, "n": 5, "effect": 0.1, "low": 0.09, "high": 0.11}
    rows = [row(drawn(0.1, 0.2, 5, n), cell_a=f"a{n}") for n in (1, 2)]
    about = {"holds": verdicts.AVERAGE, "whole": whole}
    (found,) = compared(*[[judged(rows, s_1=about)]] * 2).rows.to_dict("records")
    error = (np.log(1.11) - np.log(1.09)) / 2 / stats.t.ppf(0.975, 4)
    assert found["cells"] == 2 and found["effect_a"] == 0.1 and found["between_blocks"] == pytest.approx(np.sqrt(2) * error)
    assert found["answer"] == ALIKE and pd.isna(found["cell_a"]) and found["label"] == "Metric"
    arranged = [{**one, "arrangement": words, "cell_b": words} for one in rows for words in ("here", "there")]
    each = {words: {"whole": {**whole, "effect": effect}} for words, effect in (("here", 0.1), ("there", 0.2))}
    found = compared(*[[judged(arranged, s_1={**about, "arrangements": each})]] * 2).rows
    assert list(found["cells"]) == [2, 2] and sorted(found["effect_a"]) == [0.1, 0.2]
    # An average over other comparisons is another question.
    other = judged([rows[0], {**rows[1], "cell_a": "another"}], s_1=about)
    assert len(compared([judged(rows, s_1=about)], [other]).rows) == 0
    assert compared([judged(rows, s_1=about)], [other]).alone == 2


def test_parts_have_quantities_and_rules_of_their_own():
    rows = [row(drawn(0.1, 0.1, 5, 1), part=1), row(drawn(0.1, 0.1, 5, 2), "relative loss", part=2, cell_a="c")]
    parts = [{"quantity": None, "holds": "each"}, {"quantity": "relative loss", "holds": "each"}]
    found = compared(*[[judged(rows, s_1={"parts": parts})]] * 2).rows
    assert dict(zip(found["cell_a"], found["quantity"], strict=True)) == {"a": "value", "c": "relative loss"}
    assert dict(zip(found["cell_a"], found["change_as"], strict=True)) == {"a": "percent", "c": "points"}


def test_an_effect_that_several_findings_rest_on_is_one():
    same = drawn(0.1, 0.1, 5, 1)
    rows = [row(same), row(same, claim="s-2", expected="no_difference"), row(same, claim="s-3", cell_a="c")]
    found = compared([judged(rows)], [judged(rows)]).rows
    assert list(found["claims"]) == ["s-1 s-2", "s-3"]
    assert effects.counts(found) == {"s-1": {UNDECIDED: 1}, "s-2": {UNDECIDED: 1}, "s-3": {UNDECIDED: 1}}


def test_p_is_adjusted_for_effects_and_studies():
    sets = [
        [judged([row(drawn(0.1 * n * side, 0.1, 6, 10 * n + side), claim=f"s-{n}", cell_a=f"a{n}") for n in range(6)])]
        for side in (0, 1)
    ]
    once, twice = (compared(*sets, tables=tables).rows for tables in (1, 2))
    order = once["p"].argsort().to_numpy()
    holm = np.maximum.accumulate(once["p"].to_numpy()[order] * np.arange(6, 0, -1))
    assert once["p_holm"].to_numpy()[order] == pytest.approx(np.minimum(1, holm))
    assert twice["p_holm"].to_numpy() == pytest.approx(np.minimum(1, 2 * once["p_holm"]))


def test_cells_that_cannot_be_compared_are_left_out():
    rows = [row(drawn(0.1, 0.1, 5, 1)), row(drawn(0.1, 0.1, 5, 2), claim="s-2", cell_a="c", reference_a="r")]
    for but, left in (({"r"}, ["s-1"]), ({"b"}, []), ({"x"}, ["s-1", "s-2"])):
        assert list(compared([judged(rows)], [judged(rows)], but=but).rows["claims"]) == left


@pytest.mark.parametrize(
    ("in_a", "in_b", "answer"), [((8, 8), (5, 5), ALIKE), ((0, 8), (0, 9), ALIKE), ((10, 10), (0, 10), DIFFERENT)]
)
def test_shares_of_runs_are_compared_as_shares(in_a, in_b, answer):
    about = {"s_1": {"quantity": "count"}}
    a, b = ([judged([{**LABEL, "claim": "s-1", "cell_a": "a", **share(*one)}], **about)] for one in (in_a, in_b))
    (found,) = compared(a, b).rows.to_dict("records")
    assert found["answer"] == answer and found["change"] == pytest.approx(in_b[0] / in_b[1] - in_a[0] / in_a[1])
    assert found["note"] == f"{in_a[0]} of {in_a[1]} runs agree in A, {in_b[0]} of {in_b[1]} in B"
    some = [judged([{**LABEL, "claim": "s-1", "cell_a": "a", **share(5, 10)}], **about)]
    (found,) = compared(a, some).rows.to_dict("records")
    expected = stats.fisher_exact([[in_a[0], in_a[1] - in_a[0]], [5, 5]]).pvalue
    assert found["p"] == pytest.approx(expected)


def test_what_has_no_interval_is_undecided_and_says_so():
    known, unknown = row(drawn(0.1, 0.1, 5, 1)), {**row(drawn(0.1, 0.1, 5, 1)), "low": np.nan, "high": np.nan}
    (found,) = compared([judged([known])], [judged([unknown])]).rows.to_dict("records")
    assert found["answer"] == UNDECIDED and found["note"] == "it has no interval in B" and np.isnan(found["p"])
    few = row(drawn(0.1, 0.1, 2, 1))
    (found,) = compared([judged([few])], [judged([known])]).rows.to_dict("records")
    assert found["answer"] == UNDECIDED and found["note"] == "it has no interval in A"
    # Two metrics of one run that are the same in every run.
    same = {**known, "effect": 0.0, "low": np.nan, "high": np.nan, "test": two_sets.SAME}
    (found,) = compared([judged([same])], [judged([same])]).rows.to_dict("records")
    assert found["answer"] == ALIKE and found["change"] == 0


def test_sets_that_share_no_effect_have_none():
    found = compared([judged([row(drawn(0, 1, 5, 1))])], [judged([row(drawn(0, 1, 5, 1), cell_a="c")])])
    assert found.rows.empty and list(found.rows) == list(effects.COLUMNS) and found.alone == 2
    assert effects.counts(found.rows) == {} and effects.in_order(found.rows).empty


def test_an_unchanged_machine_differs_no_more_often_than_is_said():
    """Sessions vary by what is allowed for. Then p of each effect, without adjustment, is at the nominal level or below."""
    random, spread, wrong, number = np.random.default_rng(6), 0.1, 0, 0
    for _ in range(40):
        sets = []
        for _ in "ab":
            days = spread / np.sqrt(set_sides.SESSION_BLOCKS) * random.standard_normal(12)
            rows = [row(day + spread * random.standard_normal(5), claim=f"s-{n}", cell_a=f"a{n}") for n, day in enumerate(days)]
            sets.append([judged(rows)])
        found = compared(*sets, Terms()).rows
        wrong, number = wrong + int((found["p"] < 0.05).sum()), number + len(found)
    assert 0.02 < wrong / number < 0.08
