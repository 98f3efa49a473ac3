"""Many claims together, sentences with an aside, and claims of which each comparison must hold."""

import re

import pytest
from plimsoll.claims import book, evaluate, findings, result_counts, verdicts
from plimsoll.claims.verdicts import CONDITIONAL, CONTRADICTED, INCONCLUSIVE, NOT_TESTABLE, REPRODUCED, Strength
from plimsoll.features.time_budget import needs
from plimsoll.pages import wording

ALPHA = 0.05


def result(name: str, p: float | None, verdict: str, same_as: str | None = None) -> dict:
    return {"id": name, "p": p, "q": None, "robust": None, "verdict": verdict, "same_as": same_as, "counted_in": None}


def test_q_is_benjamini_and_hochberg_s_over_the_counted_claims_that_were_tested():
    results = [
        result("a", 0.001, REPRODUCED),
        result("b", 0.04, CONTRADICTED),
        result("c", 0.02, CONDITIONAL),
        result("d", 0.5, INCONCLUSIVE),
        # Claims that repeat another claim or have no p do not count.
        result("e", 0.001, REPRODUCED, same_as="a"),
        result("f", None, REPRODUCED),
        result("g", None, NOT_TESTABLE),
    ]
    evaluate.discover(results, ALPHA)
    assert [one["q"] for one in results] == pytest.approx([0.004, 0.04 * 4 / 3, 0.04, 0.5, None, None, None])
    assert [one["robust"] for one in results] == [True, False, True, None, None, None, None]
    assert result_counts.fragile(results) == 1


def test_what_was_judged_at_a_lower_level_has_a_larger_q():
    results = [result("a", 0.001, REPRODUCED), result("b", 0.6, INCONCLUSIVE)]
    evaluate.discover(results, ALPHA, ALPHA / 2)
    assert [one["q"] for one in results] == pytest.approx([0.004, 1.0])


def test_no_result_has_no_q():
    results = [result("a", None, NOT_TESTABLE)]
    evaluate.discover(results, ALPHA)
    assert results[0]["q"] is None


def judged(parts: list[tuple[Strength | None, bool]]) -> dict:
    """Return the result of a sentence whose parts have this evidence, as (evidence or None if it could not be tested,
    is an aside)."""
    results = [
        {
            **findings.empty_result({"id": "liu2020-c01"}, NOT_TESTABLE, "no cell"),
            **({"verdict": verdicts.judge(one, ALPHA, ALPHA), "evidence": {"": one}} if one else {}),
            **({"comparisons": 1, "needed": None, "reason": ""} if one else {}),
        }
        for one, _ in parts
    ]
    rows = [{"verdict": one["verdict"], "effect": 0.1, "n": 5} for one in results if one["comparisons"]]
    said = [{"says": "a part of it", **({"aside": True} if aside else {})} for _, aside in parts]
    return findings.of_parts({"id": "liu2020-c01", "parts": said}, results, rows, ALPHA)


FOR, AGAINST, OPEN = Strength(1e-6, 1.0), Strength(1.0, 1e-6), Strength(0.3, 0.3)


@pytest.mark.parametrize(
    ("parts", "verdict", "in_part"),
    [
        ([(FOR, False), (FOR, True)], REPRODUCED, False),
        # An aside contradicts only itself, and does not make a sentence reproduced.
        ([(FOR, False), (AGAINST, True)], REPRODUCED, True),
        ([(FOR, False), (OPEN, True)], REPRODUCED, True),
        ([(FOR, False), (None, True)], REPRODUCED, True),
        ([(AGAINST, False), (FOR, True)], CONTRADICTED, False),
        ([(OPEN, False), (AGAINST, True)], INCONCLUSIVE, False),
        ([(OPEN, False), (FOR, True)], INCONCLUSIVE, False),
        ([(None, False), (AGAINST, True)], NOT_TESTABLE, False),
        # If a main part cannot be tested, the others decide.
        ([(FOR, False), (None, False)], REPRODUCED, True),
        ([(FOR, False), (AGAINST, False)], CONTRADICTED, False),
    ],
)
def test_the_main_parts_decide_on_a_sentence(parts, verdict, in_part):
    found = judged(parts)
    assert (found["verdict"], found["in_part"]) == (verdict, in_part)
    assert [part["aside"] for part in found["parts"]] == [aside for _, aside in parts]


