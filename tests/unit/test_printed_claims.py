"""What paper shows of a claim: the difference that it is judged by, and more only of claims that are decided."""

import math

import pytest
from plimsoll.claims import verdicts
from plimsoll.pages import printed_claims


def claim(verdict: str = "reproduced", **others: object) -> dict:
    """Return a claim without an average and without parts."""
    none = {"parts": [], "arrangements": {}, "quantity": None, "holds": "each", "whole": None, "comparisons": 1}
    return {**none, "verdict": verdict, "in_part": False, "q": None, "robust": None, "size": "", **others}


def compared(effect: float, low: float = math.nan, high: float = math.nan, **others: object) -> dict:
    """Return a comparison of five blocks."""
    return {"effect": effect, "low": low, "high": high, "label": "DGEMM", "verdict": "reproduced", "part": 1, "n": 5, **others}


WHOLE = {"effect": -0.2, "low": -0.3, "high": -0.1, "cells": 2, "n": 4}
TWO = [compared(-0.1, -0.2, 0.01), compared(0.04, -0.02, 0.1)]


@pytest.mark.parametrize(
    ("given", "rows", "told"),
    [
        ({"whole": WHOLE, "holds": verdicts.AVERAGE}, TWO, "−20 % [−30 %, −10 %]."),
        ({}, TWO[:1], "−10 % [−20 %, +1.0 %]."),
        ({}, TWO, "−10 % to +4.0 % [−20 %, +10 %] in 2 comparisons."),
        ({}, [compared(14000.0, 1139.0, 174000.0)], "at least ×1,140."),
        ({}, [compared(1.0, -0.97, 224000.0)], "too few runs to tell."),
        ({}, [compared(5.0, 3.9, 8.0), compared(1.0)], "×2 to ×6 [×4.9, ×9] in 2 comparisons."),
        ({}, [compared(150.0, 90.0, 3879.0), compared(1.0)], "×2 to more than ×100 [×91, more than ×100] in 2 comparisons."),
        (
            {},
            [TWO[0], {**TWO[1], "label": "STREAM", "verdict": "inconclusive"}],
            "2 comparisons: 1 reproduced, 1 inconclusive.",
        ),
    ],
)
def test_a_difference_has_its_interval(given, rows, told):
    shown = printed_claims.row(claim(**given), rows, [])
    assert (shown["found"], shown["details"]) == (told, [])
    assert shown["n"] == ("n = 4" if given else "n = 5")


def test_only_a_decided_claim_has_details():
    parts = [
        {**claim(), "says": "Docker is slower.", "comparisons": 1},
        {**claim("inconclusive"), "says": "by 10 %", "comparisons": 1},
        {**claim("not testable here"), "says": "on two sockets", "comparisons": 0},
    ]
    rows = [compared(-0.1, -0.2, -0.05), compared(0.0, -0.1, 0.1, part=2)]
    size = {"size": "larger", "paper_magnitude": {"low": -0.02, "high": -0.02}}
    sized = claim(parts=parts, q=0.2, robust=False, **size)
    assert printed_claims.row(sized, rows, ["STREAM, two containers"]) == {
        "found": "",
        "n": "n = 5",
        "details": [
            "“Docker is slower”: reproduced, −10 % [−20 %, −5.0 %].",
            "“by 10 %”: inconclusive, +0.00 % [−10 %, +10 %].",
            "The direction only: the paper says −2.0 %; ours is larger.",
            "Standing out: STREAM, two containers.",
            "Not robust to the number of claims.",
        ],
    }
    shown = printed_claims.row({**sized, "verdict": "inconclusive"}, rows, ["STREAM, two containers"])
    assert (shown["found"], shown["details"]) == ("−10 % [−20 %, −5.0 %]; +0.00 % [−10 %, +10 %].", [])


@pytest.mark.parametrize(("verdict", "rows"), [("not testable here", TWO), ("reproduced", [])])
def test_what_was_not_tested_is_not_on_paper(verdict, rows):
    assert printed_claims.row(claim(verdict), rows, []) is None
