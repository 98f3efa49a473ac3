"""Results of claims: a verdict with the numbers that it rests on, and what many of them come to."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd

from plimsoll.claims import quantities, verdicts

# What a claim of a difference says of side a.
DIFFERENCES = ("higher", "lower", "better", "worse")
# Where less of a metric is better, its interference ratio has the sign of a gain (jha2021, equation 1).
LESS_IS_BETTER = "IR = (mu - mu_i) / mu"
# What says how a claim was tested.
ASKED = ("a", "b", "scope", "along", "order", "expected", "quantity", "cv", "except", "except_b", "opposite", "relative_to")
OF_PART = (
    *("verdict", "reason", "holds", "margin", "quantity", "paper_magnitude", "size", "whole", "stands_out", "comparisons"),
    *("p_supports", "p_opposes", "asked", "arrangements", "bound"),
)
OF_ARRANGEMENT = ("reason", "p_supports", "p_opposes", "whole", "bound", "effect_least", "effect_most")
# What a result has lists and mappings in, and those of them that are there if they are empty.
NESTED = (
    *("shown_in", "paper_p", "paper_magnitude", "substitutes", "arrangements", "asked", "whole", "answered_by"),
    *("stands_out", "bound", "sessions", "parts", "decide"),
)
EMPTY = {"substitutes": [], "arrangements": {}, "asked": {}, "stands_out": [], "sessions": [], "parts": []}
# A difference in points is no relative one, and is not set against ours.
OF_RATES = "a - b (difference of rates)"
NOT_TOGETHER = "its parts cannot be asked in one arrangement of what the paper leaves open"
FROM_CLAIM = ("id", "question", "section", "shown_in", "kind", "statement", "quantity", "same_as", "threshold", "note")


def of(claim: dict, verdict: str, reason: str) -> dict:
    """The result of a claim before anything is compared; the comparisons are added to it."""
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
        "parts": [],
        "in_part": False,
        "decide": None,
    }


def unavailable(claims: list[dict], reason: str) -> list[dict]:
    """Verdicts on the claims of a study that has none, for a `reason`."""
    return [of(claim, verdicts.UNAVAILABLE, reason) for claim in claims]


def of_parts(claim: dict, results: list[dict], rows: list[dict], alpha: float) -> dict:
    """The result of a claim from those on its parts. Its `parts` say what was asked of each, and of which it could not be.

    The main parts decide, in each arrangement of what the paper leaves open. A verdict is `in_part` if a part could not be
    asked, if the main parts are reproduced and an aside is not, or if it is open in an arrangement.
    """
    judged = list(zip(claim["parts"], results, strict=True))
    main = [result for part, result in judged if not part.get("aside")]
    arranged = _arrangements([result for result in main if result["comparisons"]])
    evidence = {words: _sentence(main, words, len(main)) for words in arranged}
    verdict, each = verdicts.decide(list(evidence.values()), alpha, alpha) if evidence else (verdicts.NOT_TESTABLE, [])
    reasons = list(dict.fromkeys(result["reason"] for result in main if result["reason"])) or [NOT_TOGETHER]
    # One part may need what another one needs, and more.
    told = [one for one in reasons if not any(one in other for other in reasons if other != one)]
    whole = of(claim, verdict, "; ".join(told) if verdict == verdicts.NOT_TESTABLE else "")
    if rows and verdict != verdicts.NOT_TESTABLE:
        tested = [result for result in results if result["comparisons"]]
        whole.update(_summary_of(tested, rows))
        whole["transferred"] = any(result["transferred"] for result in tested)
        # The size of a part that does not decide is not the sentence's.
        whole["size"] = _agreed({result["size"] for result in tested if result["size"] and result["verdict"] == verdict})
        whole["needed"] = _needed(tested)
        whole["evidence"] = evidence
        if set(evidence) != {""}:
            whole["arrangements"] = {words: {"verdict": one} for words, one in zip(evidence, each, strict=True)}
    parts = [
        {**{key: result.get(key) for key in OF_PART}, "says": part["says"], "aside": part.get("aside", False)}
        for part, result in judged
    ]
    missing = any(result["verdict"] == verdicts.NOT_TESTABLE for result in results)
    but = verdict == verdicts.REPRODUCED and any(part["aside"] and part["verdict"] != verdict for part in parts)
    some = verdicts.in_part(verdict, each)
    return {**whole, "parts": parts, "in_part": some or (verdict in verdicts.SETTLED and (missing or but))}


def _arrangements(asked: list[dict]) -> list[str]:
    """The arrangements in which some part of a sentence can be asked, in words, from the results of its parts. One without
    words where none makes a difference."""
    named = dict.fromkeys(words for one in asked for words in one["evidence"] if words)
    broken = any(words not in one["evidence"] for one in asked for words in one["arrangements"])
    return list(named) or ([""] if asked and not broken else [])


def _sentence(main: list[dict], words: str, number: int) -> verdicts.Strength:
    """Evidence of a sentence in one arrangement, from the results of its main parts. Where one of them breaks what a cell is,
    nothing can be for the sentence, and the others may be against it."""
    there = [one["evidence"].get(words, one["evidence"].get("")) for one in main if one["comparisons"]]
    known = [one for one in there if one is not None]
    strength = verdicts.of_sentence(known, number)
    return strength if len(known) == len(there) else strength._replace(supports=1.0)


def of_arrangements(
    judged: Mapping[str, tuple[dict, list[dict]]], unfit: Mapping[str, str], levels: Sequence[float]
) -> tuple[dict, list[dict]]:
    """The result of a claim, and its comparisons, from those in each arrangement of what the paper leaves open (`judged`, by
    the arrangement in words); `unfit` are the reasons why others are left out, and `levels` the thresholds of p for the
    statement and against it.

    The numbers are those of the arrangement with this verdict that is furthest from it; a conditional claim has none.
    `arrangements` says what each of them came to: its verdict, its average and the range of effects.
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
    whole["in_part"] = verdicts.in_part(verdict, each)
    if rows:
        whole.update(_summary_of(tested, rows))
        whole["needed"] = _needed(tested)
        whole["size"] = _agreed({result["size"] for result in of_verdict})
        whole["bound"] = _widest([result["bound"] for result in tested])
    if verdict == verdicts.CONDITIONAL:
        whole.update(whole=None, stands_out=[], p_supports=None, p_opposes=None, needed=None)
    return whole, rows


