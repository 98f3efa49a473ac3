"""Results of claims: a verdict with the numbers that it rests on, and summaries of many results."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd

from plimsoll.claims import quantities, verdicts

# Values of `expected` that state a difference of side a.
DIFFERENCES = ("higher", "lower", "better", "worse")
# Interference ratio of a metric of which less is better. It has the sign of a gain (jha2021, equation 1).
LESS_IS_BETTER = "IR = (mu - mu_i) / mu"
# Keys of a claim that say how it was tested.
ASKED = (
    *("a", "b", "scope", "along", "order", "expected", "quantity", "cv", "except", "except_b", "opposite", "relative_to"),
    "given",
)
OF_PART = (
    *("verdict", "reason", "holds", "margin", "quantity", "paper_magnitude", "size", "whole", "stands_out", "comparisons"),
    *("p_supports", "p_opposes", "asked", "arrangements", "bound", "alike"),
)
OF_ARRANGEMENT = ("reason", "p_supports", "p_opposes", "whole", "bound", "alike", "effect_least", "effect_most")
# Keys of a result that hold lists or mappings. EMPTY has those that are there even if they are empty.
NESTED = (
    *("shown_in", "paper_p", "paper_magnitude", "substitutes", "arrangements", "asked", "whole", "answered_by"),
    *("stands_out", "bound", "sessions", "parts", "decide"),
)
EMPTY = {"substitutes": [], "arrangements": {}, "asked": {}, "stands_out": [], "sessions": [], "parts": []}
# A difference in percentage points is not relative, so it is not compared with measured effects.
OF_RATES = "a - b (difference of rates)"
NOT_TOGETHER = "its parts cannot be tested in one arrangement of what the paper leaves open"
FROM_CLAIM = ("id", "question", "section", "shown_in", "kind", "statement", "quantity", "same_as", "threshold", "note")


def empty_result(claim: dict, verdict: str, reason: str) -> dict:
    """Return the result of a claim before anything is compared. The comparisons are added to it later."""
    return {
        **{key: claim.get(key) for key in FROM_CLAIM},
        "study": claim["id"].rpartition("-")[0],
        "holds": claim.get("holds", verdicts.EACH),
        "margin": margin(claim),
        "paper_p": claim.get("p_value"),
        "paper_magnitude": paper_magnitude(claim),
        "verdict": verdict,
        "reason": reason,
        **{"p": None, "q": None, "robust": None},
        "sessions": [],
        "transferred": False,
        "counted_in": None,
        "substitutes": [],
        "unwatched": 0,
        "arrangements": {},
        "left_out": 0,
        "comparisons": 0,
        "size": "",
        "asked": {
            **{key: claim[key] for key in ASKED if key in claim},
            "holds": claim.get("holds", verdicts.EACH),
            "margin": margin(claim),
        },
        "whole": None,
        "stands_out": [],
        "bound": None,
        "alike": None,
        "parts": [],
        "in_part": False,
        "decide": None,
    }


def unavailable(claims: list[dict], reason: str) -> list[dict]:
    """Return results of claims whose study has no verdicts, with the `reason`."""
    return [empty_result(claim, verdicts.UNAVAILABLE, reason) for claim in claims]


def of_parts(claim: dict, results: list[dict], rows: list[dict], alpha: float) -> dict:
    """Return the result of a claim from the results of its parts.

    Its `parts` say what each part states, its verdict, and why it could not be tested. The main parts decide, in each
    arrangement of what the paper leaves open.

    A verdict is `in_part` if a part could not be tested, or if the claim is inconclusive or not tested in an arrangement. It
    is also in part if the main parts are reproduced and an aside is not, in every arrangement.
    """
    judged = list(zip(claim["parts"], results, strict=True))
    main = [result for part, result in judged if not part.get("aside")]
    arranged = _arrangements([result for result in main if result["comparisons"]])
    evidence, unfit = {words: _sentence(main, words, len(main)) for words in arranged}, _unfit(main, arranged)
    verdict, each = verdicts.decide(list(evidence.values()), alpha, alpha) if evidence else (verdicts.NOT_TESTABLE, [])
    reasons = list(dict.fromkeys(result["reason"] for result in main if result["reason"])) or [NOT_TOGETHER]
    # One part may need what another part needs, and more: the shorter reason is then left out.
    told = [one for one in reasons if not any(one in other for other in reasons if other != one)]
    whole = empty_result(claim, verdict, "; ".join(told) if verdict == verdicts.NOT_TESTABLE else "")
    if rows and verdict != verdicts.NOT_TESTABLE:
        tested = [result for result in results if result["comparisons"]]
        whole.update(_summary_of(tested, rows))
        whole["transferred"] = any(result["transferred"] for result in tested)
        # Only parts with the sentence's verdict say something about its size.
        whole["size"] = _agreed({result["size"] for result in tested if result["size"] and result["verdict"] == verdict})
        whole["needed"] = _needed(tested)
        whole["evidence"] = evidence
        if set(evidence) != {""}:
            whole["arrangements"] = {words: {"verdict": one} for words, one in zip(evidence, each, strict=True)}
            whole["arrangements"] |= unfit
    parts = [
        {**{key: result.get(key) for key in OF_PART}, "says": part["says"], "aside": part.get("aside", False)}
        for part, result in judged
    ]
    missing = any(result["verdict"] == verdicts.NOT_TESTABLE for result in results)
    asides = [result for part, result in judged if part.get("aside")]
    but = verdict == verdicts.REPRODUCED and any(one["verdict"] != verdict or one.get("in_part") for one in asides)
    some = verdicts.in_part(verdict, [*each, *(one["verdict"] for one in unfit.values())])
    return {**whole, "parts": parts, "in_part": some or (verdict in verdicts.DECIDED and (missing or but))}


def of_open_condition(result: dict, reason: str) -> dict:
    """Return the result of a claim whose condition is open. `result` has the condition as its last part.

    The claim is inconclusive, whatever its other parts show.
    """
    *parts, condition = result["parts"]
    undecided = {"verdict": verdicts.INCONCLUSIVE, "reason": reason, "p": None, "size": "", "in_part": False}
    return {**result, **undecided, "arrangements": {}, "parts": [*parts, {**condition, "condition": True}]}


def _arrangements(asked: list[dict]) -> list[str]:
    """Return the arrangements in which some part of a sentence can be tested, in words, from the results of its parts.

    If arrangements make no difference, the list holds one empty text.
    """
    named = dict.fromkeys(words for one in asked for words in one["evidence"] if words)
    broken = any(words not in one["evidence"] for one in asked for words in one["arrangements"])
    return list(named) or ([""] if asked and not broken else [])


def _unfit(main: list[dict], arranged: Sequence[str]) -> dict[str, dict]:
    """Return the arrangements that break what all main parts are about, in words, with the reason."""
    there = {words: one for result in main for words, one in result["arrangements"].items() if words not in arranged}
    return {words: {"verdict": verdicts.NOT_TESTABLE, "reason": one["reason"]} for words, one in there.items()}


def _sentence(main: list[dict], words: str, number: int) -> verdicts.Strength | None:
    """Return the evidence of a sentence in one arrangement, from the results of its main parts. None if it was not measured.

    If the arrangement does not fit the cells of one of them, nothing can support the sentence. The other parts may
    still contradict it.
    """
    there = [one["evidence"].get(words, one["evidence"].get("")) for one in main if one["comparisons"]]
    known = [one for one in there if one is not None]
    if not known:
        return None
    strength = verdicts.of_sentence(known, number)
    return strength if len(known) == len(there) else strength._replace(supports=1.0)


def of_arrangements(
    judged: Mapping[str, tuple[dict, list[dict]]], unfit: Mapping[str, str], levels: Sequence[float]
) -> tuple[dict, list[dict]]:
    """Return the result of a claim, and its comparisons, from those in each arrangement of what the paper leaves open.

    `judged` has them by the arrangement in words, and `unfit` has the reasons why other arrangements are left out.
    `levels` are the thresholds of p for the statement and against it.

    The numbers are from the arrangement that has this verdict with the weakest evidence. A conditional claim has no
    numbers. `arrangements` has the verdict, the average and the range of effects of each arrangement. A decided claim is
    `in_part` if an arrangement does not have its verdict, or is left out.
    """
    rows = [{**row, "arrangement": words} for words, (_, compared) in judged.items() for row in compared]
    results = {words: result for words, (result, _) in judged.items()}
    tested = [result for result in results.values() if result["comparisons"]]
    evidence = {words: result.get("evidence") for words, result in results.items()}
    verdict, each = verdicts.decide(list(evidence.values()), *levels)
    of_verdict = [result for result, one in zip(results.values(), each, strict=True) if one == verdict]
    of_verdict = [result for result in of_verdict if result["comparisons"]] or tested or list(results.values())
    p = "p_opposes" if verdict == verdicts.CONTRADICTED else "p_supports"
    weakest = max(of_verdict, key=lambda result: result.get(p) or 0.0)
    arranged = {
        words: {"verdict": one, **{key: result.get(key) for key in OF_ARRANGEMENT}}
        for (words, result), one in zip(results.items(), each, strict=True)
    }
    arranged |= {words: {"verdict": verdicts.NOT_TESTABLE, "reason": reason} for words, reason in unfit.items()}
    whole = {**weakest, "verdict": verdict, "arrangements": arranged, "evidence": evidence}
    whole["in_part"] = verdicts.in_part(verdict, [one["verdict"] for one in arranged.values()])
    if rows:
        whole.update(_summary_of(tested, rows))
        whole["needed"] = _needed(tested)
        whole["size"] = _agreed({result["size"] for result in of_verdict})
        whole["bound"] = _widest([result["bound"] for result in tested])
        whole["alike"] = _alike(tested) if verdict == verdicts.INCONCLUSIVE else None
    if verdict == verdicts.CONDITIONAL:
        whole.update(whole=None, stands_out=[], p_supports=None, p_opposes=None, needed=None)
    return whole, rows


def _widest(bounds: list[dict | None]) -> dict | None:
    """Return the bound that holds in all arrangements; None if one of them has no bound."""
    if None in bounds:
        return None
    lower, upper = ([one[end] for one in bounds if one[end] is not None] for end in ("lower", "upper"))
    return {
        "comparisons": sum(one["comparisons"] for one in bounds),
        "lower": min(lower, default=None),
        "upper": max(upper, default=None),
    }


def _alike(tested: list[dict]) -> float | None:
    """Return the margin within which all of several results are shown to be alike; None if one of them is not."""
    margins = [result["alike"] for result in tested]
    return None if None in margins else max(margins)


def _needed(tested: Iterable[dict]) -> float | None:
    """Return the repetitions that the inconclusive ones of several results need; None if that is not known.

    For an average, these are the repetitions that decide the average, and not each of its comparisons.
    """
    still_open = [result for result in tested if result["verdict"] == verdicts.INCONCLUSIVE]
    return max((result["needed"] for result in still_open if result.get("needed")), default=None)


def _agreed(sizes: set[str]) -> str:
    return next(iter(sizes)) if len(sizes) == 1 else ""


def _summary_of(tested: list[dict], rows: list[dict]) -> dict:
    """Return the `summary` of comparisons that belong to several results."""
    known = {
        "substitutes": sorted({name for result in tested for name in result["substitutes"]}),
        "unwatched": max(result["unwatched"] for result in tested),
    }
    return {**summary(rows, sum(result["left_out"] for result in tested)), **known}


def summary(rows: list[dict], left_out: int) -> dict:
    """Return counts and ranges of a claim's comparisons, and how many repetitions the inconclusive ones need."""
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in verdicts.ON_COMPARISON}
    effects = [row["effect"] for row in rows if np.isfinite(row.get("effect", np.nan))]
    open_rows = [row for row in rows if row["verdict"] == verdicts.INCONCLUSIVE]
    return {
        "comparisons": len(rows),
        **{f"comparisons_{verdict}": number for verdict, number in counts.items()},
        "n_least": min(row["n"] for row in rows),
        "n_most": max(row["n"] for row in rows),
        "effect_least": min(effects, default=np.nan),
        "effect_most": max(effects, default=np.nan),
        "needed": max((row["needed"] for row in open_rows if "needed" in row), default=None),
        "left_out": left_out,
    }


