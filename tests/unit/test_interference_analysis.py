"""From iterations to statistics, tables, recommendations and verdicts, for made-up iterations with known effects."""

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs, paths
from plimsoll.claims import book, evaluate, verdicts
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.designs.interference import papers, recommend, run_tables
from plimsoll.designs.interference import tests as statistics_table
from plimsoll.designs.interference.cells import views
from plimsoll.designs.interference.factors import FREE, OTHER_CORE, PLACEMENTS, SAME_CORE
from plimsoll.pages import wording
from plimsoll.planning import planner

from tests import worlds

DESIGN = designs.find("interference")

# Interference ratios of the made-up data, by case, microservice and co-runner; 0 for all others.
EFFECTS = {
    ("2", "linpack", "linpack"): -0.4,
    ("2", "linpack", "stream"): 0.3,
    ("3b", "linpack", "linpack"): -0.15,
    ("2", "y_cruncher", "linpack"): -0.5,
    ("2", "bonnie", "bonnie"): -0.6,
    ("3a", "bonnie", "bonnie"): -0.6,
    ("3b", "bonnie", "bonnie"): -0.6,
}


def observed(planned, loaded, blocks=5, iterations=6, spread=0.01, seed=7, placements=(FREE,)):
    """Return observations of every view in the placements. Each block has its own level, which is the same for all cells."""
    random = np.random.default_rng(seed)
    levels = 1 + random.normal(0, 0.05, blocks)
    rows = []
    for view in (view for placement in placements for view in views(planned) if view["placement"] == placement):
        effect = EFFECTS.get((view["case"], view["benchmark"], view["co_runner"]), 0)
        for name, metric in loaded["metrics"].items():
            if metric["benchmark"] != view["benchmark"]:
                continue
            better = 1 + effect if metric["better"] == "higher" else 1 - effect
            for block in range(blocks):
                for iteration in range(1, iterations + 1):
                    value = 100 * levels[block] * better * (1 + random.normal(0, spread))
                    described = {key: metric[key] for key in ("label", "unit", "better")}
                    row = {key: view[key] for key in ("case", "pair", "runtime", "placement", "benchmark", "co_runner")}
                    row.update(described, metric=name, value=value, censored=False)
                    rows.append({**row, "repetition": block + 1, "iteration": iteration, "started": 1000.0 * block})
    return pd.DataFrame(rows)


@pytest.fixture
def observations(planned, jha2021):
    return observed(planned, jha2021)


def test_ratios_are_found_with_intervals_within_blocks(observations, jha2021):
    found = statistics_table.statistics_of(observations).set_index(["metric", "case", "co_runner"])
    # Linpack also has two metrics in case 1a.
    assert len(found) == 14 * 19 + 2
    for (case, benchmark, co_runner), effect in EFFECTS.items():
        for metric in (name for name, m in jha2021["metrics"].items() if m["benchmark"] == benchmark):
            row = found.loc[metric, case, co_runner]
            assert row["interference_ratio"] == pytest.approx(effect, abs=0.02)
            assert row["ratio_low"] < row["interference_ratio"] < row["ratio_high"]
            assert row["interval_of"] == "blocks" and row["n"] == 30 and row["blocks"] == 5
    # The blocks differ by 5 %; within them the ratios do not.
    assert (found["ratio_high"] - found["ratio_low"]).dropna().max() < 0.05
    assert found.loc[("floating_point_rate", "1", "none")].isna()["interference_ratio"]


def test_one_window_has_an_interval_of_its_iterations(planned, jha2021):
    found = statistics_table.statistics_of(observed(planned, jha2021, blocks=1, iterations=20))
    assert set(found["interval_of"].dropna()) == {"iterations"}


def test_only_iterations_that_count_become_observations(jha2021):
    def iteration(number, counts):
        used = {"user_seconds": 1.5, "system_seconds": 0.5, "begin": 10.0 * number, "end": 10.0 * number + 4}
        return {"iteration": number, "counts": counts, "values": {"gflops": 40.0 + number}, **used}

    found = {
        "cell": {"members": ["linpack", "stream"]},
        "iterations": [
            {"benchmark": "linpack", "place": 0, "iterations": [iteration(1, True), iteration(2, False), iteration(3, True)]},
            {"benchmark": "stream", "place": 1, "iterations": []},
        ],
    }
    rows = DESIGN.readings.observations(jha2021, {"case": "2"}, found)
    rates = [row for row in rows if row["metric"] == "floating_point_rate"]
    assert [row["value"] for row in rates] == [41.0, 43.0]
    assert {row["co_runner"] for row in rows} == {"stream"}
    assert [row["value"] for row in rows if row["metric"] == "linpack_processors"] == [0.5, 0.5]
    assert DESIGN.readings.of_run(found) == {"iterations": "3 0", "counted": "2 0", "share_counted": 0.0}


