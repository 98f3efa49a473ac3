"""The papers' claims: none is missing, and each claim of the built study leads to cells or to a reason."""

import copy
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from plimsoll import designs, paths, runtimes
from plimsoll.claims import book, evaluate, findings, result_counts, verdicts
from plimsoll.claims.quantities import count
from plimsoll.claims.sides import Contrast
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.claims.verdicts import Strength
from plimsoll.config import studies
from plimsoll.designs.splitting import contrasts
from plimsoll.designs.splitting.factors import OF_DEPLOYMENT
from plimsoll.errors import PlimsollError
from plimsoll.pages import verdict_page
from plimsoll.planning import planner

from tests.conftest import DATA, ONE_SESSION, built

FIRST = {"li2018-hadoop": 36}
NUMBERS = {
    "liu2020": 126,
    "jha2021": 102,
    "jha2018": 33,
    "amaral2015": 38,
    "li2018": 35,
    "li2018-hadoop": 10,
    "plimsoll2026": 17,
}
REFERENCE = paths.PROJECT / "config/reference"


@pytest.fixture(scope="module")
def claims():
    return book.load_all()


@pytest.fixture
def made(liu2020, config):
    def made(host, profile="quick"):
        return planner.make(liu2020, studies.profile(profile), host, {**config, "profile": profile}, {})

    return made


def cells_of(made, liu2020):
    return contrasts.Cells(made, liu2020)


def by_id(claims, number):
    return next(claim for claim in claims["liu2020"] if claim["id"] == f"liu2020-c{number:02}")


def test_no_claim_was_dropped(claims):
    assert {name: len(of_study) for name, of_study in claims.items()} == NUMBERS
    for name, of_study in claims.items():
        # A study of another part of a paper continues its numbers.
        first = FIRST.get(name, 1)
        numbers = range(first, first + NUMBERS[name])
        assert [claim["id"] for claim in of_study] == [f"{name}-c{number:02}" for number in numbers]


def test_a_vague_claim_has_a_threshold_of_ours_or_a_reason(claims):
    vague = [claim for of_study in claims.values() for claim in of_study if claim.get("vague")]
    assert len(vague) == 21
    # Claims that nothing changes (within the usual margin), or that are about the average, need no threshold of ours.
    usual = ("no_difference", "not_lower", "not_higher", "not_worse", "not_better", "average")
    for claim in vague:
        for one in book.parts_of(claim) or [claim]:
            ours = {"threshold", "untestable"} & set(one) or {one.get("expected"), one.get("holds")} & set(usual)
            assert ours or "parts" in claim, claim["id"]


def test_levels_of_the_built_study_s_claims_are_its_own(claims, liu2020):
    book.check_against(liu2020, claims["liu2020"])
    wrong = [{**claims["liu2020"][12], "scope": {"runtime": ["dockr"]}}]
    with pytest.raises(PlimsollError, match="scope.runtime: 'dockr' is not a level"):
        book.check_against(liu2020, wrong)


@pytest.mark.parametrize("study", ["liu2020", "jha2018", "jha2021", "li2018", "li2018-hadoop", "amaral2015"])
@pytest.mark.parametrize("key", ["scope", "a", "b", "except", "relative_to"])
def test_a_mistyped_factor_is_refused_in_every_design(claims, study, key):
    loaded = built(study)
    book.check_against(loaded, claims[study])
    claim = next(claim for claim in claims[study] if "parts" not in claim)
    with pytest.raises(PlimsollError, match=rf"{claim['id']}: {key}: 'runtimes' is not a factor of the study \("):
        book.check_against(loaded, [{**claim, key: {"runtimes": ["docker"]}}])


@pytest.mark.parametrize(
    ("study", "quantity", "key"),
    [
        ("liu2020", "printed value", "values"),
        ("plimsoll2026", "transport", "values.a"),
        ("jha2021", "variation", "cv"),
    ],
)
def test_a_claim_gives_what_its_quantity_is_set_against(claims, study, quantity, key):
    loaded, wholes = built(study), claims[study]
    of_it = next(one for whole in wholes for one in book.parts_of(whole) or [whole] if one.get("quantity") == quantity)
    lacking = {name: value for name, value in of_it.items() if name != key.partition(".")[0]}
    with pytest.raises(PlimsollError, match=f"{of_it['id']}: {key}: the quantity '{quantity}' needs it"):
        book.check_against(loaded, [lacking])