def margin(claim: dict) -> float:
    """Return the margin within which sides are alike: the claim's own margin, or else the usual one.

    If the claim is a difference of a size that the paper names, it is at most half of the smallest one.
    """
    if "margin" in claim:
        return claim["margin"]
    usual = quantities.find(claim.get("quantity")).usual_margin
    given = paper_magnitude(claim) or {}
    sizes = [abs(given[key]) / 2 for key in ("low", "high") if given.get(key)]
    return min([usual, *sizes]) if claim.get("expected") in DIFFERENCES else usual


def paper_magnitude(claim: dict) -> dict | None:
    """Return the range that the paper gives, signed as measured effects are: side a relative to side b.

    None if the paper gives no range, or only a difference of rates.
    """
    given = claim.get("magnitude")
    if given and given["of"] == OF_RATES:
        return None
    if not given or given["of"] != LESS_IS_BETTER or given["low"] is None:
        return given
    return {**given, "low": -given["high"], "high": -given["low"]}


def table_of(results: list[dict]) -> pd.DataFrame:
    """Return results as a table: one row per claim, nested values as JSON."""
    flat = [{k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in result.items()} for result in results]
    return pd.DataFrame(flat)


def of_table(path: Path) -> list[dict]:
    """Return the results that a file holds which `table_of` made."""
    rows = pd.read_csv(path, keep_default_na=False, na_values=[""]).astype(object).to_dict("records")
    results = []
    for row in rows:
        known = {key: None if pd.isna(value) else value for key, value in row.items() if key not in EMPTY}
        nested = {key: json.loads(row[key]) for key in NESTED if isinstance(row.get(key), str)}
        results.append({**deepcopy(EMPTY), **known, **nested})
    return results