def _widest(bounds: list[dict | None]) -> dict | None:
    """The bound that holds in all arrangements; None where one has none."""
    if None in bounds:
        return None
    lower, upper = ([one[end] for one in bounds if one[end] is not None] for end in ("lower", "upper"))
    return {
        "comparisons": sum(one["comparisons"] for one in bounds),
        "lower": min(lower, default=None),
        "upper": max(upper, default=None),
    }


def _needed(tested: Iterable[dict]) -> float | None:
    """Repetitions that the open ones of several results would take; of an average those of the average, and not of each of its
    comparisons."""
    still_open = [result for result in tested if result["verdict"] == verdicts.INCONCLUSIVE]
    return max((result["needed"] for result in still_open if result.get("needed")), default=None)


def _agreed(sizes: set[str]) -> str:
    return next(iter(sizes)) if len(sizes) == 1 else ""


def _summary_of(tested: list[dict], rows: list[dict]) -> dict:
    """The `summary` of comparisons that belong to several results."""
    known = {
        "substitutes": sorted({name for result in tested for name in result["substitutes"]}),
        "unwatched": max(result["unwatched"] for result in tested),
    }
    return {**summary(rows, sum(result["left_out"] for result in tested)), **known}


def summary(rows: list[dict], left_out: int) -> dict:
    """What a claim's comparisons come to: counts, ranges, and how many repetitions the undecided ones would take."""
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
    """The margin of likeness: the claim's own; half of the smallest difference that the paper claims; or the usual one."""
    if "margin" in claim:
        return claim["margin"]
    usual = quantities.find(claim.get("quantity")).usual_margin
    given = paper_magnitude(claim) or {}
    sizes = [abs(given[key]) / 2 for key in ("low", "high") if given.get(key)]
    return min([usual, *sizes]) if claim.get("expected") in DIFFERENCES else usual


def paper_magnitude(claim: dict) -> dict | None:
    """The range that the paper gives, signed as our effects: side a relative to side b."""
    given = claim.get("magnitude")
    if given and given["of"] == OF_RATES:
        return None
    if not given or given["of"] != LESS_IS_BETTER or given["low"] is None:
        return given
    return {**given, "low": -given["high"], "high": -given["low"]}