@pytest.mark.parametrize(
    ("study", "number", "change", "said"),
    [
        ("liu2020", "c01", {"values": {"exat": 0.5}}, "values: 'exat' is neither one of the claim's metrics nor a level"),
        ("liu2020", "c01", {"values": {"exact": 87}}, "values.'exact': 87 is no share between 0 and 1"),
        ("liu2020", "c01", {"values": {"exact": "half"}}, "values.'exact': 'half' is no share between 0 and 1"),
        ("plimsoll2026", "c06", {"values": {"a": "TPC"}}, "values.a: 'TPC' is not one of shared memory, TCP"),
        ("liu2020", "c13", {"quantity": "relative loss"}, "relative_to is missing: the quantity 'relative loss' needs it"),
        ("jha2018", "c02", {"margin": -0.4}, "margin: -0.4 is below 0, which only `not_higher` and `not_lower` can have"),
        ("jha2021", "c01", {"a": {"statistic": ["medain"]}}, "a.statistic: 'medain' is not a level of the study"),
        ("jha2021", "c01", {"a": {"statistic": ["median"]}}, "only one of the sides a and b names a statistic"),
        ("jha2021", "c01", {"a": {"benchmark": ["linpack"]}}, "only one of the sides a and b names a benchmark"),
    ],
)
def test_a_claim_that_would_be_asked_of_nothing_or_of_something_else_is_refused(claims, study, number, change, said):
    loaded = built(study)
    claim = next(claim for claim in claims[study] if claim["id"] == f"{study}-{number}")
    claim = {**(book.parts_of(claim) or [claim])[0], **change}
    with pytest.raises(PlimsollError, match=re.escape(f"{study}-{number}: {said}")):
        book.check_against(loaded, [claim])


def test_a_trend_is_along_a_factor(claims, liu2020):
    trend = next(claim for claim in claims["liu2020"] if "along" in claim and "untestable" not in claim)
    with pytest.raises(PlimsollError, match="along.factor: 'granularities' is not a factor of the study"):
        book.check_against(liu2020, [{**trend, "along": {**trend["along"], "factor": "granularities"}}])


def by_part(claim):
    """Yield the assertions of a claim. An order has one for each entry and the next."""
    for part in book.parts_of(claim) or [claim]:
        pairs = itertools.pairwise(part["order"]) if "order" in part else [(part.get("a"), part.get("b"))]
        for a, b in pairs:
            yield {**part, **({"a": a} if a else {}), **({"b": b} if b else {})}


def test_on_the_paper_s_host_every_claim_has_cells_or_a_reason(claims, liu2020, made, paper_host):
    planned = made(paper_host, "paper")
    splitting = designs.find("splitting").contrasts
    asked, lacking = splitting.comparison_finder(planned, liu2020), splitting.unmet_needs(planned)
    # Docker on the host's network is off in the configuration.
    assert set(lacking) == {"core_samples", "docker_host_network", "shared_ipc", "unprofiled"}
    without = [
        (part["id"], part.get("says"))
        for claim in claims["liu2020"]
        for part in by_part(claim)
        if "untestable" not in part and not set(part["needs"]) & set(lacking) and not asked(part)
    ]
    assert without == []


def test_schemes_are_set_against_the_single_container_of_their_mode(claims, liu2020, made, paper_host):
    found = cells_of(made(paper_host, "paper"), liu2020).find(by_id(claims, 13))
    # Two runtimes, two affinities, four and three schemes, two metrics.
    assert len(found) == 2 * 2 * (4 + 3) * 2
    for contrast in found:
        a, b = contrast.a.cell.split("/"), contrast.b.cell.split("/")
        assert b[2] == f"{a[2][0]}1" and a[2] != b[2]
        assert [x for i, x in enumerate(a) if i != 2] == [x for i, x in enumerate(b) if i != 2]


def test_bare_metal_s_one_cell_a_mode_stands_for_every_scheme(claims, liu2020, made, small_host):
    found = cells_of(made(small_host), liu2020).find(by_id(claims, 58))
    assert {(c.a.cell.split("/")[2], c.b.cell.split("/")[2]) for c in found} == {
        ("E1", "E1"),
        ("E2", "E1"),
        ("O1", "O1"),
        ("O2", "O1"),
    }
    assert {c.b.cell.split("/")[3] for c in found} == {"bare"}


def test_no_cell_is_set_against_itself_where_levels_coincide(claims, liu2020, made, small_host):
    # On two cores, two containers are already the finest scheme.
    cells = cells_of(made(small_host), liu2020)
    moved = {**by_id(claims, 27), "scope": {**by_id(claims, 27)["scope"], "hardware": ["uma"]}}
    assert all(contrast.a.cell != contrast.b.cell for contrast in cells.find(moved))
    assert cells.find(moved) == []


def test_losses_of_benchmarks_are_relative_to_the_single_container(claims, liu2020, made, paper_host):
    cells = cells_of(made(paper_host, "paper"), liu2020)
    of_losses = [part for part in by_part(by_id(claims, 28)) if "relative_to" in part]
    found = [contrast for part in of_losses for contrast in cells.find(part)]
    assert {contrast.a.metric for contrast in found} == {"ptrans_bandwidth"}
    for contrast in found:
        for side in (contrast.a, contrast.b):
            assert side.reference.split("/")[2] == "E1" and side.reference.split("/")[3:] == side.cell.split("/")[3:]