def test_pairs_may_share_a_container_if_no_member_loses_too_much(observations, jha2021):
    found = recommend.pairs(statistics_table.statistics_of(observations), jha2021).set_index("pair")
    assert len(found) == 21
    assert found.loc["linpack + linpack", "verdict"] == recommend.MAY_NOT
    assert found.loc["linpack + y_cruncher", "verdict"] == recommend.MAY_NOT  # only one of them loses
    assert found.loc["netperf_tcp_rr + netperf_tcp_stream", "verdict"] == recommend.MAY
    assert found.loc["bonnie + bonnie", "ratio_3b"] == pytest.approx(-0.6, abs=0.03)


def test_too_little_decides_nothing(planned, jha2021):
    noisy = observed(planned, jha2021, blocks=3, iterations=1, spread=0.2)
    found = recommend.pairs(statistics_table.statistics_of(noisy), jha2021)
    assert (found["verdict"] == recommend.OPEN).any()


@pytest.mark.parametrize("name", ["table03", "table04", "table07"])
def test_tables_have_the_paper_s_values_beside_ours(observations, jha2021, name):
    made = run_tables.statistics(observations, jha2021, jha2021["tables"][name])
    assert len(made) == 19 and made["mean"].notna().all() and made["paper_mean"].notna().all()
    printed = pd.read_csv(paths.REFERENCE / f"{jha2021['tables'][name]['reference']}.csv", dtype={"case": str})
    for row in printed.to_dict("records"):
        ours = made[(made["case"] == row["case"]) & (made["co_runner"] == row["co_runner"])]
        assert ours["paper_mean"].item() == row["mean"]


def test_tables_of_ratios_have_the_paper_s(jha2021, planned):
    jha2018 = studies.load("jha2018", designs.known())
    found = papers.printed_values(jha2018).set_index(["metric", "case", "co_runner"])["interference_ratio"]
    assert found["floating_point_rate", "2", "stream"] == 0.2421
    assert found["throughput", "3a", "bonnie"] == -0.2381
    assert found["copy", "2", "stream"] == pytest.approx((11.42 - 13.36) / 13.36)


def evaluated(planned, loaded, observations):
    claims = book.load(loaded["id"])
    book.check_against(loaded, claims)
    runs = pd.DataFrame(columns=["status"])
    results, rows = evaluate.evaluate(claims, StudyObservations(loaded, planned, observations, runs), loaded["alpha"])
    return {result["id"]: result for result in results}, rows


def test_how_iterations_vary_is_not_asked_of_windows_of_seconds(planned, jha2021):
    measured = StudyObservations(jha2021, planned, observed(planned, jha2021), pd.DataFrame(columns=["status"]))
    claims, asked = {claim["id"]: claim for claim in book.load("jha2021")}, evaluate.contrast_finders(planned, jha2021)
    for name in ("c12", "c13", "c36", "c63", "c78", "c89"):
        result, _ = evaluate.one(claims[f"jha2021-{name}"], measured, asked, jha2021["alpha"])
        assert result["verdict"] == verdicts.NOT_TESTABLE and "3.5 s is another question" in result["reason"], result


def test_verdicts_follow_from_what_was_put_in(jha2021, config, small_host):
    planned = planner.make(jha2021, worlds.profile(), small_host, config, {})
    found, rows = evaluated(planned, jha2021, observed(planned, jha2021, placements=PLACEMENTS))
    verdict = {name: result["verdict"] for name, result in found.items()}
    expected = {
        "c01": verdicts.REPRODUCED,  # Linpack gains with STREAM
        "c02": verdicts.CONTRADICTED,  # but not with Bonnie++
        "c07": verdicts.REPRODUCED,  # two Linpack in one container
        "c10": verdicts.REPRODUCED,
        "c11": verdicts.CONTRADICTED,  # case 3b best, but here it is 3a
        "c13": verdicts.REPRODUCED,  # mean and median alike
        "c53": verdicts.REPRODUCED,
        "c54": verdicts.REPRODUCED,
        "c92": verdicts.REPRODUCED,  # some perform better
        "c99": verdicts.REPRODUCED,  # Bonnie++ is not affected by others
    }
    assert {name: verdict[f"jha2021-{name}"] for name in expected} == expected
    assert (
        any(result["substitutes"] == ["Y-Cruncher"] for result in found.values()) and found["jha2021-c01"]["substitutes"] == []
    )
    assert len(rows) > 1000 and verdicts.UNAVAILABLE not in verdict.values()


