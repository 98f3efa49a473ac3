"""Blocks that a claim needs: enough to decide it, then enough to make it clear, and no more."""

import math

import pytest
from plimsoll.analysis import blocks
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.features.time_budget import needs
from plimsoll.features.time_budget.needs import Noise, OtherMeasurements, Part

ALPHA, NOISE = 0.05, 0.15


def part(n: int, effect: float = 1.0, expected: str = "higher", margin: float = 0.05) -> Part:
    """Return a claim about one comparison of `n` blocks."""
    row = {**dict.fromkeys(CELL_COLUMNS), "cell_a": "a", "cell_b": "b", "metric": "m", "metric_b": "m", "label": "m", "n": n}
    row |= {"deviation": NOISE, "effect": effect, "expected": expected, "margin": margin, "scale": "ratio"}
    result = {"id": "c1", "quantity": None, "asked": {}, "holds": "each", "whole": None, "verdict": "inconclusive"}
    return Part(("c1", 1, ""), result, [row])


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
    assert needed(part(4)) == blocks.sample_size(NOISE, math.log1p(0.05), ALPHA) > 60


def test_what_other_measurements_found_takes_few_blocks(elsewhere):
    low, _ = elsewhere.of(part(0), part(0).rows[0])
    assert needed(part(0), elsewhere) == blocks.sample_size(NOISE, low, ALPHA) == 3


def test_what_has_enough_and_is_not_clear_gets_what_makes_it_clear(elsewhere):
    """It gets fewer blocks than finding the margin would take. Otherwise decided claims would take most of the time."""
    low, _ = elsewhere.of(part(0), part(0).rows[0])
    clear = blocks.sample_size(NOISE, low, needs.CLEAR)
    assert needed(part(4), elsewhere) == clear < 10


def test_what_is_not_clear_then_is_not_as_it_was_elsewhere(elsewhere):
    assert needed(part(10), elsewhere) == needed(part(10)) > 60


def test_likeness_is_never_repeated_to_be_clear():
    known = OtherMeasurements([part(40, effect=0.0, expected="no_difference")])
    here = part(4, effect=0.0, expected="no_difference", margin=0.2)
    assert needed(here, known) == needed(here) == blocks.sample_size(NOISE, math.log1p(0.2), ALPHA, alike=True)