def compared(asked, claim: dict) -> list[str]:
    """Return the paths of the cells that a claim compares, along a trend too."""
    paths = []
    for found in asked(claim):
        sides = found if isinstance(found, list) else [found.a, found.b] if isinstance(found, Contrast) else [found]
        paths += [side.cell for side in sides]
    return paths


def test_a_runtime_that_is_added_enters_no_claim_that_does_not_name_it(claims, config, liu2020, small_host):
    """Charliecloud is a variant of none."""
    assert runtimes.find("charliecloud").variant_of is None
    every = {**config, "runtimes": dict.fromkeys(runtimes.known(), "optional")}
    plan = planner.make(liu2020, studies.profile("quick"), small_host, every, {})
    assert any("/charliecloud/" in path for path in plan["cells"])
    asked = designs.find("splitting").contrasts.comparison_finder(plan, liu2020)
    parts = [part for claim in claims["liu2020"] for part in book.parts_of(claim) or [claim]]
    seen = [path for part in parts for path in compared(asked, part)]
    assert seen and not [path for path in seen if "/charliecloud/" in path]
    scope = {"mode": ["exact"], "granularity": ["one"]}
    naming = {"metrics": ["fft_gflops"], "a": {"runtime": ["charliecloud"]}, "b": {"runtime": ["bare"]}, "scope": scope}
    assert any("/charliecloud/" in path for path in compared(asked, naming))


@pytest.mark.parametrize("study", ["jha2021", "li2018-hadoop"])
def test_a_runtime_that_is_added_enters_no_claim_in_studies_of_one_runtime(claims, config, paper_host, study):
    loaded = copy.deepcopy(built(study))
    for experiment in loaded["experiments"].values():
        experiment["runtime"].append("podman")
    every = {**config, "runtimes": {**config["runtimes"], "podman": "optional"}}
    plan = planner.make(loaded, studies.profile("quick"), paper_host, every, {})
    assert any("/podman" in path or path.startswith("podman") for path in plan["cells"])
    asked = designs.find(loaded["design"]).contrasts.comparison_finder(plan, loaded)
    parts = [part for claim in claims[study] for part in book.parts_of(claim) or [claim]]
    seen = [path for part in parts for path in compared(asked, part)]
    assert seen and not [path for path in seen if "podman" in path]


def test_docker_s_filter_is_an_arrangement(claims, liu2020, made, small_host):
    splitting = designs.find("splitting").contrasts
    arranged = splitting.arrangements(made(small_host))
    assert list(arranged) == ["Docker's default seccomp filter", "process_vm_readv allowed in Docker"]
    usual, allowed = (splitting.comparison_finder(plan, liu2020) for plan in arranged.values())
    claim = splitting.transferred_claim(by_id(claims, 22))
    in_place = [contrast.a.cell.replace("/docker/", "/docker-ptrace/") for contrast in usual(claim)]
    assert [contrast.a.cell for contrast in allowed(claim)] == in_place
    assert {contrast.b.cell.split("/")[3] for contrast in allowed(claim)} == {"bare"}
    # Losses have their reference in the same arrangement.
    (part,) = [part for part in by_part(by_id(claims, 28)) if part.get("says", "").startswith("and than")]
    for contrast in allowed(splitting.transferred_claim(part)):
        for side in (contrast.a, contrast.b):
            assert side.cell.split("/")[3] == side.reference.split("/")[3] != "docker"


def test_a_comparison_is_arranged_as_a_whole_or_not_at_all(claims, liu2020, made, small_host):
    splitting = designs.find("splitting").contrasts
    usual, allowed = (splitting.comparison_finder(plan, liu2020) for plan in splitting.arrangements(made(small_host)).values())
    # docker-ptrace has no cells with affinity. c118 is not only about EP-STREAM, so this arrangement has no comparison
    # for it. It has no cells of EP-DGEMM either, whose ranks copy nothing from each other.
    assert usual(by_id(claims, 118)) and allowed(by_id(claims, 118)) == []
    assert allowed(by_id(claims, 82)) == usual(by_id(claims, 82))
    one_container = [contrast.a for contrast in allowed(by_id(claims, 57)) if "/docker" in contrast.a.cell]
    assert {(side.cell.split("/")[3], side.cell.split("/")[-1] in ("dgemm", "stream")) for side in one_container} == {
        ("docker", True),
        ("docker-ptrace", False),
    }


def test_where_the_other_docker_is_off_there_is_one_arrangement(config, liu2020, small_host):
    settings = {**config, "runtimes": {**config["runtimes"], "docker-ptrace": "off"}}
    plan = planner.make(liu2020, studies.profile("quick"), small_host, settings, {})
    assert list(designs.find("splitting").contrasts.arrangements(plan)) == ["Docker's default seccomp filter"]


def test_cpu_affinity_of_one_socket_is_that_of_cpumem(claims, liu2020, made, small_host):
    splitting = designs.find("splitting").contrasts
    # The claim leaves out containers with one core each. This host has no others, so the exception is dropped.
    claim = {key: value for key, value in by_id(claims, 106).items() if key != "except"}
    found = splitting.comparison_finder(made(small_host), liu2020)(splitting.transferred_claim(claim))
    assert {(c.a.cell.split("/")[4], c.b.cell.split("/")[4]) for c in found} == {("cpumem", "any")}


