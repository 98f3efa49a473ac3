"""The numbers on the page docs/explanation/verdicts.md are those of the simulation's data, or follow from a formula."""

import re

import numpy as np
import pandas as pd
import pytest
from plimsoll.claims import session_verdicts
from scipy import stats

from tests.bench.calibration.simulation.worlds import SPREAD
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs/explanation/verdicts.md").read_text()
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
ROW = re.compile(r"^\| ([a-z: ]+) \| ([\d.]+) % \| ([\d.]+) % \(([\d.]+) %\) \| ([\d.]+) % \|$", re.MULTILINE)
POWER = re.compile(r"^\| (three|five|ten) \| (\d+) % \| (\d+) % \|$", re.MULTILINE)
LOOKS = re.compile(r"^\| (one|two|five) \| (\d+) % \|$", re.MULTILINE)
NUMBERS = {"one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
ALPHA = 0.05


def on_the_page() -> dict[str, tuple[str, ...]]:
    """Return the numbers of each row of the page's table of error rates, as printed."""
    return {row[0]: row[1:] for row in ROW.findall(PAGE)}


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
    assert on_the_page()[words] == (f"{found:.1f}", f"{nominal:g}", by_chance(nominal), f"{refused:.1f}")


def by_chance(nominal: float) -> str:
    """Return what one world in a hundred exceeds if a rule is wrong in `nominal` percent of its 2,000 draws (percent)."""
    return f"{100 * stats.binom.ppf(0.99, 2000, nominal / 100) / 2000:.1f}"


def test_chance_explains_all_rates_but_that_of_the_spread():
    [of_refused] = re.findall(r"\| wrongly contradicted, nominal 2\.5 % \(([\d.]+) %\) \|", PAGE)
    assert of_refused == by_chance(2.5)
    rows = {words: [float(number) for number in numbers] for words, numbers in on_the_page().items()}
    above = [words for words, (found, _, most, refused) in rows.items() if found > most or refused > float(of_refused)]
    assert above == ["a spread: a difference"] and "Only the spread\nexceeds it." in PAGE


def test_the_power_is_that_of_the_simulation(simulated):
    one = simulated[(simulated["family"] == "by effect") & (simulated["holds"] == "each") & simulated["named"].isna()]
    reproduced = one.set_index(["blocks", "expected", "truth"])["reproduced"].mul(100).sort_index()
    kinds = (("higher", "+10%"), ("no_difference", "+0%"))
    rows = [(words, *(f"{reproduced[NUMBERS[words], *kind]:.0f}" for kind in kinds)) for words in ("three", "five", "ten")]
    assert POWER.findall(PAGE) == rows and f"With a spread of {100 * SPREAD:.0f} %:" in PAGE


def decided_by_chance(*levels: float) -> str:
    """Return how often chance decides at one look of several at these two-sided levels, each with as many more blocks
    (percent; Armitage, McPherson and Rowe 1969)."""
    ends, blocks = stats.norm.isf(np.array(levels) / 2), np.arange(1, len(levels) + 1)
    correlation = np.sqrt(np.minimum.outer(blocks, blocks) / np.maximum.outer(blocks, blocks))
    never = stats.multivariate_normal(cov=correlation, seed=1).cdf(ends, lower_limit=-ends)
    return f"{100 * (1 - never):.0f}"


def test_more_looks_find_more_by_chance():
    looks = LOOKS.findall(PAGE)
    assert [words for words, _ in looks] == ["one", "two", "five"]
    assert looks == [(words, decided_by_chance(*[ALPHA] * NUMBERS[words])) for words, _ in looks]


def test_two_sessions_find_a_difference_by_chance_as_often_as_the_page_says():
    both = session_verdicts.level(ALPHA, 2)
    assert f"find a difference that is not there in {decided_by_chance(ALPHA, both)} %" in PAGE