def arranged(evidence: dict[str, Strength | None]) -> dict:
    """Return the result of a part in each arrangement."""
    unfit = {words: {"verdict": NOT_TESTABLE, "reason": "it breaks the case"} for words, one in evidence.items() if one is None}
    own = {words: one for words, one in evidence.items() if one}
    there = {words: {"verdict": verdicts.judge(one, ALPHA, ALPHA)} for words, one in own.items()} | unfit
    found = findings.empty_result({"id": "liu2020-c01"}, INCONCLUSIVE, "")
    return {**found, "evidence": own, "arrangements": there, "comparisons": 1, "needed": None}


@pytest.mark.parametrize(
    ("first", "second", "verdict", "each"),
    [
        # A sentence is judged in each arrangement. Its parts hold in different ones, so it holds in none.
        ({"x": FOR, "y": OPEN}, {"x": OPEN, "y": FOR}, INCONCLUSIVE, [INCONCLUSIVE, INCONCLUSIVE]),
        ({"x": FOR, "y": FOR}, {"x": FOR, "y": AGAINST}, CONDITIONAL, [REPRODUCED, CONTRADICTED]),
        ({"x": FOR, "y": FOR}, {"": FOR}, REPRODUCED, [REPRODUCED, REPRODUCED]),
        ({"x": FOR, "y": OPEN}, {"": FOR}, REPRODUCED, [REPRODUCED, INCONCLUSIVE]),
        # In an arrangement that breaks what a part is about, the other parts can contradict the sentence, but not reproduce it.
        ({"x": FOR, "y": AGAINST}, {"x": FOR, "y": None}, CONDITIONAL, [REPRODUCED, CONTRADICTED]),
        ({"x": FOR, "y": FOR}, {"x": FOR, "y": None}, REPRODUCED, [REPRODUCED, INCONCLUSIVE]),
        # An arrangement that breaks what all parts are about is left out.
        ({"x": FOR, "y": None}, {"x": FOR, "y": None}, REPRODUCED, [REPRODUCED, NOT_TESTABLE]),
        ({"x": OPEN, "y": None}, {"x": FOR, "y": None}, INCONCLUSIVE, [INCONCLUSIVE, NOT_TESTABLE]),
    ],
)
def test_a_sentence_is_judged_in_each_arrangement(first, second, verdict, each):
    results = [{**arranged(one), "arrangements": {}} if "" in one else arranged(one) for one in (first, second)]
    rows = [{"verdict": INCONCLUSIVE, "effect": 0.1, "n": 5}] * 2
    claim = {"id": "liu2020-c01", "parts": [{"says": "a part of it"}, {"says": "another one"}]}
    found = findings.of_parts(claim, results, rows, ALPHA)
    assert found["verdict"] == verdict
    assert [one["verdict"] for one in found["arrangements"].values()] == (each or [])
    assert found["in_part"] == (verdict == REPRODUCED and set(each) != {REPRODUCED})


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({"one core": FOR, "a core each": FOR}, "reproduced"),
        ({"one core": FOR, "a core each": None}, "reproduced, in part, with one core"),
        ({"one core": AGAINST, "a core each": None}, "contradicted, in part, with one core"),
        ({"one core": OPEN, "a core each": None}, INCONCLUSIVE),
        ({"one core": FOR, "a core each": OPEN}, "reproduced, in part, with one core"),
        ({"one core": FOR, "a core each": FOR, "free": OPEN}, "reproduced, in part, with one core and with a core each"),
        ({"one core": FOR, "a core each": AGAINST}, CONDITIONAL),
    ],
)
def test_a_verdict_names_the_arrangements_that_it_is_for(evidence, said):
    """An arrangement that is left out is no arrangement in which the claim holds."""
    own = {words: one for words, one in evidence.items() if one}
    judged = {
        words: ({**arranged({words: one}), "evidence": one, "size": "", "substitutes": []}, []) for words, one in own.items()
    }
    unfit = {words: "it breaks the case" for words, one in evidence.items() if one is None}
    found, _ = findings.of_arrangements(judged, unfit, (ALPHA, ALPHA))
    assert findings.verdict_of({**found, "n_most": 5}) == said