def test_yielding_is_asked_of_the_runs_that_vary_it(claims, liu2020, made, small_host):
    found = cells_of(made(small_host), liu2020).find(by_id(claims, 80))
    assert {(c.a.cell.split("/")[5], c.b.cell.split("/")[5]) for c in found} == {("default", "enabled")}
    assert {c.a.cell.split("/")[6] for c in found} == {"yielding"}


def observed(made, liu2020, effects, spread=0.01, seed=4):
    """Return observations and runs of a plan.

    Every value is 10 (a share 0.3), times the block's factor (1 for shares), times the effect of the first rule that matches.
    """
    random = np.random.default_rng(seed)
    blocks = np.exp(random.normal(0, 0.2, made["repetitions"]))
    rows = []
    for cell in made["cells"].values():
        if cell["reason"]:
            continue
        for name, metric in liu2020["metrics"].items():
            if metric["section"] != cell["section"] or metric.get("sizes", cell["sizes"]) != cell["sizes"]:
                continue
            if metric["instrument"] != cell["instrument"]:
                continue
            share = metric["unit"].startswith("share")
            factor = next((f for matches, f in effects if matches(cell, name)), 1.0)
            keys = {key: cell[key] for key in (*OF_DEPLOYMENT, "section")}
            values = (0.3 if share else 10 * blocks) * factor * np.exp(random.normal(0, spread, len(blocks)))
            for block, value in enumerate(values, 1):
                rows.append({**keys, "metric": name, "repetition": block, "value": value, "censored": False})
    observations = pd.DataFrame(rows)
    runs = observations.drop_duplicates(["repetition", *OF_DEPLOYMENT, "section"])
    split = runs["runtime"].isin(["docker", "docker-ptrace"]) & (runs["scheme"].str[1:] != "1")
    carried = np.where(split, "TCP", "shared memory")
    return observations, runs.assign(status="valid", transport=carried)


@pytest.fixture
def judged(claims, liu2020, made, small_host):
    def judged(numbers, effects, spread=0.01, repetitions=10):
        planned = {**made(small_host), "repetitions": repetitions}
        measured = StudyObservations(liu2020, planned, *observed(planned, liu2020, effects, spread))
        wanted = [number if isinstance(number, dict) else by_id(claims, number) for number in numbers]
        results, table = evaluate.evaluate(wanted, measured, 0.05)
        return results, table

    return judged


def several(cell, metric):
    return cell["runtime"] in ("docker", "docker-ptrace", "singularity-instance") and cell["containers"] > 1


def test_a_comparison_of_losses_names_the_cells_that_they_are_relative_to(judged):
    of_losses = judged([32], [])[1]
    assert len(of_losses) and of_losses[["reference_a", "reference_b"]].notna().all(axis=None)
    assert (of_losses["reference_a"] != of_losses["cell_a"]).all()
    assert judged([13], [])[1][["reference_a", "reference_b"]].isna().all(axis=None)


def test_a_known_loss_is_found_and_its_interval_covers_it(judged):
    results, table = judged([13], [(several, 0.8)])
    assert results[0]["verdict"] == verdicts.REPRODUCED and results[0]["transferred"]
    assert (table["low"] < -0.2).mean() > 0.8 and (table["high"] > -0.2).mean() > 0.8
    assert table["effect"].to_numpy() == pytest.approx(-0.2, abs=0.02)


def test_blocks_take_out_what_a_block_does_to_all_its_runs(judged):
    # Blocks differ by 20 %, runs within one by 1 %. Without pairing, 3 % could not be seen with ten runs.
    results, table = judged([13], [(several, 0.97)])
    assert results[0]["verdict"] == verdicts.REPRODUCED
    assert (table["paper_p"] > 0.05).all()


def test_a_gain_where_the_paper_has_a_loss_contradicts_it(judged):
    assert judged([13], [(several, 1.2)])[0][0]["verdict"] == verdicts.CONTRADICTED


def test_no_effect_contradicts_a_claimed_one_only_if_it_has_a_size_and_that_is_excluded(judged, claims):
    # The paper says 37 % in c17 (for its 16 ranks), and no size in c13.
    sized = {**by_id(claims, 17), **book.parts_of(by_id(claims, 17))[1], "needs": []}
    del sized["parts"]
    assert judged([sized], [], spread=0.01)[0][0]["verdict"] == verdicts.CONTRADICTED
    assert judged([13], [], spread=0.01)[0][0]["verdict"] == verdicts.INCONCLUSIVE
    unclear = judged([sized], [], spread=0.5)[0][0]
    assert unclear["verdict"] == verdicts.INCONCLUSIVE and unclear["needed"] > 10


