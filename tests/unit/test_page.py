"""Numbers as people read them."""

import pytest
from plimsoll import page


@pytest.mark.parametrize(("value", "text"), [(0, "< 1e-300"), (0.012345, "0.0123"), (float("nan"), ""), (None, ""), ("", "")])
def test_a_p_is_never_zero(value, text):
    assert page.p_value(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (1234.5, "1.23e+03"), (float("nan"), ""), (None, "")])
def test_other_numbers_may_be_zero(value, text):
    assert page.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "+50 %"), (-0.034, "-3.4 %"), (0.0012, "+0.12 %"), (9.0, "x 10"), (None, "")]
)
def test_a_relative_difference(value, text):
    assert page.percent(value) == text


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ({"quantity": None, "effect_least": -0.2, "effect_most": 0.5}, "effect: -20 % to +50 %"),
        ({"quantity": "relative loss", "effect_least": 0.25, "effect_most": 0.25}, "effect: +25 %"),
        ({"quantity": "transport", "effect_least": 0.0, "effect_most": 1.0}, "share of the runs that agree: 0 to 1"),
        (
            {"quantity": "printed value", "effect_least": -0.051, "effect_most": 0.12},
            "difference from the printed value: -5.1 to +12 points",
        ),
        ({"quantity": None, "effect_least": float("nan"), "effect_most": float("nan")}, "no effect could be estimated"),
    ],
)
def test_the_range_of_a_claim_s_effects_is_in_what_they_are_counted_in(claim, text):
    assert page.effects(claim) == text
