"""The claims that the terminal shows: which ones, in which order, and how."""

import json
import re
import shutil
from pathlib import Path

import pytest
from plimsoll import __main__ as stages
from plimsoll.claims import verdicts
from plimsoll.terminal import results_summary

from tests.conftest import REFERENCE
from tests.unit.test_pages_of_studies import verdicts_of

NAN = float("nan")


def result(name: str, verdict: str, comparisons: int = 1, same_as: str | None = None) -> dict:
    """Return a verdict on a claim."""
    counts = {f"comparisons_{each}": comparisons if each == verdict else 0 for each in verdicts.ON_COMPARISON}
    return {
        **{"id": name, "verdict": verdict, "statement": f"{name} is said.", "same_as": same_as, "comparisons": comparisons},
        **{"holds": "each", "whole": None, "quantity": None, "parts": [], "in_part": False, "arrangements": {}, "n_most": 9},
        **counts,
    }


def row(claim: str, verdict: str, effect: float, low: float, high: float, scale: str = "ratio", **keys) -> dict:
    """Return a comparison."""
    return {
        **{"claim": claim, "verdict": verdict, "effect": effect, "low": low, "high": high, "margin": 0.05, "scale": scale},
        **{"metric": "m", "metric_b": "", "label": "Metric", "cell_a": "x/docker", "cell_b": "x/bare"},
        **keys,
    }


def short(cell: str, metric: str) -> str:
    return cell.replace("/", " ")


REPRODUCED, CONTRADICTED, OPEN = verdicts.REPRODUCED, verdicts.CONTRADICTED, verdicts.INCONCLUSIVE


def chosen(results, rows, number=5):
    return [result["id"] for result, _ in results_summary.choose(results, rows, number)]


def test_half_as_much_is_as_telling_as_twice_as_much():
    twice, half = row("a", REPRODUCED, 1.0, 0.8, 1.25), row("a", REPRODUCED, -0.5, 1 / 2.25 - 1, 1 / 1.8 - 1)
    assert results_summary.telling(twice) == pytest.approx(results_summary.telling(half))


def test_the_distance_is_in_widths_of_the_interval():
    assert results_summary.telling(row("a", REPRODUCED, -1.3, -1.5, -1.1)) == pytest.approx(1.1 / 0.4)
    near, far = row("a", REPRODUCED, 0.2, 0.1, 0.3), row("a", REPRODUCED, 0.2, 0.19, 0.21)
    assert results_summary.telling(far) > results_summary.telling(near) > 0


def test_of_sides_that_are_alike_it_is_the_room_to_the_margin():
    alike, barely = row("a", REPRODUCED, 0, -0.01, 0.01), row("a", REPRODUCED, 0.03, 0.0, 0.049)
    assert results_summary.telling(alike) > results_summary.telling(barely) > 0
    assert results_summary.telling(row("a", OPEN, 0.1, -0.2, 0.5)) == 0


def test_shares_of_runs_and_effects_without_an_interval_come_last():
    assert results_summary.telling(row("a", REPRODUCED, 1, 0.8, 1, scale=results_summary.SHARE)) == -1
    assert results_summary.telling(row("a", REPRODUCED, 1, NAN, NAN)) == -1


def test_inconclusive_findings_are_not_among_the_decided_ones():
    results = [result("a", OPEN), result("b", verdicts.NOT_TESTABLE), result("c", REPRODUCED, 2)]
    rows = [row("a", REPRODUCED, 5, 4.9, 5.1), row("a", OPEN, 5, 4.9, 5.1), row("c", REPRODUCED, 0.2, 0.1, 0.3)]
    assert chosen(results, rows) == ["c"]
    assert "None of them is decided here." in results_summary.text("s", results[:2], rows, short)


def test_contradicted_first_and_then_the_furthest_from_no_effect():
    names = [f"c{number}" for number in range(6)] + [f"r{number}" for number in range(6)]
    results = [result(name, CONTRADICTED if name[0] == "c" else REPRODUCED) for name in names]
    rows = [row(one["id"], one["verdict"], 0.5, 0.5 - 0.05 / (k + 1), 0.5 + 0.05 / (k + 1)) for k, one in enumerate(results)]
    assert chosen(results, rows, results_summary.TOLD) == ["c5", "c4", "r5"]
    assert chosen(results, rows) == ["c5", "c4", "r5", "r4", "r3"]
    # If there are fewer reproduced claims, contradicted ones take their places, and vice versa.
    assert chosen(results[:7], rows) == ["c5", "c4", "c3", "c2", "r0"]
    assert chosen(results[:6], rows) == ["c5", "c4", "c3", "c2", "c1"]
    assert chosen(results[5:], rows) == ["c5", "r5", "r4", "r3", "r2"]
    assert chosen(results, rows, 2) == ["c5", "c4"]


