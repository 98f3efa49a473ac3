"""The truth table of the judge: every case, at its borders too."""

import numpy as np
import pytest
from plimsoll.claims import verdicts
from plimsoll.claims.verdicts import CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE, REPRODUCED, Evidence, judge, together

ALPHA = 0.05
NAN = float("nan")


def evidence(effect, p, p_like=1.0, half=0.02, margin=0.05, n=10):
    return Evidence(n=n, effect=effect, low=effect - half, high=effect + half, p=p, p_like=p_like, margin=margin)


@pytest.mark.parametrize(
    ("expected", "given", "verdict"),
    [
        # A significant difference with the sign, and with the other.
        ("higher", evidence(0.20, 0.001), REPRODUCED),
        ("lower", evidence(-0.20, 0.001), REPRODUCED),
        ("higher", evidence(-0.20, 0.001), CONTRADICTED),
        ("lower", evidence(0.20, 0.001), CONTRADICTED),
        # The threshold itself is not below it.
        ("higher", evidence(0.20, ALPHA), INCONCLUSIVE),
        ("higher", evidence(0.20, np.nextafter(ALPHA, 0)), REPRODUCED),
        # No significance: alike contradicts a claimed difference, not alike decides nothing.
        ("higher", evidence(0.01, 0.6, p_like=0.01), CONTRADICTED),
        ("higher", evidence(0.01, 0.6, p_like=ALPHA), INCONCLUSIVE),
        ("lower", evidence(-0.01, 0.6, p_like=0.6), INCONCLUSIVE),
        # A difference that is significant, has the sign and is smaller than the margin is a difference still.
        ("higher", evidence(0.01, 0.001, p_like=0.001), REPRODUCED),
        # No difference: shown only by likeness, never by a large p.
        ("no_difference", evidence(0.0, 0.99, p_like=0.6), INCONCLUSIVE),
        ("no_difference", evidence(0.0, 0.99, p_like=0.01), REPRODUCED),
        ("no_difference", evidence(0.01, 0.001, p_like=0.01), REPRODUCED),
        # Contradicted by a difference whose whole interval is beyond the margin.
        ("no_difference", evidence(0.20, 0.001), CONTRADICTED),
        ("no_difference", evidence(-0.20, 0.001), CONTRADICTED),
        ("no_difference", evidence(0.06, 0.001), INCONCLUSIVE),
        ("no_difference", evidence(0.07, 0.001, half=0.02), INCONCLUSIVE),  # low is the margin itself
        ("no_difference", evidence(0.0701, 0.001, half=0.02), CONTRADICTED),
        ("no_difference", evidence(0.20, 0.06), INCONCLUSIVE),
        # Nothing is known.
        ("higher", evidence(NAN, NAN), INCONCLUSIVE),
        ("no_difference", evidence(0.0, NAN, p_like=NAN), INCONCLUSIVE),
        # Runs at their limit have ranks but no likeness.
        ("no_difference", Evidence(5, 3.0, NAN, NAN, 0.001, NAN, 0.05), INCONCLUSIVE),
        ("higher", Evidence(5, 3.0, NAN, NAN, 0.001, NAN, 0.05), REPRODUCED),
    ],
)
def test_one_comparison(expected, given, verdict):
    assert judge(expected, given, ALPHA) == verdict


@pytest.mark.parametrize("expected", ["higher", "lower"])
@pytest.mark.parametrize("effect", [-0.3, -0.01, 0.01, 0.3])
@pytest.mark.parametrize("p", [1e-9, 0.049, 0.05, 0.9])
@pytest.mark.parametrize("p_like", [1e-9, 0.05, 0.9])
def test_the_sign_turns_the_verdict_and_nothing_else(expected, effect, p, p_like):
    other = {"higher": "lower", "lower": "higher"}[expected]
    assert judge(expected, evidence(effect, p, p_like), ALPHA) == judge(other, evidence(-effect, p, p_like), ALPHA)


@pytest.mark.parametrize(
    ("holds", "parts", "verdict"),
    [
        ("all", [], NOT_TESTABLE),
        ("all", [REPRODUCED] * 3, REPRODUCED),
        ("all", [REPRODUCED] * 9 + [INCONCLUSIVE], INCONCLUSIVE),
        ("all", [REPRODUCED] * 9 + [CONTRADICTED], CONTRADICTED),
        ("all", [INCONCLUSIVE, CONTRADICTED], CONTRADICTED),
        ("most", [REPRODUCED] * 2 + [INCONCLUSIVE], REPRODUCED),
        ("most", [REPRODUCED, INCONCLUSIVE], INCONCLUSIVE),  # half is not more than half
        ("most", [REPRODUCED] * 2 + [CONTRADICTED], INCONCLUSIVE),
        ("most", [REPRODUCED] + [CONTRADICTED] * 2, CONTRADICTED),
        ("most", [CONTRADICTED, INCONCLUSIVE], INCONCLUSIVE),
    ],
)
def test_several_comparisons(holds, parts, verdict):
    assert together(parts, holds) == verdict


@pytest.mark.parametrize(
    ("low", "high", "paper", "relation"),
    [
        (-0.80, -0.60, (-0.70, -0.70), "overlaps"),
        (-0.70, -0.60, (-0.80, -0.70), "overlaps"),  # they touch
        (-0.30, -0.20, (-0.70, -0.70), "smaller"),
        (-0.95, -0.90, (-0.70, -0.70), "larger"),
        (0.30, 0.40, (0.11, 0.22), "larger"),
        (0.01, 0.02, (0.11, 0.22), "smaller"),
        (0.30, 0.40, (-0.70, -0.70), "opposite"),
        (NAN, NAN, (0.1, 0.2), ""),
    ],
)
def test_magnitudes(low, high, paper, relation):
    assert verdicts.magnitude(low, high, {"low": paper[0], "high": paper[1]}) == relation


def test_a_paper_without_a_magnitude_is_not_compared_with():
    assert verdicts.magnitude(0.1, 0.2, None) == ""
