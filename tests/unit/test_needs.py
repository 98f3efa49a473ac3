"""Blocks that a claim needs: enough to decide it, then enough to make it clear, and no more."""

import math

import pandas as pd
import pytest
from plimsoll.analysis import sample_sizes
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.features.time_budget import claim_parts, needs
from plimsoll.features.time_budget.needs import Noise, OtherMeasurements, Part

ALPHA, NOISE = 0.05, 0.15
RESULT = {"id": "c1", "quantity": None, "asked": {}, "holds": "each", "whole": None, "verdict": "inconclusive"}


def part(n: int, effect: float = 1.0, expected: str = "higher", margin: float = 0.05) -> Part:
    """Return a claim about one comparison of `n` blocks."""
    return Part(("c1", 1, ""), RESULT, [row(n, effect=effect, expected=expected, margin=margin)])


def row(n: int, metric: str = "m", cells: str = "ab", **given) -> dict:
    """Return a comparison of `n` blocks of two cells."""
    named = {**dict.fromkeys(CELL_COLUMNS), "cell_a": cells[0], "cell_b": cells[1]}
    about = {"metric": metric, "metric_b": metric, "label": metric, "benchmark": "", "scale": "ratio", "deviation": NOISE}
    return {**named, **about, "n": n, "effect": 1.0, "expected": "higher", "margin": 0.05, **given}


def needed(here: Part, elsewhere: OtherMeasurements | None = None) -> int:
    noise = Noise([part(4)], {"cells": {}}, ())
    (need,) = needs.of_claims({"c1": [here]}, [], noise, ALPHA, elsewhere).needs
    (number,) = set(need.blocks.values())
    assert set(need.blocks) == {"a", "b"}
    return number


@pytest.fixture
def elsewhere():
    """Return forty blocks of other measurements, in which side a is twice as high."""
    return OtherMeasurements([part(40)])


def test_where_nothing_is_known_the_margin_is_what_must_be_found():
    assert needed(part(4)) == sample_sizes.sample_size(NOISE, math.log1p(0.05), ALPHA) > 60


def test_what_other_measurements_found_takes_few_blocks(elsewhere):
    low, _ = elsewhere.of(part(0), part(0).rows[0])
    assert needed(part(0), elsewhere) == sample_sizes.sample_size(NOISE, low, ALPHA) == 3


def test_what_has_enough_and_is_not_clear_gets_what_makes_it_clear(elsewhere):
    """It gets fewer blocks than finding the margin would take. Otherwise decided claims would take most of the time."""
    low, _ = elsewhere.of(part(0), part(0).rows[0])
    clear = sample_sizes.sample_size(NOISE, low, needs.CLEAR)
    assert needed(part(4), elsewhere) == clear < 10


def test_what_is_not_clear_then_is_not_as_it_was_elsewhere(elsewhere):
    assert needed(part(10), elsewhere) == needed(part(10)) > 60


def test_likeness_is_never_repeated_to_be_clear():
    known = OtherMeasurements([part(40, effect=0.0, expected="no_difference")])
    here = part(4, effect=0.0, expected="no_difference", margin=0.2)
    assert needed(here, known) == needed(here) == sample_sizes.sample_size(NOISE, math.log1p(0.2), ALPHA, alike=True)


# Three metrics of one pair of runs, and one of two other pairs: five comparisons, and three votes.
VOTES = [*(row(4, metric) for metric in "mxy"), row(4, cells="cd"), row(4, cells="ef")]


def of_most(rows: list[dict]) -> Part:
    return Part(("c1", 1, ""), {**RESULT, "holds": "most"}, rows)


def test_most_counts_the_votes_of_the_verdict():
    """Three of five comparisons would be most, and need one pair of runs. Two of three votes need two pairs."""
    here = of_most(VOTES)
    assert (len(here.rows), here.judged, here.number) == (5, 3, 2)
    noise = Noise([of_most([{**one, "deviation": NOISE / 9} for one in VOTES])], {"cells": {}}, ())
    (need,) = needs.of_claims({"c1": [here]}, [], noise, ALPHA).needs
    assert len(need.blocks) == 4
    assert (Part(here.name, {**RESULT, "holds": "each"}, VOTES).number, of_most(VOTES[:3]).number) == (5, 1)


def test_a_vote_needs_what_its_noisiest_metric_needs():
    """The pair of runs with three metrics is the dearest. It was the cheapest by two of them.

    If two of three votes must be shown, the verdict doubles their p-values.
    """
    deviations = {"m": NOISE, "x": NOISE / 9, "y": 3 * NOISE}
    noise = Noise([of_most([{**one, "deviation": deviations[one["metric"]]} for one in VOTES])], {"cells": {}}, ())
    (need,) = needs.of_claims({"c1": [of_most(VOTES)]}, [], noise, ALPHA).needs
    power = sample_sizes.POWER ** (1 / 2)
    assert need.blocks == dict.fromkeys("cdef", sample_sizes.sample_size(NOISE, math.log1p(0.05), ALPHA / 2, power=power))
    (need,) = needs.of_claims({"c1": [of_most(VOTES[:3])]}, [], noise, ALPHA).needs
    power = sample_sizes.POWER ** (1 / 3)
    assert need.blocks == dict.fromkeys("ab", sample_sizes.sample_size(3 * NOISE, math.log1p(0.05), ALPHA, power=power))


def test_one_metric_of_a_vote_contradicts_it():
    """Elsewhere side a is half as high in one of three metrics of the only pair of runs."""
    known = OtherMeasurements([of_most([row(40, effect=-0.5)])])
    noise = Noise([of_most(VOTES)], {"cells": {}}, ())
    here = of_most([row(0, metric) for metric in "mxy"])
    (need,) = needs.of_claims({"c1": [here]}, [], noise, ALPHA, known).needs
    _, high = known.of(here, here.rows[0], among=3)
    assert need.blocks == dict.fromkeys("ab", sample_sizes.sample_size(NOISE, math.log1p(-0.05) - high, ALPHA / 3))


def test_a_condition_gets_its_blocks_even_if_a_part_is_contradicted():
    """Elsewhere side a of the other part is half as high. Without the condition, the claim would not be decided by that."""
    condition = Part(("c1", 2, ""), {**RESULT, "condition": True}, [row(4, cells="cd")])
    noise, known = Noise([part(4)], {"cells": {}}, ()), OtherMeasurements([part(40, effect=-0.5)])
    (need,) = needs.of_claims({"c1": [part(0), condition]}, [], noise, ALPHA, known).needs
    enough = sample_sizes.sample_size(NOISE, math.log1p(0.05), ALPHA)
    assert set(need.blocks) == set("abcd") and need.blocks["c"] == enough > need.blocks["a"]
    another = condition._replace(result=RESULT)
    (need,) = needs.of_claims({"c1": [part(0), another]}, [], noise, ALPHA, known).needs
    assert set(need.blocks) == set("ab")


def test_votes_are_told_apart_by_benchmarks():
    """A table of comparisons has NaN where a comparison has no reference, and no benchmarks."""
    table = pd.DataFrame(VOTES).drop(columns="benchmark").assign(claim="c1", part=1, reference_a=math.nan, arrangement="")
    metrics = {"m": {"benchmark": "one"}, "x": {"section": "one"}, "y": {"benchmark": "two"}}
    result = {**RESULT, "holds": "most", "parts": [], "arrangements": None}
    ((here,),) = claim_parts.parts_of([result], table, metrics).values()
    assert here.votes == [[0, 1], [2], [3], [4]]
