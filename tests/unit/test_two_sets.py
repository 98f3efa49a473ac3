"""Comparison of two result sets, cell by cell: against SciPy's Welch test, with sessions, and what cannot be tested."""

import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import paper_tests
from plimsoll.features.compare import set_sides, two_sets
from plimsoll.features.compare.two_sets import ALIKE, BETTER, UNDECIDED, WORSE, Terms
from scipy import stats

OF_THESE_SESSIONS = Terms(session_blocks=np.inf)


def made(cells: dict[str, list[float]], metric: str = "m", better: str = "higher", session: int = 1, **columns) -> pd.DataFrame:
    """Return a set with these values of each cell, one block after the other."""
    rows = [
        {"metric": metric, "cell": cell, "session": session, "block": block, "value": value, "better": better, **columns}
        for cell, values in cells.items()
        for block, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def noisy(mean: float, spread: float, number: int, seed: int) -> list[float]:
    return list(mean * np.exp(spread * np.random.default_rng(seed).standard_normal(number)))


@pytest.mark.parametrize(("of_a", "of_b"), [(5, 5), (3, 9)])
def test_without_an_allowance_for_days_it_is_welch_s_test(of_a, of_b):
    a, b = noisy(10, 0.1, of_a, 1), noisy(12, 0.2, of_b, 2)
    (row,) = two_sets.compare(made({"c": a}), made({"c": b}), OF_THESE_SESSIONS).to_dict("records")
    welch = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert row["p"] == pytest.approx(welch.pvalue)
    assert row["degrees"] == pytest.approx(welch.df)
    interval = welch.confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))
    assert row["ratio"] == pytest.approx(stats.gmean(b) / stats.gmean(a))
    margin = np.log(1.05)
    one_sided = [
        stats.ttest_ind(np.log(b) + margin, np.log(a), equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(np.log(b) - margin, np.log(a), equal_var=False, alternative="less").pvalue,
    ]
    assert row["p_alike"] == pytest.approx(max(one_sided))


def test_half_the_interval_of_a_mean_is_student_s():
    a, b = noisy(10, 0.1, 5, 1), noisy(12, 0.2, 5, 2)
    (row,) = two_sets.compare(made({"c": a}), made({"c": b})).to_dict("records")
    for half, values in ((row["half_a"], a), (row["half_b"], b)):
        low, high = paper_tests.mean_interval(np.log(values))
        assert np.log1p(half) == pytest.approx((high - low) / 2)


def test_the_sets_may_be_exchanged():
    a, b = (
        {f"c{n}": noisy(10 * (1 + shift * n), 0.02, 5, 10 * n + seed) for n in range(4)} for shift, seed in ((0, 1), (0.1, 2))
    )
    there, back = two_sets.compare(made(a), made(b)), two_sets.compare(made(b), made(a))
    assert there["ratio"].to_numpy() == pytest.approx(1 / back["ratio"].to_numpy())
    assert there["p"].to_numpy() == pytest.approx(back["p"].to_numpy())
    assert there["p_alike"].to_numpy() == pytest.approx(back["p_alike"].to_numpy())
    assert set(there["answer"]) == {UNDECIDED, BETTER} or BETTER in set(there["answer"])


def test_p_are_adjusted_by_holm_and_for_the_number_of_tables():
    sets = [
        {f"c{n}": noisy(10 * (1 + shift * n), 0.05, 5, 10 * n + seed) for n in range(6)} for shift, seed in ((0, 1), (0.05, 2))
    ]
    table = two_sets.compare(*map(made, sets), OF_THESE_SESSIONS)
    assert table["p_holm"].to_numpy() == pytest.approx(paper_tests.holm(table["p"]))
    assert table["p_alike_holm"].to_numpy() == pytest.approx(paper_tests.holm(table["p_alike"]))
    twice = two_sets.compare(*map(made, sets), OF_THESE_SESSIONS, tables=2)
    assert twice["p_holm"].to_numpy() == pytest.approx(np.minimum(1, 2 * table["p_holm"]))


@pytest.mark.parametrize(
    ("change", "better", "answer"),
    [
        (1.5, "higher", BETTER),
        (1.5, "lower", WORSE),
        (1 / 1.5, "higher", WORSE),
        (1 / 1.5, "lower", BETTER),
        (1.0, "lower", ALIKE),
    ],
)
def test_the_metric_s_direction_decides_the_word(change, better, answer):
    a, b = (made({"c": noisy(10 * mean, 0.005, 6, seed)}, better=better) for mean, seed in ((1, 1), (change, 2)))
    assert list(two_sets.compare(a, b)["answer"]) == [answer]


def test_a_small_difference_that_is_not_chance_is_alike():
    a, b = made({"c": noisy(10, 0.001, 8, 1)}), made({"c": noisy(10.15, 0.001, 8, 2)})
    (row,) = two_sets.compare(a, b).to_dict("records")
    assert row["p_holm"] < 0.01 and row["answer"] == ALIKE
    (row,) = two_sets.compare(a, b, Terms(margin=0.01)).to_dict("records")
    assert row["answer"] == BETTER


def test_a_session_is_worth_no_more_than_so_many_blocks():
    """With more and more blocks the interval does not fall below what sessions leave."""
    widths = []
    for blocks in (5, 20, 2000):
        a, b = (made({f"c{n}": noisy(10, 0.1, blocks, 1000 * n + seed) for n in range(10)}) for seed in (1, 2))
        table = two_sets.compare(a, b)
        widths.append(float(np.log(table["high"] / table["low"]).mean()))
        assert table["between_sessions"].iloc[0] == pytest.approx(0.1 * np.sqrt(2 / set_sides.SESSION_BLOCKS), rel=0.25)
    floor = 2 * stats.t.ppf(0.975, set_sides.SESSION_DEGREES) * 0.1 * np.sqrt(2 / set_sides.SESSION_BLOCKS)
    assert widths[0] > widths[1] > widths[2] == pytest.approx(floor, rel=0.05)


def several(day_by_day: list[float], seed: int) -> pd.DataFrame:
    """Return a set of ten cells, with one session for each of these levels."""
    sessions = [
        made({f"c{n}": noisy(level, 0.02, 5, 100 * seed + 10 * number + n) for n in range(10)}, session=number)
        for number, level in enumerate(day_by_day)
    ]
    return pd.concat(sessions, ignore_index=True)


def test_sessions_of_a_set_say_how_much_days_differ():
    calm = two_sets.compare(several([10, 10, 10, 10], 1), several([10, 10, 10, 10], 2))
    stormy = two_sets.compare(several([9, 10, 11, 10], 1), several([10, 11, 9, 10], 2))
    assert (calm["sessions_a"] == 4).all() and (calm["blocks_b"] == 20).all()
    assert stormy["between_sessions"].iloc[0] > 3 * calm["between_sessions"].iloc[0]
    assert (stormy["high"] / stormy["low"]).mean() > (calm["high"] / calm["low"]).mean()


def test_what_sessions_show_is_the_variance_of_their_means_less_that_of_blocks():
    """Without a prior it would be this variance. With SESSION_DEGREES it is the weighted mean of the prior and this
    variance."""
    table = several([9, 10, 11], 3)
    values = two_sets._split(two_sets._prepared(table).assign(all=""), "all")["m", ""]
    found = set_sides.between([values])
    logs = np.log(table["value"]).groupby([table["cell"], table["session"]])
    within = logs.var().mean()
    seen = logs.mean().groupby(level=0).var().mean() - within / 5
    known = 1 / (1 / set_sides.SESSION_DEGREES + 1 / (10 * 3 * 4))
    assert found.degrees == pytest.approx(known + 2)
    assert found.variance == pytest.approx((known * within / set_sides.SESSION_BLOCKS + 2 * seen) / (known + 2))


def test_an_average_counts_what_its_cells_have_in_common_in_a_block():
    """Cells that vary together from block to block say as much as one of them. Independent cells say more."""
    random = np.random.default_rng(4)
    together, alone = random.standard_normal((2, 1, 12)), random.standard_normal((2, 8, 12))
    errors = {}
    for name, noise in (("together", np.broadcast_to(together, alone.shape)), ("alone", alone)):
        sets = [made({f"c{n}": list(10 * np.exp(0.1 * own)) for n, own in enumerate(side)}, group="g") for side in noise]
        (row,) = two_sets.averages(*sets, OF_THESE_SESSIONS).to_dict("records")
        assert row["cell"] == "g" and row["cells"] == 8
        errors[name] = row["between_blocks"]
    one = two_sets.compare(*(made({"c": list(10 * np.exp(0.1 * side[0]))}) for side in together), OF_THESE_SESSIONS)
    assert errors["together"] == pytest.approx(one["between_blocks"].iloc[0])
    assert errors["alone"] == pytest.approx(0.1 * np.sqrt(2 / 12 / 8), rel=0.4)


def test_a_group_of_one_cell_is_no_average():
    sets = [made({"c": noisy(10, 0.1, 5, seed)}, group="g") for seed in (1, 2)]
    assert two_sets.averages(*sets).empty
    (row,) = two_sets.averages(*sets, least=1).to_dict("records")
    (cell,) = two_sets.compare(*sets).to_dict("records")
    assert all(row[key] == pytest.approx(cell[key]) for key in ("ratio", "low", "high", "p"))


def test_several_values_of_a_block_stand_for_their_geometric_mean():
    twice = [[9.0, 10.0, 11.0, 10.5], [11.0, 12.0, 9.0, 9.5]]
    a = pd.concat([made({"c": values}) for values in twice], ignore_index=True)
    b = made({"c": [10.0, 11.0, 10.0, 10.0]})
    (row,) = two_sets.compare(a, b).to_dict("records")
    assert row["ratio"] == pytest.approx(np.exp(np.log([10, 11, 10, 10]).mean() - np.log(twice).mean()))
    assert row["blocks_a"] == 4


def test_only_what_both_sets_have_is_compared():
    a, b = (
        made({"c": noisy(1, 0.1, 5, 1), "d": noisy(1, 0.1, 5, 2)}),
        made({"c": noisy(1, 0.1, 5, 3), "e": noisy(1, 0.1, 5, 4)}),
    )
    assert list(two_sets.compare(a, b)["cell"]) == ["c"]
    nothing = two_sets.compare(a[a["cell"] == "d"], b)
    assert nothing.empty and list(nothing) == list(two_sets.COLUMNS)


def test_too_few_blocks_say_nothing():
    (row,) = two_sets.compare(made({"c": [1.0, 2.0]}), made({"c": [5.0, 5.1, 5.2, 5.3]})).to_dict("records")
    assert row["answer"] == UNDECIDED and np.isnan(row["p"]) and np.isnan(row["low"])
    assert row["note"] == "a side has fewer than 3 blocks" and row["ratio"] > 3


def test_values_that_never_vary_are_the_same_or_told_apart_by_ranks():
    same, other = made({"c": [3.0] * 5}), made({"c": [4.0] * 5})
    (row,) = two_sets.compare(same, same).to_dict("records")
    assert row["answer"] == ALIKE and np.isnan(row["p"]) and row["note"] == "the same in every run"
    (row,) = two_sets.compare(same, other).to_dict("records")
    assert row["p"] == pytest.approx(stats.mannwhitneyu([3] * 4 + [2], [4] * 4 + [5], method="exact").pvalue)
    assert row["p"] == pytest.approx(2 / 252) and row["answer"] == BETTER


def test_a_side_that_does_not_vary_beside_one_that_does_has_no_p_of_0():
    (row,) = two_sets.compare(made({"c": [3.0] * 5}), made({"c": noisy(30, 0.01, 5, 1)}), OF_THESE_SESSIONS).to_dict("records")
    assert 0 < row["p"] < 1e-6
    # The variance between sessions of a metric also counts for a cell that does not vary.
    others = {f"c{n}": noisy(3, 0.1, 5, n) for n in range(5)}
    (row, *_) = two_sets.compare(made({"still": [3.0] * 5, **others}), made({"still": [3.1] * 5, **others})).to_dict("records")
    assert row["between_blocks"] == 0 and row["between_sessions"] > 0.02 and row["p"] > 0.3


def test_values_without_a_logarithm_are_not_compared():
    (row,) = two_sets.compare(made({"c": [0.0, 1.0, 2.0]}), made({"c": [1.0, 1.0, 2.0]})).to_dict("records")
    assert row["answer"] == UNDECIDED and "0 or less" in row["note"]


def test_runs_at_their_limit_are_compared_by_ranks_and_said():
    a, b = (
        made({"c": noisy(10, 0.1, 6, 1)}, better="lower", censored=False),
        made({"c": [60.0] * 6}, better="lower", censored=True),
    )
    (row,) = two_sets.compare(a, b).to_dict("records")
    assert row["answer"] == WORSE and row["p"] >= 2 / 924
    assert "runs at their limit: 0 of 6 in A, 6 of 6 in B" in row["note"] and "bound" in row["note"]
    (row,) = two_sets.compare(b, b).to_dict("records")
    assert row["answer"] == UNDECIDED and np.isnan(row["p"])


@pytest.mark.parametrize(("change", "spread"), [(1.1, 0.1), (1.0, 0.06)])
def test_as_many_blocks_as_are_said_to_decide_would(change, spread):
    """At the estimated difference and spread, the test has a power of 80 % with this number of blocks, and less with
    one less."""
    a, b = noisy(10, spread, 5, 21), noisy(10 * change, spread, 5, 22)
    (row,) = two_sets.compare(made({"c": a}), made({"c": b}), OF_THESE_SESSIONS).to_dict("records")
    number = int(row["blocks_needed"])
    assert row["answer"] == UNDECIDED and number > 5
    size, spreads = np.log(row["ratio"]), [np.std(np.log(values), ddof=1) for values in (a, b)]
    random, found = np.random.default_rng(5), 0
    for _ in range(2000):
        drawn = [spread * random.standard_normal(number) for spread in spreads]
        difference = stats.ttest_ind(drawn[1] + size, drawn[0], equal_var=False)
        low, high = difference.confidence_interval(0.9)
        found += difference.pvalue < 0.05 or (low > -np.log(1.05) and high < np.log(1.05))
    assert 0.74 < found / 2000 < 0.9


def test_where_a_session_cannot_decide_more_sessions_may():
    a, b = (made({f"c{n}": noisy(10 * (1 + 0.3 * at), 0.2, 10, 20 * n + at) for n in range(8)}) for at in (0, 1))
    table = two_sets.compare(a, b)
    still_open = table[table["answer"] == UNDECIDED]
    assert len(still_open) and still_open["blocks_needed"].isna().any()
    assert (still_open.loc[still_open["blocks_needed"].isna(), "sessions_needed"] > 1).any()