def verdict_of(result: dict) -> str:
    """Return the verdict on a claim in words, with `in part` if it holds in part.

    A claim that is decided in some arrangements of what its paper leaves open names them. A decided claim also has the
    number of single sessions with the same verdict. Claims none of whose comparisons
    has a block are not measured. An inconclusive claim may have the margin within which there is shown to be no
    difference.
    """
    if result["verdict"] == verdicts.INCONCLUSIVE:
        if result["comparisons"] and not result["n_most"]:
            return verdicts.UNMEASURED
        margin = result.get("alike")
        return f"{result['verdict']}, no difference of {100 * margin:.0f} % or more" if margin else result["verdict"]
    each = result.get("sessions") if result["verdict"] in verdicts.DECIDED else None
    alike = (each or []).count(result["verdict"])
    told = [result["verdict"], "in part" if result["in_part"] else "", _with(result)]
    told += [f"in {alike} of {len(each)} sessions" if len(each) > 1 else "in 1 session"] if each else []
    return ", ".join(filter(None, told))


def _with(result: dict) -> str:
    """Return in which arrangements of what the paper leaves open a claim has its verdict; empty if it has it in all."""
    each = {words: one["verdict"] for words, one in (result.get("arrangements") or {}).items()}
    if not verdicts.in_part(result["verdict"], list(each.values())):
        return ""
    return " and ".join(f"with {words}" for words, verdict in each.items() if verdict == result["verdict"])


def figures_of(result: dict, study: dict) -> list[str]:
    """Names of the study's figures that show what a claim is about."""
    return _shown(result, "Fig. ", "fig", study["figures"])


def tables_of(result: dict, study: dict) -> list[str]:
    """Names of the study's tables that show what a claim is about."""
    return _shown(result, "Table ", "table", study.get("tables", {}))


def _shown(result: dict, word: str, name: str, known: dict) -> list[str]:
    numbers = [text.removeprefix(word).zfill(2) for text in result["shown_in"] or [] if text.startswith(word)]
    return [name + number for number in numbers if name + number in known]