def test_the_whole_is_judged_and_what_stands_out_is_named(judged, claims):
    def other(cell, metric):
        return cell["runtime"] == "docker" and cell["affinity"] == "pin" and cell["containers"] > 1

    result, table = judged([{**by_id(claims, 13), "holds": "average"}], [(other, 1.3), (several, 0.5)])
    whole = result[0]["whole"]
    assert result[0]["verdict"] == verdicts.REPRODUCED and whole["high"] < 0
    # The comparisons are made in each of two arrangements.
    assert 2 * whole["cells"] == len(table)
    out = {(one["metric"], one["cell_a"]) for one in result[0]["stands_out"]}
    contradicting = table[table["verdict"] == verdicts.CONTRADICTED]
    assert out == set(zip(contradicting["metric"], contradicting["cell_a"], strict=True))
    assert out and all("/docker/pin/" in cell for _, cell in out)


def test_the_average_of_a_block_is_one_value(judged):
    result, table = judged([13], [(several, 0.9)], spread=0.03)
    whole = result[0]["whole"]
    averages = np.expm1(np.log1p(table["effect"]).groupby(table["arrangement"]).mean())
    assert whole["n"] == 10 and np.isclose(averages, whole["effect"]).any()
    assert whole["high"] - whole["low"] < (table["high"] - table["low"]).min()


def test_no_difference_is_reproduced_by_likeness_and_not_by_noise(judged):
    assert judged([23], [], spread=0.01)[0][0]["verdict"] == verdicts.REPRODUCED
    unclear = judged([23], [], spread=0.2)[0][0]
    assert unclear["verdict"] == verdicts.INCONCLUSIVE and unclear["needed"] > 10


def test_latencies_go_the_other_way(judged):
    def slower(cell, metric):
        return several(cell, metric) and "latency" in metric

    def faster(cell, metric):
        return several(cell, metric) and "latency" not in metric

    results, _ = judged([14, 56], [(slower, 3.0), (faster, 0.5)])
    assert [result["verdict"] for result in results] == [verdicts.REPRODUCED] * 2


def test_a_smaller_loss_of_one_benchmark_is_seen(judged):
    def little(cell, metric):
        return several(cell, metric) and metric == "ptrans_bandwidth"

    def few(cell, metric):
        return metric == "ptrans_calls"

    results, table = judged([28], [(little, 0.9), (few, 0.1), (several, 0.3)])
    assert results[0]["verdict"] == verdicts.REPRODUCED
    losses = table[table["part"] < 3]
    assert losses["effect"].to_numpy() == pytest.approx(0.1 - 0.7, abs=0.05)
    assert (table[table["part"] == 3]["effect"] == 1).all() and len(losses) < len(table)


# By claim: the number of the part about what takes the time or makes the calls, and the metric that is small there.
HALVES = {
    5: (2, "stream_other_share"),
    6: (2, "dgemm_other_share"),
    9: (1, "ptrans_other_transfers_share"),
    28: (3, "ptrans_calls"),
}


@pytest.mark.parametrize("number", HALVES)
def test_what_a_benchmark_mostly_does_is_set_against_all_else_that_it_does(judged, number):
    part, little = HALVES[number]

    def verdict(factor):
        result, table = judged([number], [(lambda cell, metric: metric == little, factor)])
        assert set(table[table["part"] == part]["n"]) == {10}
        assert all("/bare/pin/" in cell for cell in table[table["part"] == part]["cell_a"])
        return result[0]["parts"][part - 1]["verdict"]

    assert verdict(0.2) == verdicts.REPRODUCED
    assert verdict(2.0) == verdicts.CONTRADICTED


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.7, verdicts.REPRODUCED), (0.5, verdicts.INCONCLUSIVE), (0.3, verdicts.CONTRADICTED)]
)
def test_mainly_through_collectives_leaves_less_than_half_to_others(judged, share, verdict):
    results, _ = judged([11], [(lambda cell, metric: metric == "fft_collective_share", share)])
    assert results[0]["parts"][0]["verdict"] == verdict


def test_a_part_that_is_all_there_is_in_every_run_is_like_the_whole(judged):
    results, table = judged([11], [], spread=0.0)
    rows = table[table["part"] == 1]
    assert results[0]["parts"][0]["verdict"] == verdicts.REPRODUCED
    assert set(rows["test"]) == {"none: the same in every run"} and set(rows["effect"]) == {0.0}
    # Other metrics and cells are tested by the signs of ten equal differences: for a claimed difference, and for likeness.
    others = table[table["part"] == 2]
    assert results[0]["parts"][1]["verdict"] == verdicts.INCONCLUSIVE and set(others["effect"]) == {0.0}
    assert set(others["test"]) == {"signs within blocks, whose differences are all the same"}
    assert set(others["p"]) == {1.0}
    assert judged([33], [], spread=0.0)[0][0]["verdict"] == verdicts.REPRODUCED


def test_functions_that_were_not_called_have_a_share_that_can_be_compared(judged):
    results, table = judged([9], [(lambda cell, metric: metric == "ptrans_other_transfers_share", 0.0)])
    assert results[0]["parts"][0]["verdict"] == verdicts.REPRODUCED
    assert table["mean_b"].to_numpy() == pytest.approx(1e-6) and np.isfinite(table["effect"]).all()