def table_of(results: list[dict]) -> pd.DataFrame:
    """Results as a table: one row per claim, nested values as JSON."""
    flat = [{k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in result.items()} for result in results]
    return pd.DataFrame(flat)


def of_table(path: Path) -> list[dict]:
    """The results that a file holds which was made by `table_of`."""
    rows = pd.read_csv(path, keep_default_na=False, na_values=[""]).astype(object).to_dict("records")
    results = []
    for row in rows:
        known = {key: None if pd.isna(value) else value for key, value in row.items() if key not in EMPTY}
        nested = {key: json.loads(row[key]) for key in NESTED if isinstance(row.get(key), str)}
        results.append({**deepcopy(EMPTY), **known, **nested})
    return results


def verdict_of(result: dict) -> str:
    """The verdict on a claim, as it is told: with the number of sessions that have it by themselves, if it is decided."""
    each = result.get("sessions") if result["verdict"] in verdicts.SETTLED else None
    alike = (each or []).count(result["verdict"])
    told = [result["verdict"], "in part" if result["in_part"] else ""]
    told += [f"in {alike} of {len(each)} sessions" if len(each) > 1 else "in 1 session"] if each else []
    return ", ".join(filter(None, told))


def fragile(results: list[dict]) -> int:
    """How many results are decided, and not robust to the number of claims."""
    return sum(result.get("robust") is False for result in results)


def counted(results: list[dict]) -> list[dict]:
    """The results without those that repeat another one of them: by their sentence (`same_as`), or because, transferred to
    another setting or settled in part, they rest on comparisons of that one only (`counted_in`). A finding of a study that was
    measured counts by itself if the one that it repeats is of a study that was not."""
    there = {result["id"] for result in results}
    measured = {result["id"] for result in results if result["verdict"] != verdicts.UNAVAILABLE}
    return [
        result
        for result in results
        if not (measured if result["id"] in measured else there) & {result["same_as"], result.get("counted_in")}
    ]


def differing(results: list[dict]) -> list[tuple[dict, dict]]:
    """(repetition, finding) of each sentence that repeats another one, where both were tested and came out differently."""
    by_id = {result["id"]: result for result in results}
    pairs = [(result, by_id[result["same_as"]]) for result in results if result["same_as"] in by_id]
    return [
        (one, first)
        for one, first in pairs
        if one["verdict"] != first["verdict"] and one["comparisons"] and first["comparisons"]
    ]


def summarise(results: list[dict]) -> list[dict]:
    """Findings that are `counted`, by study, research question and verdict."""
    rows = []
    table = pd.DataFrame(counted(results))
    for (study, question), group in table.groupby(["study", "question"], sort=True):
        counts = group["verdict"].value_counts()
        rows.append(
            {
                "study": study,
                "question": question,
                "findings": len(group),
                **{v: int(counts.get(v, 0)) for v in verdicts.VERDICTS},
                **sizes(group.to_dict("records")),
                "fragile": fragile(group.to_dict("records")),
            }
        )
    return rows


def sizes(results: list[dict]) -> dict[str, int]:
    """The second answer: of the findings that are reproduced and print a size (`sized`), how many are `as_large`; and how many
    are reproduced `in_part`."""
    reproduced = [result for result in results if result["verdict"] == verdicts.REPRODUCED]
    sized = [result["size"] for result in reproduced if result.get("size")]
    in_part = sum(result["in_part"] for result in reproduced)
    return {"sized": len(sized), "as_large": sized.count(verdicts.AS_LARGE), "in_part": in_part}


def figures_of(result: dict, study: dict) -> list[str]:
    """Names of the study's figures that show what a claim is about."""
    return _shown(result, "Fig. ", "fig", study["figures"])


def tables_of(result: dict, study: dict) -> list[str]:
    """Names of the study's tables that show what a claim is about."""
    return _shown(result, "Table ", "table", study.get("tables", {}))


def _shown(result: dict, word: str, name: str, known: dict) -> list[str]:
    numbers = [text.removeprefix(word).zfill(2) for text in result["shown_in"] or [] if text.startswith(word)]
    return [name + number for number in numbers if name + number in known]
