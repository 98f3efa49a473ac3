"""The error rates on the page docs/explanation/verdicts.md are those of the simulation's data."""

import re

import pandas as pd
import pytest

from tests.conftest import PROJECT

DIFFERENCE = ["higher", "lower"]
# Which worlds of the simulation each row of the page is about.
ROWS = {
    "a difference": {"family": ["one comparison", "by effect"], "holds": ["each"], "expected": DIFFERENCE},
    "alike": {"family": ["one comparison", "by effect"], "holds": ["each"], "expected": ["no_difference"]},
    "not lower": {"family": ["one comparison", "by effect"], "holds": ["each"], "expected": ["not_lower"]},
    "each of several": {"family": ["several"], "holds": ["each"], "expected": DIFFERENCE},
    "an average: a difference": {"family": ["several"], "holds": ["average"], "expected": DIFFERENCE},
    "an average: alike": {"family": ["several"], "holds": ["average"], "expected": ["no_difference"]},
    "a loss relative to another cell": {"family": ["relative loss"]},
    "a trend": {"family": ["trend"]},
    "a spread: a difference": {"family": ["spread, 6 in a block"], "quantity": ["dispersion"], "expected": DIFFERENCE},
}
# The page names these as worse than nominal: blocks that are not independent of each other.
LEFT_OUT = "lasting deviations"
ROW = re.compile(r"^\| ([a-z: ]+) \| ([\d.]+) % \| ([\d.]+) % \([\d.]+ %\) \| ([\d.]+) % \|$", re.MULTILINE)


def on_the_page() -> dict[str, tuple[str, ...]]:
    """Return the numbers of each row of the page's table of error rates, as printed."""
    found = ROW.findall((PROJECT / "docs/explanation/verdicts.md").read_text())
    return {row[0]: row[1:] for row in found}


@pytest.fixture(scope="module")
def simulated() -> pd.DataFrame:
    table = pd.read_csv(PROJECT / "docs/reports/calibration/simulation.csv")
    return table[table["noise"] != LEFT_OUT]


def test_the_page_has_these_rows():
    assert on_the_page().keys() == ROWS.keys()


@pytest.mark.parametrize("words", ROWS)
def test_a_row_is_the_worst_world_of_its_kind(words, simulated):
    chosen = simulated[simulated[list(ROWS[words])].isin(ROWS[words]).all(axis=1)]
    found, nominal, refused = (100 * chosen[name].max() for name in ("wrongly_found", "nominal_found", "wrongly_refused"))
    assert on_the_page()[words] == (f"{found:.1f}", f"{nominal:g}", f"{refused:.1f}")