def test_what_was_collected_before_a_metric_was_there_decides_nothing(claims, liu2020, made, small_host):
    planned = made(small_host)
    observations, runs = observed(planned, liu2020, [])
    new = {name for number in (5, 6, 9, 11, 28) for part in by_part(by_id(claims, number)) for name in part["metrics"]}
    measured = StudyObservations(liu2020, planned, observations[~observations["metric"].isin(new)], runs)
    results, _ = evaluate.evaluate([by_id(claims, number) for number in (5, 6, 9)], measured, 0.05)
    assert {result["verdict"] for result in results} == {verdicts.INCONCLUSIVE}


def test_what_carried_the_messages_is_counted(judged, claims):
    claim = by_id(claims, 21)
    results, table = judged([21], [])
    # The made-up runs give Singularity instances shared memory, which contradicts that part of the claim.
    assert results[0]["parts"][0]["verdict"] == verdicts.CONTRADICTED
    assert set(table[table["cell_a"].str.contains("docker")]["verdict"]) == {verdicts.REPRODUCED}
    assert any(part.get("quantity") == "transport" for part in book.parts_of(claim))


def test_of_no_runs_there_is_no_share_that_agrees():
    nothing, some = count.share(0, 0), count.share(0, 4)
    assert np.isnan(nothing["effect"]) and nothing["test"].startswith("none: ") and some["effect"] == 0


def shares(**of_metrics):
    return [(lambda cell, metric, name=name: metric == name, share / 0.3) for name, share in of_metrics.items()]


PRINTED = {
    **{"id": "liu2020-c01", "question": "RQ1", "needs": ["mpi_profiler"], "quantity": "printed value"},
    **{"metrics": ["beff_mpi_share"], "a": {"runtime": ["bare"]}, "scope": {"mode": ["exact", "halved"]}},
    "values": {"exact": 0.87, "halved": 0.95},
}


def in_mpi(exact, over):
    return [
        (lambda cell, metric: metric == "beff_mpi_share" and cell["mode"] == "exact", exact / 0.3),
        (lambda cell, metric: metric == "beff_mpi_share", over / 0.3),
    ]


@pytest.mark.parametrize(
    ("exact", "over", "verdict"),
    [
        (0.87, 0.95, verdicts.REPRODUCED),
        (0.84, 0.94, verdicts.REPRODUCED),
        (0.60, 0.95, verdicts.CONTRADICTED),
        # Odds count: 99 % is only four points above 95 %, but odds of 99 to 1 are not those of 19 to 1.
        (0.87, 0.99, verdicts.CONTRADICTED),
        # At the margin nothing is decided: the odds are lower by a factor of 1.5.
        (1 / (1 + 1.5 * 0.13 / 0.87), 0.95, verdicts.INCONCLUSIVE),
    ],
)
def test_a_printed_share_is_met_within_a_factor_of_its_odds(judged, exact, over, verdict):
    results, table = judged([PRINTED], in_mpi(exact, over), spread=0.003)
    assert results[0]["verdict"] == verdict
    assert table["effect"].to_numpy() == pytest.approx([exact - 0.87, over - 0.95], abs=0.01)
    assert set(table["mean_b"]) == {0.87, 0.95} and set(table["cell_b"]) == {"the paper"}


def test_shares_of_sixteen_ranks_are_asked_of_sixteen_ranks(judged):
    result = judged([1], in_mpi(0.87, 0.95))[0][0]
    assert result["verdict"] == verdicts.NOT_TESTABLE and "16 ranks" in result["reason"]


def test_shares_of_communication_benchmarks_are_set_against_the_others(judged):
    busy = shares(beff_mpi_share=0.9, randomaccess_mpi_share=0.5, ptrans_mpi_share=0.2, fft_mpi_share=0.2)
    results, table = judged([7], [*busy, *shares(stream_mpi_share=0.05, dgemm_mpi_share=0.02)])
    assert results[0]["verdict"] == verdicts.REPRODUCED and len(table) == 6
    # A share that the profiling library inflates is not tested.
    assert [part["verdict"] for part in results[0]["parts"]].count(verdicts.NOT_TESTABLE) == 1


SHARES = [f"{name}_mpi_share" for name in ("beff", "randomaccess", "ptrans", "fft", "stream", "dgemm")]


def test_a_metric_of_which_the_opposite_is_said(judged, claims):
    def over(cell, metric):
        return cell["mode"] == "halved" and metric.endswith("_mpi_share") and metric != "randomaccess_mpi_share"

    def random_access(cell, metric):
        return cell["mode"] == "halved" and metric == "randomaccess_mpi_share"

    # The paper's whole sentence. Otherwise its G-RandomAccess is not tested, because the profiler inflates it.
    part = book.parts_of(by_id(claims, 8))[0]
    both = {**part, "needs": [], "metrics": SHARES, "opposite": ["randomaccess_mpi_share"], "holds": "each"}
    assert judged([both], [(over, 2.0), (random_access, 0.5)])[0][0]["verdict"] == verdicts.REPRODUCED
    assert judged([both], [(over, 2.0), (random_access, 2.0)])[0][0]["verdict"] == verdicts.CONTRADICTED


