"""From iterations to statistics, tables, recommendations and verdicts, for made-up iterations with known effects."""

import re

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
from plimsoll.pages import procedure_words, wording
from plimsoll.planning import planner

from tests import worlds

DESIGN = designs.find("interference")

# Interference ratios of the made-up data, by case, microservice and co-runner; 0 for all others.
EFFECTS = {
    ("1a", "linpack", "none"): 0.3,
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
    assert not any(result["substitutes"] for result in found.values())
    assert len(rows) > 1000 and verdicts.UNAVAILABLE not in verdict.values()


def of_tcp_rr(case: str, against: str, co_runner: str = "linpack") -> dict:
    """Return the claim that TCP_RR loses in a case, compared with another case and the same co-runner."""
    sides = {"a": {"case": [case], "co_runner": [co_runner]}, "b": {"case": [against], "co_runner": [co_runner]}}
    if against == "1":
        sides["b"] = {"case": ["1"]}
    return {"id": "jha2021-c00", "metrics": ["tcp_rr_throughput"], "expected": "lower", "needs": [], **sides}


def test_what_is_decided_in_one_placement_and_open_in_another_says_both(planned, jha2021):
    """TCP_RR loses in one container where it shares a core. Elsewhere it varies too much to decide."""
    observations = observed(planned, jha2021, placements=PLACEMENTS)
    of_rr = (observations["benchmark"] == "netperf_tcp_rr") & (observations["case"] == "2")
    observations.loc[of_rr & (observations["placement"] == SAME_CORE), "value"] *= 0.5
    elsewhere = of_rr & (observations["placement"] != SAME_CORE)
    observations.loc[elsewhere, "value"] *= 1 + 0.5 * (observations.loc[elsewhere, "repetition"] % 2)
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    result, _ = evaluate.one(of_tcp_rr("2", "3a"), measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
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
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    result, rows = evaluate.one(of_tcp_rr("3b", "2"), measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
    assert result["verdict"] == verdicts.REPRODUCED
    assert result["arrangements"][PLACEMENTS[OTHER_CORE]]["verdict"] == verdicts.NOT_TESTABLE
    assert {row["arrangement"] for row in rows} == {PLACEMENTS[FREE], PLACEMENTS[SAME_CORE]}
    said = wording.by_arrangement(result)
    assert f"is not asked with {PLACEMENTS[OTHER_CORE]} (with limits each container has a core of its own" in said


def test_netperf_alone_is_a_baseline_on_one_core_only(planned, jha2021):
    measured = StudyObservations(
        jha2021, planned, observed(planned, jha2021, placements=PLACEMENTS), pd.DataFrame(columns=["status"])
    )
    result, rows = evaluate.one(of_tcp_rr("2", "1"), measured, evaluate.contrast_finders(planned, jha2021), jha2021["alpha"])
    assert {row["arrangement"] for row in rows} == {PLACEMENTS[SAME_CORE]}
    said = wording.by_arrangement(result)
    assert f"is not asked with {PLACEMENTS[FREE]} (the kernel may place client and server otherwise alone" in said
    assert f"with {PLACEMENTS[OTHER_CORE]} (alone a client and a server on two cores wait to be woken" in said


@pytest.mark.parametrize("left", [[SAME_CORE, OTHER_CORE], [OTHER_CORE]])
def test_a_placement_that_a_study_leaves_out_is_compared_nowhere(jha2021, config, small_host, left):
    jha2021["experiments"]["interference"]["placement"] = left
    plan = planner.make(jha2021, studies.profile("quick"), small_host, config, {})
    asked = evaluate.contrast_finders(plan, jha2021)
    assert list(asked) == [PLACEMENTS[name] for name in left]
    measured = StudyObservations(
        jha2021, plan, observed(plan, jha2021, placements=PLACEMENTS), pd.DataFrame(columns=["status"])
    )
    result, rows = evaluate.one(of_tcp_rr("2", "3a"), measured, asked, jha2021["alpha"])
    assert {row[side].rpartition("/")[2] for row in rows for side in ("cell_a", "cell_b")} == set(left)
    assert set(result["arrangements"] or {PLACEMENTS[left[0]]: result}) == {PLACEMENTS[name] for name in left}


def test_a_microservice_without_a_cell_is_not_measured(jha2021, config, small_host):
    """The runtime that claims are about is off, and only another one has cells."""
    for experiment in jha2021["experiments"].values():
        experiment["runtime"] = ["docker", "podman"]
    runtimes = {**config["runtimes"], "docker": "off", "podman": "optional"}
    plan = planner.make(jha2021, studies.profile("quick"), small_host, {**config, "runtimes": runtimes}, {})
    measured = StudyObservations(jha2021, plan, observed(plan, jha2021), pd.DataFrame(columns=["status"]))
    result, rows = evaluate.one(of_tcp_rr("2", "1"), measured, evaluate.contrast_finders(plan, jha2021), jha2021["alpha"])
    assert (result["verdict"], result["reason"], rows) == (verdicts.NOT_TESTABLE, evaluate.NO_CELLS, [])


def test_two_netperf_with_a_core_each_share_none_and_are_left_out_without_limits(planned, jha2021):
    measured = StudyObservations(
        jha2021, planned, observed(planned, jha2021, placements=PLACEMENTS), pd.DataFrame(columns=["status"])
    )
    asking = evaluate.contrast_finders(planned, jha2021)
    result, rows = evaluate.one(of_tcp_rr("2", "3a", "netperf_tcp_stream"), measured, asking, jha2021["alpha"])
    assert {row["arrangement"] for row in rows} == {PLACEMENTS[FREE], PLACEMENTS[OTHER_CORE]}
    assert f"is not asked with {PLACEMENTS[SAME_CORE]} (two Netperf would have a core each" in wording.by_arrangement(result)
    result, rows = evaluate.one(of_tcp_rr("2", "1", "netperf_tcp_stream"), measured, asking, jha2021["alpha"])
    assert result["verdict"] == verdicts.NOT_TESTABLE and not rows


def of_linpack_alone(times: float) -> dict:
    """Return an effect: what a second core is worth to Linpack alone."""
    return {"metrics": ["floating_point_rate"], "where": {"case": ["1a"]}, "times": times}


def of_two_bonnie(times: float, spread: float = 1.0) -> dict:
    """Return an effect: what two Bonnie++ with limits leave each other of the disk."""
    where = {"case": ["3b"], "co_runner": ["bonnie"]}
    return {"metrics": ["block_output"], "where": where, "times": times, "spread": spread}


def conditional(study, planned, name, effect):
    """Return the result of a claim with a condition, and its comparisons, in a world with one effect."""
    claim = next(claim for claim in book.load("jha2021") if claim["id"] == f"jha2021-{name}")
    world = worlds.World(study, planned, [effect])
    return evaluate.one(claim, world, evaluate.contrast_finders(planned, study), study["alpha"])


@pytest.mark.parametrize(
    ("name", "effect", "standing"),
    [
        ("c01", of_linpack_alone(0.8), "contradicted"),
        ("c04", of_linpack_alone(0.8), "contradicted"),
        ("c65", of_two_bonnie(0.8), "reproduced, smaller"),
        ("c65", of_two_bonnie(1.0), "contradicted"),
    ],
)
def test_a_claim_is_tested_only_if_its_condition_is_shown(planned, jha2021, name, effect, standing):
    """Gains of Linpack need a second core that is worth something, and gains of Bonnie++ a disk that two share."""
    result, rows = conditional(jha2021, planned, name, effect)
    assert (result["verdict"], rows) == (verdicts.NOT_TESTABLE, [])
    assert result["reason"].startswith("it is tested only if ") and result["reason"].endswith(f"; here that is {standing}")


@pytest.mark.parametrize(
    ("name", "effect", "standing", "parts"),
    [
        ("c01", of_linpack_alone(1.0), "inconclusive", 2),
        ("c04", of_linpack_alone(1.0), "inconclusive", 6),
        ("c65", of_two_bonnie(0.64, 35), "reproduced, of unclear size", 2),
    ],
)
def test_a_claim_whose_condition_more_runs_may_show_is_inconclusive(planned, jha2021, name, effect, standing, parts):
    """The condition is one more part, so that blocks for it are planned, too."""
    result, rows = conditional(jha2021, planned, name, effect)
    assert result["verdict"] == verdicts.INCONCLUSIVE and result["reason"].endswith(f"; here that is {standing}")
    assert (result["p"], result["in_part"], result["arrangements"]) == (None, False, {})
    assert [part.get("condition", False) for part in result["parts"]] == [False] * (parts - 1) + [True]
    assert {row["metric"] for row in rows if row["part"] == parts} == set(effect["metrics"])


@pytest.mark.parametrize(("name", "effect"), [("c01", of_linpack_alone(1.4)), ("c65", of_two_bonnie(0.555))])
def test_a_claim_whose_condition_is_shown_says_the_condition(planned, jha2021, name, effect):
    result, rows = conditional(jha2021, planned, name, effect)
    assert rows and not result["reason"] and not result["parts"]
    said = procedure_words.sentence(result["asked"], ["X"], len(rows), lambda factor, name: name)
    assert re.search(r"\? Asked only if .*, which is shown here\.$", said)


def test_what_a_claim_needs_is_tested_before_its_condition(planned, jha2021):
    """The reason is then the missing need alone, as of a claim without a condition."""
    claim = next(claim for claim in book.load("jha2021") if claim["id"] == "jha2021-c01")
    lacking = {**claim, "needs": [*claim["needs"], "own_program"]}
    world = worlds.World(jha2021, planned, [of_linpack_alone(0.8)])
    finders = evaluate.contrast_finders(planned, jha2021)
    result, rows = evaluate.one(lacking, world, finders, jha2021["alpha"])
    assert (result["verdict"], rows) == (verdicts.NOT_TESTABLE, [])
    assert result["reason"] == f"it needs {world.unmet_needs['own_program']}"


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
        cells = {contrast.a.cell for contrast in asked(book.parts_of(claims["jha2021-c06"])[0])}
        assert len(cells) == 12 and "2/linpack+stream/docker/free" not in cells and "3a/linpack+stream/docker/free" in cells
        assert {PLACEMENTS[cell.rpartition("/")[2]] for cell in cells if "netperf" in cell} == {placement}


def test_losses_of_different_microservices_are_compared_beside_the_same_partner(planned, jha2021):
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    asking = evaluate.contrast_finders(planned, jha2021)[PLACEMENTS[FREE]]
    parts = [part for part in book.parts_of(claims["jha2021-c95"]) if "untestable" not in part]
    asked = [contrast for part in parts for contrast in asking(part)]
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
    """TCP_RR in one container gains on two cores, and loses on one. So the claim is conditional."""
    observations = observed(planned, jha2021, placements=PLACEMENTS)
    of_rr = (observations["benchmark"] == "netperf_tcp_rr") & (observations["case"] == "2")
    for placement, factor in ((FREE, 2.0), (SAME_CORE, 0.5), (OTHER_CORE, 2.0)):
        observations.loc[of_rr & (observations["placement"] == placement), "value"] *= factor
    claims = {claim["id"]: claim for claim in book.load("jha2021")}
    measured = StudyObservations(jha2021, planned, observations, pd.DataFrame(columns=["status"]))
    asking = evaluate.contrast_finders(planned, jha2021)
    result, rows = evaluate.one(of_tcp_rr("2", "3a"), measured, asking, jha2021["alpha"])
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