def test_claims_about_the_answers_metrics_come_first_and_what_may_be_chance_last():
    results = [{**result("a", REPRODUCED), "robust": False}, result("b", REPRODUCED), result("c", REPRODUCED)]
    results.append({**result("d", CONTRADICTED), "robust": False})
    rows = [row("a", REPRODUCED, 0.5, 0.49, 0.51), row("b", REPRODUCED, 0.5, 0.4, 0.6, metric="n")]
    rows += [row("c", REPRODUCED, 0.5, 0.1, 0.9), row("d", CONTRADICTED, 0.5, 0.4, 0.6)]
    told = results_summary.choose(results, rows, 4, answering=["m"])
    assert [one["id"] for one, _ in told] == ["c", "b", "d", "a"]


def test_where_few_claims_are_decided_open_ones_follow_those_of_the_answer_first():
    results = [*(result(name, OPEN) for name in "abcd"), result("e", REPRODUCED), result("f", verdicts.NOT_TESTABLE)]
    rows = [row("a", OPEN, 0, -0.5, 0.9), row("b", OPEN, 0, -0.01, 0.01, metric="n"), row("c", OPEN, 0, -0.1, 0.1)]
    rows += [row("d", OPEN, 0, NAN, NAN), row("e", REPRODUCED, 0.5, 0.4, 0.6)]
    assert [one["id"] for one, _ in results_summary.undecided(results, rows, 5, answering=["m"])] == ["c", "a", "b"]
    said = " ".join(results_summary.text("s", results, rows, short, answering=["m"]).split())
    assert said.index("reproduced (e)") < said.index("inconclusive (c)") < said.index("inconclusive (a)")
    assert "inconclusive (b)" not in said and "Here: +0.00 % [−50 %, +90 %]; Metric, x docker against bare" in said


def test_an_open_claim_is_told_by_the_comparison_with_the_narrowest_interval():
    rows = [row("a", OPEN, 0, -0.2, 0.2), row("a", OPEN, 0.1, 0, 0.2), row("a", OPEN, 3, 1, 7)]
    rows.append(row("a", REPRODUCED, 1, 0.99, 1.01))
    assert results_summary.undecided([result("a", OPEN, 3)], rows, 1) == [(result("a", OPEN, 3), rows[1])]


def test_two_metrics_of_one_cell_are_told_apart():
    of_two = row("a", REPRODUCED, 2, 1, 3, metric_b="n", cell_b="x/docker")
    said = results_summary.text("s", [result("a", REPRODUCED)], [of_two], short, labels={"m": "Metric", "n": "Other"})
    assert "Metric, x docker against Other, x docker" in " ".join(said.split())


def test_a_printed_size_is_told_of_the_part_that_has_it():
    part = {"says": "by 37 %", "verdict": REPRODUCED, "paper_magnitude": {"low": 0.37, "high": 0.37, "of": ""}}
    results = [{**result("a", REPRODUCED), "parts": [{**part, "size": verdicts.LARGER, "aside": False}]}]
    told = " ".join(results_summary.text("s", results, [row("a", REPRODUCED, 20, 15, 30)], short).split())
    assert "The direction only: the paper says +37 %; ours is larger" in told


def test_claims_that_repeat_others_are_told_once():
    results = [result("a", REPRODUCED), result("b", REPRODUCED, same_as="a"), result("c", REPRODUCED, same_as="elsewhere")]
    rows = [row(name, REPRODUCED, 1, 0.9, 1.1) for name in "abc"]
    assert chosen(results, rows) == ["a", "c"]


def test_the_comparison_that_is_shown_has_the_claims_verdict():
    rows = [
        row("a", REPRODUCED, 9, 8.9, 9.1),
        row("a", CONTRADICTED, -0.5, -0.6, -0.4),
        row("a", CONTRADICTED, -0.1, -0.2, -0.01),
    ]
    ((_, shown),) = results_summary.choose([result("a", CONTRADICTED, 3)], rows)
    assert shown is rows[1]