@pytest.mark.parametrize(("factor", "verdict"), [(100, verdicts.REPRODUCED), (0.01, verdicts.CONTRADICTED)])
def test_calls_are_compared_in_every_run(judged, factor, verdict):
    results, table = judged([12], [(lambda cell, metric: metric != "fft_calls", factor)])
    assert results[0]["verdict"] == verdict
    assert set(table["test"]) == {"Wilson's interval"} and set(table["n"]) == {10}


def test_the_time_in_point_to_point_functions_is_asked_of_docker_on_this_host_too(judged):
    def two(cell, metric):
        return cell["scheme"] == "E2"

    results, table = judged([15, 17, 19, 20], [(two, 16.0)])
    # Two ranks in two containers are the paper's E5, of which it prints the size too.
    assert {(result["verdict"], result["size"], result["in_part"]) for result in results} == {
        (verdicts.REPRODUCED, verdicts.LARGER, True)
    }
    assert all(result["transferred"] for result in results)
    # Docker with its default filter, and Docker that lets ranks copy from each other's memory.
    assert table[table["part"] == 1].groupby("arrangement").size().to_list() == [4, 4]


def test_events_that_do_not_happen_have_no_logarithm_and_no_trouble(judged, claims):
    anywhere = {**by_id(claims, 37), "needs": [], "b": {"granularity": ["one"]}}
    results, table = judged([anywhere], [(lambda cell, metric: metric == "dgemm_rank_migrations", 0.0)])
    assert results[0]["verdict"] == verdicts.INCONCLUSIVE
    assert table["effect"].to_numpy() == pytest.approx([0.0])


def test_memory_contention_is_relative_to_one_rank_alone(claims, liu2020, made, paper_host):
    planned = {**made(paper_host, "paper"), "repetitions": 6}

    def stalls(cell, metric):
        return metric == "stream_stalls" and cell["scheme"] == "S1"

    def uma(cell, metric):
        return metric == "stream_stalls" and cell["hardware"] == "uma"

    observations, runs = observed(planned, liu2020, [(stalls, 0.1), (uma, 2.0)])
    measured = StudyObservations(liu2020, planned, observations, runs)
    results, table = evaluate.evaluate([by_id(claims, 75)], measured, 0.05)
    assert results[0]["verdict"] == verdicts.REPRODUCED
    # Stall cycles per work cycle are about 1 alone, 10 on NUMA and 20 on UMA. The ratios are about 4.5 and 9.5.
    assert (table["effect"] > 0).all() and set(table["expected"]) == {"higher"}
    assert all("/S1/" in contrast.a.reference for contrast in cells_of(planned, liu2020).find(by_id(claims, 75)))


def test_a_trend_needs_three_levels_and_says_so(judged):
    result = judged([25], [])[0][0]
    assert result["verdict"] == verdicts.NOT_TESTABLE
    assert "three levels" in result["reason"] or "four cores" in result["reason"]


def test_what_is_missing_is_named(judged, claims):
    misses = {**by_id(claims, 39), "needs": [], "b": {"granularity": ["one"]}}
    results, _ = judged([55, misses, 60, 126], [])
    assert {result["verdict"] for result in results} == {verdicts.NOT_TESTABLE}
    for result, word in zip(results, ("samples of the core", "does not count", "two sockets", "host's IPC"), strict=True):
        assert word in result["reason"]


def test_claims_need_counters_and_the_scheduler_of_the_paper(claims, made, paper_host, small_host):
    contrasts_of = designs.find("splitting").contrasts
    described, here = made(paper_host), made({**small_host, "kernel": "6.8.0-31-generic"})
    assert not {"hw_perf_counters", "cfs"} & set(contrasts_of.unmet_needs(described))
    lacking = contrasts_of.unmet_needs(here)
    assert "performance counters" in lacking["hw_perf_counters"] and "Linux 6.8.0-31-generic has EEVDF" in lacking["cfs"]
    for release in ("6.5.13", "3.10.0-1062.el7.x86_64"):
        assert "cfs" not in contrasts_of.unmet_needs({**here, "kernel": release})
    # One counter of the processor is enough. Metrics of others say which ones are unavailable.
    one = made({**small_host, "events": {"l3_misses": "LLC-load-misses"}})
    assert "hw_perf_counters" not in contrasts_of.unmet_needs(one)
    counted = {claim["id"] for claim in claims["liu2020"] if any("_l3_" in metric for metric in claim["metrics"])}
    needing = {claim["id"] for claim in claims["liu2020"] if "hw_perf_counters" in claim["needs"]}
    assert counted and counted <= needing


