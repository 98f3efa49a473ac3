"""Statistics of jha2021, on the papers' own tables. What they print follows from their means, or is known to disagree."""

import numpy as np
import pandas as pd
import pytest
from plimsoll import paths
from plimsoll.analysis import summary
from plimsoll.designs.interference import statistics as interference

from tests.conftest import DATA

REFERENCE = paths.PROJECT / "config/reference"
KNOWN = pd.read_csv(DATA / "jha_interference_ratios.csv")
TABLES = ("linpack", "bonnie_block_input", "bonnie_block_output", "bonnie_block_rewrite", "bonnie_random_seeks")


@pytest.mark.parametrize(("number", "name"), list(enumerate(TABLES, start=3)))
def test_the_ratios_of_jha2021_follow_from_the_means_of_its_tables(number, name):
    table = pd.read_csv(REFERENCE / f"jha2021_table{number}_{name}.csv")
    alone = table.loc[table["case"].astype(str) == "1", "mean"].iloc[0]
    known = KNOWN[(KNOWN["study"] == "jha2021") & (KNOWN["table"].astype(str) == str(number))]
    known = known.set_index([known["case"].astype(str), "co_runner"])["interference_ratio"]
    rows = table[table["case"].astype(str) != "1"]
    assert len(rows) == len(known) > 0
    for row in rows.to_dict("records"):
        better = "higher" if row["higher_is_better"] else "lower"
        found = interference.ratio(row["mean"], alone, better)
        assert found == pytest.approx(known[str(row["case"]), row["co_runner"]], abs=1e-4)


def test_percentages_of_the_texts_are_these_ratios_rounded_or_cut_off_but_for_those_known_to_disagree():
    printed = KNOWN.dropna(subset=["text_percent", "mean"])
    disagree = []
    for row in printed.to_dict("records"):
        ours = 100 * interference.ratio(row["mean"], row["baseline_mean"], "higher")
        scale = 10 ** len(str(row["text_percent"]).rstrip("0").partition(".")[2])
        printings = {round(scale * ours) / scale, int(scale * ours) / scale}
        if not any(row["text_percent"] == pytest.approx(value) for value in printings):
            disagree.append(row["text_agrees"])
    assert set(disagree) == {"no"} and len(disagree) == (printed["text_agrees"] == "no").sum()


def test_lower_is_better_turns_the_sign():
    assert interference.ratio(120, 100, "lower") == pytest.approx(-0.2)
    assert interference.ratio(80, 100, "lower") == pytest.approx(0.2)
    assert interference.ratio(80, 100, "higher") == pytest.approx(-0.2)


def test_the_trimmed_mean_is_of_what_lies_between_the_percentiles():
    found = summary.summary([*range(1, 11), 1000])
    assert found["n"] == 11 and found["maximum"] == 1000 and found["minimum"] == 1
    assert found["median"] == 6
    # The 10th and the 90th percentile of these values are 2 and 10.
    assert found["trimmed_mean"] == pytest.approx(np.mean(range(2, 11)))
    assert found["cv"] == pytest.approx(np.std([*range(1, 11), 1000], ddof=1) / found["mean"])


@pytest.mark.filterwarnings("error")
def test_of_two_values_nothing_is_trimmed():
    assert summary.summary([1.0, 3.0])["trimmed_mean"] == 2.0


def test_one_value_has_no_spread_and_none_no_summary():
    assert np.isnan(summary.summary([3.0])["sd"])
    with pytest.raises(ValueError, match="nothing"):
        summary.summary([])


def test_the_interval_of_a_ratio_covers_it_at_its_rate():
    random = np.random.default_rng(5)
    covered = 0
    for seed in range(200):
        alone, beside = random.normal(100, 5, 12), random.normal(80, 5, 12)
        low, high = interference.ratio_interval(beside, alone, "higher", seed)
        covered += low <= -0.2 <= high
    assert 0.88 <= covered / 200 <= 0.99


@pytest.mark.parametrize(("values", "baseline"), [([1, 2], [1, 2, 3]), ([2, 2, 2], [1, 2, 3])])
def test_too_little_has_no_interval(values, baseline):
    assert all(np.isnan(interference.ratio_interval(values, baseline, "higher")))
