import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting import tests
from scipy import stats

from tests.conftest import DATA


def ranks_with(u: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two samples of ten whose Mann-Whitney statistic is u. They are far from normal, and have no ties."""
    above, left = divmod(u, 10)
    places = [float(n) for n in range(10 - above - (left > 0))]
    if left:
        # One value of a lies above `left` values of b, which are numbered from 100 on.
        places.append(100 + left - 0.5)
    places += [200.0 + n for n in range(above)]
    return np.exp(np.array(places) / 10), np.exp((100 + np.arange(10.0)) / 10)


@pytest.mark.parametrize("u", range(0, 51))
def test_mann_whitney_gives_the_known_p_of_10_against_10(u):
    known = pd.read_csv(DATA / "mannwhitney_10_vs_10.csv").set_index("u").loc[u]
    a, b = ranks_with(u)
    # The largest value is moved far out: no rank changes, and its sample is not normal.
    (a if a.max() > b.max() else b)[-1] *= 1e6
    assert stats.mannwhitneyu(a, b).statistic == u
    result = paper_tests.compare(a, b)
    assert result["test"] == "Mann-Whitney"
    assert result["p"] == pytest.approx(known["p_asymptotic_continuity"], rel=1e-3)
    assert result["p_exact"] == pytest.approx(known["p_exact"], rel=1e-3)


def test_complete_separation_gives_the_paper_s_recurring_p():
    a, b = np.exp(np.arange(10) / 2), np.exp(20 + np.arange(10) / 2)
    assert f"{paper_tests.compare(a, b)['p']:.1e}" == "1.8e-04"


@pytest.fixture
def normal():
    return stats.norm.ppf((np.arange(10) + 0.5) / 10)


def test_equal_variances_are_tested_by_student(normal):
    a, b = 10 + normal, 12 + normal
    result = paper_tests.compare(a, b)
    assert result["test"] == "Student"
    assert result["p"] == pytest.approx(stats.ttest_ind(a, b).pvalue)


def test_unequal_variances_are_tested_by_welch(normal):
    a, b = 100 + normal, 120 + 10 * normal
    result = paper_tests.compare(a, b)
    assert result["f_test"] < 0.05
    assert result["test"] == "Welch"
    assert result["p"] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_f_test_agrees_with_its_definition(normal):
    a, b = normal, 3 * normal
    ratio = np.var(a, ddof=1) / np.var(b, ddof=1)
    assert paper_tests.f_test(a, b) == pytest.approx(2 * stats.f.cdf(ratio, 9, 9))
    assert paper_tests.f_test(a, b) == pytest.approx(paper_tests.f_test(b, a))
    assert paper_tests.f_test(a, a) == pytest.approx(1)


def test_one_sample_that_is_not_normal_is_enough_for_mann_whitney(normal):
    assert paper_tests.compare(10 + normal, np.exp(3 * normal))["test"] == "Mann-Whitney"


def test_the_ratio_is_of_geometric_means_and_its_interval_holds_it(normal):
    a, b = 2 * np.exp(0.01 * normal), np.exp(0.01 * normal)
    result = paper_tests.compare(a, b)
    assert result["ratio"] == pytest.approx(2)
    assert result["ratio_low"] < 2 < result["ratio_high"]
    swapped = paper_tests.compare(b, a)
    assert swapped["ratio_low"] == pytest.approx(1 / result["ratio_high"])


def test_the_interval_of_the_ratio_covers_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        a, b = np.exp(random.normal(0, 0.2, 6)), np.exp(random.normal(0, 0.05, 6))
        result = paper_tests.compare(a, b)
        covered += result["ratio_low"] < 1 < result["ratio_high"]
    assert 930 <= covered <= 975


def test_effect_sizes(normal):
    result = paper_tests.compare(normal + 12, normal + 10)
    pooled = normal.std(ddof=1)
    assert result["hedges_g"] == pytest.approx(2 / pooled * (1 - 3 / (4 * 18 - 1)), rel=1e-3)
    assert 0.5 < result["superiority"] <= 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_too_few_values_are_not_tested(values):
    result = paper_tests.compare(np.array(values), np.arange(1.0, 11))
    assert result["test"] == "none: too few valid runs"
    assert np.isnan(result["p"])


def test_a_constant_sample_is_not_taken_for_a_normal_one():
    result = paper_tests.compare(np.ones(6), np.arange(2.0, 8))
    assert result["test"] == "Mann-Whitney"
    assert 0 < result["p"] < 0.05


def observations(cells: dict) -> pd.DataFrame:
    rows = []
    for (scheme, runtime), values in cells.items():
        for value in values:
            rows.append(
                {
                    **{
                        "hardware": "uma",
                        "mode": "exact",
                        "scheme": scheme,
                        "runtime": runtime,
                        "affinity": "any",
                        "yield": "default",
                        "sizes": "standard",
                        "instrument": "plain",
                        "section": "s",
                        "metric": "m",
                    },
                    **{"containers": int(scheme[1]), "cores": 2, "censored": False},
                    **{"label": "M", "unit": "s", "better": "lower", "value": value},
                }
            )
    return pd.DataFrame(rows)


def test_every_cell_is_compared_with_bare_metal_and_one_container(normal):
    cells = {
        ("E1", "bare"): 5 + normal / 10,
        ("E1", "docker"): 5 + normal / 10,
        ("E2", "docker"): 9 + normal / 10,
    }
    table = tests.of_cells(observations(cells), "bare", 0.05, {})
    found = {(row.comparison, row.scheme, row.reference) for row in table.itertuples()}
    assert found == {
        ("against bare metal", "E1", "uma/exact/E1/bare/any/default/standard/plain/s"),
        ("against bare metal", "E2", "uma/exact/E1/bare/any/default/standard/plain/s"),
        ("against one container", "E2", "uma/exact/E1/docker/any/default/standard/plain/s"),
    }
    significant = table.set_index(["comparison", "scheme"])["significant"].to_dict()
    assert significant == {
        ("against bare metal", "E1"): False,
        ("against bare metal", "E2"): True,
        ("against one container", "E2"): True,
    }


def test_holm_adjusts_over_the_comparisons_of_a_kind(normal):
    cells = {("E1", "bare"): 5 + normal, ("E1", "docker"): 5.9 + normal, ("E1", "singularity"): 6.2 + normal}
    table = tests.of_cells(observations(cells), "bare", 0.05, {})
    small, large = sorted(table["p"])
    assert sorted(table["p_holm"]) == pytest.approx(sorted([min(1, 2 * small), max(2 * small, large)]))
    # This level is between the raw p and the adjusted one.
    strict = tests.of_cells(observations(cells), "bare", 1.5 * small, {})
    assert not strict["significant"].any() and strict["p"].min() < 1.5 * small


def test_a_variant_is_compared_with_what_it_varies(normal):
    cells = {("E1", "docker"): 5 + normal, ("E1", "docker-ptrace"): 6 + normal}
    table = tests.of_cells(observations(cells), "bare", 0.05, {"docker-ptrace": "docker"})
    assert list(table["comparison"]) == ["against docker"]


def test_affinity_is_compared_with_free_scheduling_and_bare_metal_of_the_same_cores(normal):
    cells = {("E1", "docker"): 5 + normal, ("E1", "bare"): 5 + normal}
    free = observations(cells)
    table = pd.concat([free, free.assign(affinity="pin")])
    found = {(row.comparison, row.runtime, row.reference) for row in tests.of_cells(table, "bare", 0.05, {}).itertuples()}
    assert ("against ANY", "docker", "uma/exact/E1/docker/any/default/standard/plain/s") in found
    assert ("against bare metal", "docker", "uma/exact/E1/bare/pin/default/standard/plain/s") in found


def test_more_containers_than_cores_are_compared_with_as_many(normal):
    cells = {(scheme, "docker"): 5 + normal for scheme in ("O1", "O2", "O3")}
    table = observations(cells).assign(mode="over")
    table["containers"] = table["scheme"].map({"O1": 1, "O2": 2, "O3": 4})
    made = tests.of_cells(table, "bare", 0.05, {})
    chosen = made[made["comparison"] == "against as many containers as cores"]
    assert list(chosen["scheme"]) == ["O3"] and list(chosen["reference"].str.split("/").str[2]) == ["O2"]


def test_settings_and_yielding_are_compared(normal):
    one = observations({("O1", "docker"): 5 + normal}).assign(mode="over")
    table = pd.concat([one.assign(**{"yield": level}) for level in ("default", "enabled")])
    table = pd.concat([table, table.assign(hardware="numa")])
    names = tests.of_cells(table, "bare", 0.05, {})["comparison"].value_counts()
    assert names.to_dict() == {"against yielding enabled": 2, "against NUMA": 2}


def test_runs_at_their_limit_rank_last_and_give_no_interval():
    fast, slow = np.array([1.0, 1.1, 1.2, 1.05, 1.15]), np.array([9.0, 11.9, 11.8, 11.95, 11.7])
    at_limit = np.array([False, True, True, True, True])
    result = paper_tests.compare_censored(slow, fast, at_limit, np.zeros(5, bool))
    assert result["test"].startswith("Mann-Whitney") and result["p"] == pytest.approx(0.0097, abs=5e-5)
    assert result["censored_a"] == 4 and np.isnan(result["ratio_low"]) and result["ratio_of_means"] > 9
    # It does not matter which of the tied runs was close to the limit.
    other = paper_tests.compare_censored(slow[[0, 4, 3, 2, 1]], fast, at_limit, np.zeros(5, bool))
    assert other["p"] == result["p"]


def test_two_samples_at_their_limit_are_not_compared():
    values, all_of = np.full(5, 12.0), np.ones(5, bool)
    assert paper_tests.compare_censored(values, values, all_of, all_of)["test"] == "none: every run hit its limit"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("other", [0.5, 3.0])
def test_counts_that_never_vary_have_a_ratio_and_no_test(other):
    found = paper_tests.compare(np.full(5, 0.5), np.full(5, other))
    assert found["test"] == "none: nothing varies" and np.isnan(found["p"]) and np.isnan(found["ratio_low"])
    assert found["ratio"] == pytest.approx(0.5 / other) and found["sd_a"] == 0


@pytest.mark.filterwarnings("error")
def test_one_sample_may_be_the_same_in_every_run():
    found = paper_tests.compare(np.full(5, 0.5), np.array([0.5, 1.5, 2.5, 0.5, 1.5]))
    assert found["test"] == "Mann-Whitney" and found["ratio_low"] < found["ratio"] < found["ratio_high"]