def test_what_speaks_against_a_claim_is_adjusted_for_its_comparisons(judged):
    _, table = judged([13], [(several, 1.01)], spread=0.03)
    assert (table["p_opposes_holm"] >= table["p_opposes"]).all()
    for _, arranged in table.groupby("arrangement"):
        assert arranged["p_opposes_holm"].min() == pytest.approx(min(1, arranged["p_opposes"].min() * len(arranged)))


def test_too_few_blocks_decide_nothing(judged):
    result = judged([13], [(several, 0.5)], repetitions=2)[0][0]
    assert result["verdict"] == verdicts.INCONCLUSIVE


def test_a_repetition_of_a_finding_is_not_counted_again(claims):
    results = [result for of_study in claims.values() for result in findings.unavailable(of_study, "not here")]
    counted = sum(row["findings"] for row in result_counts.summarise(results))
    assert counted == sum(NUMBERS.values()) - sum(bool(result["same_as"]) for result in results) < sum(NUMBERS.values())


def test_a_study_alone_counts_its_findings_that_repeat_another_study_s(claims):
    results = findings.unavailable(claims["jha2018"], "not here")
    assert any(result["same_as"].startswith("jha2021") for result in results if result["same_as"])
    assert sum(row["findings"] for row in result_counts.summarise(results)) == NUMBERS["jha2018"]


@pytest.mark.parametrize(("of_second", "expected"), [("", ""), (verdicts.OPPOSITE, verdicts.OPPOSITE)])
def test_the_size_of_a_part_that_does_not_decide_is_not_the_sentence_s(of_second, expected):
    common = {
        "reason": "",
        "comparisons": 1,
        "transferred": False,
        "left_out": 0,
        "substitutes": [],
        "unwatched": 0,
        "needed": None,
        "arrangements": {},
    }
    first = {**common, "verdict": verdicts.INCONCLUSIVE, "size": verdicts.AS_LARGE, "evidence": {"": Strength(0.2, 0.8)}}
    second = {**common, "verdict": verdicts.CONTRADICTED, "size": of_second, "evidence": {"": Strength(1.0, 0.001)}}
    rows = [{"verdict": part["verdict"], "effect": 0.1, "n": 5} for part in (first, second)]
    claim = {"id": "liu2020-c01", "parts": [{"says": "a gain"}, {"says": "the largest"}]}
    whole = findings.of_parts(claim, [first, second], rows, 0.05)
    assert whole["verdict"] == verdicts.CONTRADICTED and whole["size"] == expected


def test_a_study_counts_its_findings_that_repeat_those_of_a_study_that_was_not_measured(claims):
    """The page of all verdicts does so if jha2018 was measured and jha2021 was not."""
    results = findings.unavailable(claims["jha2021"], "not here") + findings.unavailable(claims["jha2018"], "not here")
    for result in results:
        if result["study"] == "jha2018":
            result["verdict"] = verdicts.INCONCLUSIVE
    rows = [row for row in result_counts.summarise(results) if row["study"] == "jha2018"]
    assert sum(row["findings"] for row in rows) == NUMBERS["jha2018"]


def test_the_page_shows_every_claim_and_needs_no_network(judged, claims, liu2020):
    results, table = judged([13, 21, 25, 1], [(several, 0.8)])
    results += [result for name in NUMBERS if name != "liu2020" for result in findings.unavailable(claims[name], "not here")]
    text = verdict_page.render(results, {"liu2020": table}, {"liu2020": liu2020}, {"liu2020": ONE_SESSION})
    assert all(f'id="{result["id"]}"' in text for result in results)
    assert (
        "http://" not in text
        and "https://" not in text
        and "<script src" not in text
        and "nan" not in text.lower().replace("finance", "")
    )


def test_the_papers_tables_give_the_known_answers():
    """Coefficients of variation, interference ratios and overheads are recomputed from the tables as printed."""
    tables = {path.stem: pd.read_csv(path) for path in REFERENCE.glob("*.csv")}
    linpack = tables["jha2021_table3_linpack"]
    known = pd.read_csv(DATA / "jha2021_row_checks.csv")
    known = known[known["table"] == 3].set_index(["case", "co_runner"])
    for row in linpack.itertuples():
        assert row.sd / row.mean == pytest.approx(known.loc[(str(row.case), row.co_runner), "cv_recomputed"], abs=6e-5)
    ratios = pd.read_csv(DATA / "jha_interference_ratios.csv")
    ratios = ratios[(ratios["study"] == "jha2021") & (ratios["metric"] == "floating_point_rate")]
    alone = linpack[linpack["case"].astype(str) == "1"]["mean"].iloc[0]
    for row in ratios.itertuples():
        assert row.mean / alone - 1 == pytest.approx(row.interference_ratio, abs=1e-4)
    overheads = pd.read_csv(DATA / "li2018_overheads.csv")
    for row in overheads.dropna(subset=["signed_change"]).itertuples():
        assert row.value / row.baseline - 1 == pytest.approx(row.signed_change, abs=1e-4)