def against_two_containers() -> dict:
    """Return a claim about two TCP_RR in one container, compared with two containers and not with Netperf alone."""
    (claim,) = [claim for claim in book.load("jha2021") if claim["id"] == "jha2021-c88"]
    return {**claim, "b": {"case": ["3a"], "co_runner": ["netperf_tcp_rr"]}}


def test_what_is_decided_in_one_placement_and_open_in_another_says_both(planned, jha2021):
    """Two TCP_RR in one container lose where they share a core. Elsewhere they vary too much to decide."""
    observations = observed(planned, jha2021, placements=PLACEMENTS)
    of_rr = (observations["benchmark"] == "netperf_tcp_rr") & (observations["case"] == "2")
    observations.loc[of_rr & (observations["placement"] == SAME_CORE), "value"] *= 0.5
    elsewhere = of_rr & (observations["placement"] != SAME_CORE)
    observations.loc[elsewhere, "value"] *= 1 + 0.5 * (observations.loc[elsewhere, "repetition"] % 2)
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    result, _ = evaluate.one(against_two_containers(), measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
    assert (result["verdict"], result["in_part"]) == (verdicts.REPRODUCED, True) and 0 < result["p"] < 0.05
    assert {words: one["verdict"] for words, one in result["arrangements"].items()} == {
        PLACEMENTS[FREE]: verdicts.INCONCLUSIVE,
        PLACEMENTS[SAME_CORE]: verdicts.REPRODUCED,
        PLACEMENTS[OTHER_CORE]: verdicts.INCONCLUSIVE,
    }
    assert f"It holds with {PLACEMENTS[SAME_CORE]} (" in wording.by_arrangement(result)
    assert f"; is open with {PLACEMENTS[FREE]} (" in wording.by_arrangement(result)


def test_a_placement_that_breaks_what_a_case_is_is_left_out_with_its_reason(planned, jha2021):
    """With limits each container has its own core, so a server on the partner's core is not case 3b."""
    observations = observed(planned, jha2021, placements=PLACEMENTS)
    of_rr = (observations["benchmark"] == "netperf_tcp_rr") & (observations["case"] == "3b")
    observations.loc[of_rr, "value"] *= 0.5
    observations.loc[of_rr & (observations["placement"] == OTHER_CORE), "value"] *= 4
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    result, rows = evaluate.one(claims["jha2021-c91"], measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
    (loss,) = [part for part in result["parts"] if part["says"] == "a loss"]
    assert loss["verdict"] == verdicts.REPRODUCED
    assert loss["arrangements"][PLACEMENTS[OTHER_CORE]]["verdict"] == verdicts.NOT_TESTABLE
    assert {row["arrangement"] for row in rows} == {PLACEMENTS[FREE], PLACEMENTS[SAME_CORE]}
    said = wording.by_arrangement(result)
    assert f"is not asked with {PLACEMENTS[OTHER_CORE]} (with limits each container has a core of its own" in said


def test_netperf_alone_is_a_baseline_on_one_core_only(planned, jha2021):
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    measured = StudyObservations(
        jha2021, planned, observed(planned, jha2021, placements=PLACEMENTS), pd.DataFrame(columns=["status"])
    )
    result, rows = evaluate.one(claims["jha2021-c88"], measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
    assert {row["arrangement"] for row in rows} == {PLACEMENTS[SAME_CORE]}
    said = wording.by_arrangement(result)
    assert f"is not asked with {PLACEMENTS[FREE]} (the kernel may place client and server otherwise alone" in said
    assert f"with {PLACEMENTS[OTHER_CORE]} (alone a client and a server on two cores wait to be woken" in said


def test_metrics_of_one_run_share_a_vote_and_each_benchmark_has_one(planned, jha2021):
    """STREAM's four kernels belong to one run. Together they count as much as Linpack's only metric, not four times as much."""
    observations = observed(planned, jha2021)
    there = (observations["case"] == "2") & (observations["benchmark"] == observations["co_runner"])
    observations.loc[there & (observations["benchmark"] == "stream"), "value"] *= 0.8
    kernels = ["copy", "scale", "add", "triad"]
    claim = {"id": "jha2021-c00", "metrics": ["floating_point_rate", *kernels], "holds": "average", "expected": "worse"}
    claim |= {"a": {"case": ["2"], "co_runner": ["same resource"]}, "b": {"case": ["1"]}, "needs": []}
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    result, rows = evaluate.one(claim, measured, evaluate.contrast_finders(planned, jha2021), 0.05)
    means = pd.DataFrame(rows).assign(log=lambda table: np.log1p(table["effect"])).groupby("metric")["log"].mean()
    whole = result["whole"]
    assert (whole["cells"], whole["benchmarks"]) == (len(rows), 2) and whole["runs"] < len(rows)
    assert np.log1p(whole["effect"]) == pytest.approx((means["floating_point_rate"] + means[kernels].mean()) / 2, abs=1e-9)
    assert "each of 2 benchmarks has one vote, and metrics of one run share theirs" in wording.on_the_whole(result)


def test_the_exceptions_of_a_claim_are_left_out(planned, jha2021):
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    for placement, asked in evaluate.contrast_finders(planned, jha2021).items():
        cells = {contrast.a.cell for contrast in asked(claims["jha2021-c06"])}
        assert len(cells) == 15 and "2/linpack+stream/docker/free" not in cells and "3a/linpack+stream/docker/free" in cells
        assert {PLACEMENTS[cell.rpartition("/")[2]] for cell in cells if "netperf" in cell} == {placement}


def test_losses_of_different_microservices_are_compared_beside_the_same_partner(planned, jha2021):
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    asking = evaluate.contrast_finders(planned, jha2021)[PLACEMENTS[FREE]]
    asked = [contrast for part in book.parts_of(claims["jha2021-c95"]) for contrast in asking(part)]
    short = designs.find("interference").report.cell_label
    assert asked
    for contrast in asked:
        assert contrast.a.metric == "tcp_stream_throughput" and contrast.a.reference == "1/netperf_tcp_stream/docker/free"
        partners = [
            short(s.cell, jha2021["metrics"][s.metric]).partition(" beside ")[2].partition(",")[0]
            for s in (contrast.a, contrast.b)
        ]
        assert partners[0] == partners[1] != ""


def test_what_depends_on_the_placement_of_the_server_is_conditional(planned, jha2021):
    """Two TCP_RR in one container gain if they have a core each, and lose if they share one. So the claim is conditional."""
    observations = observed(planned, jha2021, placements=PLACEMENTS)
    of_rr = (observations["benchmark"] == "netperf_tcp_rr") & (observations["case"] == "2")
    for placement, factor in ((FREE, 2.0), (SAME_CORE, 0.5), (OTHER_CORE, 2.0)):
        observations.loc[of_rr & (observations["placement"] == placement), "value"] *= factor
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    asking = evaluate.contrast_finders(planned, jha2021)
    result, rows = evaluate.one(against_two_containers(), measured, asking, jha2021["alpha"])
    assert result["verdict"] == verdicts.CONDITIONAL
    assert result["whole"] is None
    assert {words: one["verdict"] for words, one in result["arrangements"].items()} == {
        PLACEMENTS[FREE]: verdicts.CONTRADICTED,
        PLACEMENTS[SAME_CORE]: verdicts.REPRODUCED,
        PLACEMENTS[OTHER_CORE]: verdicts.CONTRADICTED,
    }
    assert [row["arrangement"] for row in rows] == list(PLACEMENTS.values())
    said = wording.by_arrangement(result)
    assert f"It holds with {PLACEMENTS[SAME_CORE]} (−" in said and f"; is contradicted with {PLACEMENTS[FREE]} (+" in said
    assert result["arrangements"][PLACEMENTS[OTHER_CORE]]["effect_least"] > 0
    # A claim without a server is tested once.
    assert evaluate.one(claims["jha2021-c07"], measured, asking, jha2021["alpha"])[0]["arrangements"] == {}