def test_effects_for_people():
    def effect(quantity, *numbers):
        return results_summary.effect({**result("a", REPRODUCED), "quantity": quantity}, row("a", REPRODUCED, *numbers))

    assert effect(None, -0.5, -0.6, -0.4) == "−50 % [−60 %, −40 %]"
    assert effect(None, 18, 9, 38) == "×19 [×10, ×39]"
    assert effect("transport", 1, 0.84, 1) == "1 [0.84, 1] (share of the runs that agree)"
    losses = "−12 points [−14, −10] (difference of losses)"
    assert effect("relative loss", -0.12, -0.14, -0.1) == losses
    printed = "+14.2 points [+12, +16.3] (difference from the printed value)"
    assert effect("printed value", 0.142, 0.12, 0.163) == printed


def test_a_finding_about_the_whole_is_told_by_its_average():
    whole = {"effect": -0.3, "low": -0.35, "high": -0.25, "margin": 0.05, "cells": 8, "n": 5}
    on_average = {**result("a", CONTRADICTED, 8), "holds": "average", "whole": whole}
    said = results_summary.text("s", [on_average], [row("a", CONTRADICTED, -0.5, -0.6, -0.4)], short)
    assert "On the whole: −30 % [−35 %, −25 %], the average of 8 comparisons over 5 blocks." in " ".join(said.split())
    assert "−50 %" not in said
    of_spread = results_summary.text("s", [{**on_average, "quantity": "dispersion"}], [], short)
    assert "over 5 blocks. (difference of spread)" in " ".join(of_spread.split())


def test_of_a_finding_that_is_asked_in_part_it_is_told_which():
    parts = [
        {"says": "3 % of its time", "verdict": verdicts.NOT_TESTABLE},
        {"says": "mostly in the reduce", "verdict": REPRODUCED},
    ]
    in_part = {**result("a", REPRODUCED), "parts": parts, "in_part": True}
    said = " ".join(
        results_summary.text("s", [in_part, result("b", REPRODUCED)], [row("a", REPRODUCED, 2, 1, 3)], short).split()
    )
    assert "2 reproduced (1 in part)" in said
    assert "reproduced, in part (a): a is said. Asked here: “mostly in the reduce”. Here: +200 %" in said


def test_an_aside_that_is_not_reproduced_is_told_beside_the_sentence():
    parts = [
        {"says": "the same happens", "verdict": REPRODUCED, "aside": False},
        {"says": "less strongly", "verdict": CONTRADICTED, "aside": True},
    ]
    results = [{**result("a", REPRODUCED), "parts": parts, "in_part": True}]
    said = " ".join(results_summary.text("s", results, [row("a", REPRODUCED, 2, 1, 3)], short).split())
    assert "Asked here: “the same happens”. An aside: “less strongly” is contradicted." in said


def test_a_decided_finding_that_many_claims_could_bring_about_by_chance_is_told_so():
    results = [{**result("a", REPRODUCED), "q": 0.08, "robust": False}, {**result("b", REPRODUCED), "q": 0.01, "robust": True}]
    said = " ".join(results_summary.text("s", results, [row(name, REPRODUCED, 2, 1, 3) for name in "ab"], short).split())
    assert "1 of the decided not robust to the number of claims" in said
    assert (
        said.count("q among the study's claims: 0.08, so it is not robust to the number of claims.") == 1 and "0.01" not in said
    )


@pytest.mark.parametrize(
    ("each", "words"),
    [
        ([REPRODUCED], "reproduced, in 1 session (a)"),
        ([REPRODUCED, REPRODUCED], "reproduced, in 2 of 2 sessions (a)"),
        ([OPEN, REPRODUCED], "reproduced, in 1 of 2 sessions (a)"),
        ([OPEN, OPEN], "reproduced, in 0 of 2 sessions (a)"),
        ([], "reproduced (a)"),
    ],
)
def test_beside_a_verdict_stands_how_many_sessions_have_it(each, words):
    results = [{**result("a", REPRODUCED), "sessions": each}]
    assert words in " ".join(results_summary.text("s", results, [row("a", REPRODUCED, 2, 1, 3)], short).split())


