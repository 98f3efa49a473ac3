"""The tested question in words. Beside the paper's sentence, it lets readers check that the test means the same."""

import re

import pytest
from plimsoll.claims import book, findings, result_counts, verdicts
from plimsoll.pages import procedure_words, verdict_page, wording

from tests.conftest import built

LEVELS = {
    **{("case", "1"): "running alone", ("case", "2"): "one shared container"},
    **{("case", "3a"): "two containers without limits", ("case", "3b"): "two containers with limits"},
    **{("granularity", "one"): "one container", ("granularity", "several"): "several containers"},
    **{("runtime", "docker"): "Docker", ("runtime", "singularity-instance"): "Singularity instance"},
    ("mode", "exact"): "exactly subscribed",
    **{("metric", "in_barrier"): "time in the barrier", ("metric", "elsewhere"): "time elsewhere"},
}
DOCKER = {"runtime": ["docker", "singularity-instance"]}


@pytest.mark.parametrize(
    ("given", "comparisons", "sentence"),
    [
        (
            {"expected": "lower", "a": {"granularity": ["several"]}, "b": {"granularity": ["one"]}, "scope": DOCKER},
            8,
            "Asked: is Bandwidth lower with several containers than with one container (Docker or Singularity instance), "
            "on the whole (the average of 8 comparisons)?",
        ),
        (
            {"expected": "not_worse", "holds": "each", "margin": 0.1, "a": {"case": ["2"]}, "b": {"case": ["1"]}},
            1,
            "Asked: is Bandwidth not worse by more than 10 % with one shared container than with running alone, in one "
            "comparison?",
        ),
        (
            {"expected": "not_higher", "holds": "each", "margin": -0.4, "a": {"case": ["2"]}, "b": {"case": ["1"]}},
            1,
            "Asked: is Bandwidth lower by 40 % or more with one shared container than with running alone, in one comparison?",
        ),
        (
            {
                "expected": "no_difference",
                "holds": "most",
                "a": {"case": ["3b"]},
                "b": {"case": ["3a"]},
                "except": {"case": ["2"]},
            },
            5,
            "Asked: is Bandwidth alike within 5.0 % with two containers with limits and with two containers without limits, in "
            "more than half of 5 comparisons? Left out: one shared container.",
        ),
        (
            {"expected": "higher", "a": {"metric": ["in_barrier"]}, "b": {"metric": ["elsewhere"]}, "scope": DOCKER},
            2,
            "Asked: is time in the barrier higher than time elsewhere (Docker or Singularity instance), on the whole (the "
            "average of 2 comparisons)?",
        ),
        (
            {"expected": "no_difference", "holds": "each", "a": {"metric": ["in_barrier"]}, "b": {"metric": ["elsewhere"]}},
            1,
            "Asked: is time in the barrier like time elsewhere within 5.0 %, in one comparison?",
        ),
        (
            {
                "expected": "higher",
                "holds": "each",
                "a": {"case": ["2"]},
                "b": {"case": ["1"]},
                "given": {"says": "it gains alone"},
            },
            1,
            "Asked: is Bandwidth higher with one shared container than with running alone, in one comparison? Asked only if it "
            "gains alone, which is shown here.",
        ),
        (
            {"expected": "higher", "holds": "each", "order": [{"case": ["3b"]}, {"case": ["3a"]}, {"case": ["2"]}]},
            2,
            "Asked: is Bandwidth higher in each of these than in the next: two containers with limits; two containers without "
            "limits; one shared container, in each of 2 comparisons?",
        ),
        (
            {"expected": "lower", "holds": "each", "quantity": "variation", "cv": 0.1, "a": {"case": ["1"]}},
            1,
            "Asked: is the spread of Bandwidth lower than 10 % with running alone, in one comparison?",
        ),
        (
            {"quantity": "printed value", "holds": "each", "margin": 0.5, "scope": {"mode": ["exact"]}},
            1,
            "Asked: is Bandwidth what the paper prints, within a factor of 1.5 in odds (exactly subscribed), in one "
            "comparison?",
        ),
    ],
)
def test_a_question_says_cells_metric_direction_and_rule(given, comparisons, sentence):
    whole = {"holds": "average", "margin": 0.05, **given}
    assert procedure_words.sentence(whole, ["Bandwidth"], comparisons, lambda factor, name: LEVELS[factor, name]) == sentence


@pytest.mark.parametrize("study", ["liu2020", "jha2021", "jha2018"])
def test_every_claim_has_a_question(study):
    level = verdict_page.level_of(built(study))
    for claim in book.load(study):
        for part in book.parts_of(claim) or [claim]:
            if "untestable" in part:
                continue
            text = procedure_words.sentence(findings.empty_result(part, "inconclusive", "")["asked"], ["X", "Y"], 3, level)
            assert text.startswith("Asked: is "), (claim["id"], text)
            assert not re.search("None|no_difference|granularity", text), (claim["id"], text)


def test_the_second_answer_counts_sizes_of_what_is_reproduced():
    results = [
        {"verdict": "reproduced", "size": "as large", "in_part": False},
        {"verdict": "reproduced", "size": "smaller", "in_part": True},
        {"verdict": "reproduced", "size": "", "in_part": False},
        {"verdict": "contradicted", "size": "opposite"},
    ]
    assert result_counts.sizes(results) == {"sized": 2, "as_large": 1, "in_part": 1}


def test_an_open_claim_rests_on_the_runs_of_all_its_comparisons():
    """One of them may have fewer runs than the others because a row is missing."""
    rows = [{"verdict": "inconclusive", "n": 8}, {"verdict": "reproduced", "n": 7}]
    for verdict, said in (("reproduced", "n = 7"), (verdicts.INCONCLUSIVE, "n = 7 to 8")):
        assert wording.rests_on({"holds": "each", "whole": None, "verdict": verdict}, rows) == said