@pytest.mark.parametrize(("of_aside", "in_part"), [((FOR, FOR), False), ((FOR, OPEN), True), ((OPEN, FOR), True)])
def test_a_sentence_whose_aside_is_open_in_an_arrangement_is_reproduced_in_part(of_aside, in_part):
    main, aside = arranged({"x": FOR, "y": FOR}), arranged(dict(zip("xy", of_aside, strict=True)))
    aside["verdict"], each = verdicts.decide(of_aside, ALPHA, ALPHA)
    aside["in_part"] = verdicts.in_part(aside["verdict"], each)
    claim = {"id": "liu2020-c01", "parts": [{"says": "a part of it"}, {"says": "another one", "aside": True}]}
    rows = [{"verdict": REPRODUCED, "effect": 0.1, "n": 5}] * 2
    found = findings.of_parts(claim, [{**main, "verdict": REPRODUCED}, aside], rows, ALPHA)
    assert (found["verdict"], found["in_part"], found["parts"][1]["verdict"]) == (REPRODUCED, in_part, REPRODUCED)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ({"lower": -0.09, "upper": None}, "For all 72 comparisons together (95 %): none is lower by more than 9.0 %."),
        (
            {"lower": -0.09, "upper": 0.123},
            "For all 72 comparisons together (95 %): none is lower by more than 9.0 %, and none is higher by more than 12 %.",
        ),
        ({"lower": 0.02, "upper": None}, "For all 72 comparisons together (95 %): all are higher by at least 2.0 %."),
    ],
)
def test_an_open_claim_about_each_says_what_holds_for_all(bound, said):
    claim = {"verdict": INCONCLUSIVE, "quantity": None, "bound": {"comparisons": 72, **bound}}
    assert wording.overall_bound(claim) == said
    assert wording.overall_bound({**claim, "verdict": REPRODUCED}) == wording.overall_bound({**claim, "bound": None}) == ""


def test_every_sentence_has_a_main_part():
    for study in book.names():
        for claim in book.load(study):
            assert "parts" not in claim or book.main(claim["parts"]), claim["id"]


def test_what_a_paper_calls_small_is_no_more_than_twice_its_number_and_ten_points_more():
    """*Only 24 %* must not make 48 % count as small."""
    found = 0
    for study in book.names():
        for part in (part for claim in book.load(study) for part in book.parts_of(claim) or [claim]):
            told = re.search(r"([0-9.]+) %.*(twice that|ten points more)", part.get("threshold", ""))
            if told:
                found += 1
                number = float(told[1]) / 100
                assert part["margin"] == pytest.approx(max(0.05, min(2 * number, number + 0.1))), part["id"]
    assert found > 10


@pytest.mark.parametrize(("elsewhere", "clear"), [(REPRODUCED, ["a"]), (NOT_TESTABLE, ["a"]), (INCONCLUSIVE, [])])
def test_a_claim_that_is_open_in_an_arrangement_gets_more_of_a_given_time(elsewhere, clear):
    there = {"x": {"verdict": CONTRADICTED}, "y": {"verdict": elsewhere}}
    result = {"id": "a", "verdict": CONDITIONAL, "arrangements": there, "parts": []}
    assert needs.clear([result]) == clear
    assert needs.clear([{**result, "arrangements": {}, "parts": [{"arrangements": there}]}]) == clear