def test_of_a_finding_whose_neighbours_nobody_could_see_that_is_told():
    results = [{**result("a", REPRODUCED), "unwatched": 2.0}, result("b", REPRODUCED)]
    said = " ".join(results_summary.text("s", results, [row(name, REPRODUCED, 2, 1, 3) for name in "ab"], short).split())
    assert said.count("In 2 of the cells that it is about, what neighbours used could not be told apart from the runs") == 1


def test_a_conditional_finding_is_told_with_what_each_arrangement_came_to():
    arranged = {
        "one core": {"verdict": CONTRADICTED, "whole": {"effect": 1.0, "low": 0.9, "high": 1.1}, "effect_least": 1.0},
        "a core each": {"verdict": REPRODUCED, "whole": None, "effect_least": -0.5, "effect_most": -0.3},
    }
    results = [{**result(name, verdicts.CONDITIONAL), "arrangements": arranged} for name in "abc"]
    results += [result("d", REPRODUCED), result("e", OPEN)]
    rows = [row("d", REPRODUCED, 0.5, 0.4, 0.6), row("e", OPEN, 0, -0.1, 0.1)]
    said = " ".join(results_summary.text("s", results, rows, short).split())
    assert said.index("reproduced (d)") < said.index("conditional (a)") and "inconclusive (e)" not in said
    assert "It holds with a core each (−50 % to −30 %); is contradicted with one core (+100 % [+90 %, +110 %])." in said
    assert "conditional (b)" in said and "conditional (c)" not in said and "None of them is decided" not in said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(width):
    results = [result("a", CONTRADICTED, 8), result("b", OPEN)]
    results[0]["statement"] = "In a single container of any of these technologies the benchmark performs like bare metal. " * 2
    said = results_summary.text("s", results, [row("a", CONTRADICTED, -0.5, -0.6, -0.4)], short, width)
    assert max(map(len, said.splitlines())) <= width
    assert " ".join(said.split()).startswith("s: 2 claims: 0 reproduced, 1 contradicted, 0 conditional, 1 inconclusive")
    assert results_summary.text("s", results[:1], [], short, width).startswith("s: 1 claim: 0 reproduced")
    joined = " ".join(said.split())
    assert "contradicted (a): In a single container" in joined
    assert "Here: −50 % [−60 %, −40 %]; Metric, x docker against bare (8 of 8 comparisons)" in joined


def test_a_study_without_verdicts_says_how_they_are_made(tmp_path):
    assert "s: no verdicts yet; ./plimsoll reproduce s makes them." in results_summary.of_studies(tmp_path, {"s": None})


def test_the_findings_of_measured_studies_are_told_from_their_files(tmp_path, monkeypatch, liu2020):
    monkeypatch.chdir(tmp_path)
    Path("results/liu2020").mkdir(parents=True)
    for kept, name in (("comparisons.csv", "together.csv"), ("answer.csv", "answer.csv")):
        shutil.copy(REFERENCE / "liu2020" / kept, Path("results/liu2020", name))
    Path("results/liu2020/together.json").write_text(json.dumps(verdicts_of("liu2020")))
    Path("results/claims.html").touch()
    told = results_summary.of_studies(Path("results"), {"liu2020": liu2020, "jha2021": None}, 80)
    assert told.startswith("liu2020: ") and "jha2021: no verdicts yet" in told
    begun, counts, answered = told.index("liu2020: "), told.index("claims: "), told.index("The answer: ")
    assert begun < counts < told.index("Keep a job in one container") < answered
    assert "ratios to bare metal lose more than 5 %" in " ".join(told.split())
    # After the answer come three claims, one line on how they are chosen, and where to read on.
    assert len(re.findall(r"\(liu2020-c\d+\): ", told)) == results_summary.TOLD == 3
    assert told.splitlines()[-2:] == [
        "Shown are the clearest claims, by the rule in results/claims.html#chosen.",
        "Read on: results/claims.html",
    ]
    assert max(map(len, told.splitlines())) <= 80


def test_a_stage_names_the_file_that_it_cannot_read(tmp_path, capsys):
    words = ["--plan", str(tmp_path / "none.json"), "--records", "runs", "--csv", "a", "--parquet", "b", "--runs", "c"]
    assert stages.main(["collect", "--study", "liu2020", *words]) == 1
    assert f"plimsoll: {tmp_path}/none.json: No such file or directory. What was measured is kept." in capsys.readouterr().err
