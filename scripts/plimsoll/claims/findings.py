"""Results of claims: a verdict with the numbers that it rests on, and what many of them come to."""

import json

import numpy as np
import pandas as pd

from plimsoll.claims import verdicts

# Smallest relative difference that matters, where the paper names none: the margin within which two sides are alike.
MARGIN = 0.05
# Where less of a metric is better, its interference ratio has the sign of a gain (jha2021, equation 1).
LESS_IS_BETTER = "IR = (mu - mu_i) / mu"
FROM_CLAIM = ("id", "question", "section", "shown_in", "kind", "statement", "quantity", "same_as", "threshold", "note")


def of(claim: dict, verdict: str, reason: str) -> dict:
    """The result of a claim before anything is compared; the comparisons are added to it."""
    return {
        **{key: claim.get(key) for key in FROM_CLAIM},
        "study": claim["id"].split("-")[0],
        "holds": claim.get("holds", "all"),
        "margin": margin(claim),
        "paper_p": claim.get("p_value"),
        "paper_magnitude": paper_magnitude(claim),
        "verdict": verdict,
        "reason": reason,
        "transferred": False,
        "substitutes": [],
        "left_out": 0,
        "comparisons": 0,
    }


def unavailable(claims: list[dict], built: bool) -> list[dict]:
    """Verdicts on the claims of a study that is not built, or was not selected."""
    reason = "the configuration does not select this study" if built else "Plimsoll has not built this study yet"
    return [of(claim, verdicts.UNAVAILABLE, reason) for claim in claims]


def summary(claim: dict, rows: list[dict]) -> dict:
    """What a claim's comparisons come to: counts, ranges, and how many repetitions the undecided ones would take."""
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in verdicts.VERDICTS[:3]}
    effects = [row["effect"] for row in rows if np.isfinite(row.get("effect", np.nan))]
    open_rows = [row for row in rows if row["verdict"] == verdicts.INCONCLUSIVE]
    adjusted = [row["p_holm"] for row in rows if np.isfinite(row.get("p_holm", np.nan))]
    return {
        "comparisons": len(rows),
        **{f"comparisons_{verdict}": number for verdict, number in counts.items()},
        "n_least": min(row["n"] for row in rows),
        "n_most": max(row["n"] for row in rows),
        "effect_least": min(effects, default=np.nan),
        "effect_most": max(effects, default=np.nan),
        "p_holm_most": max(adjusted, default=np.nan),
        "needed": max((row["needed"] for row in open_rows if "needed" in row), default=None),
        "magnitudes": sorted({row["magnitude"] for row in rows if row.get("magnitude")}),
    }


def margin(claim: dict) -> float:
    """The margin of likeness: the claim's own; half of the smallest difference that the paper claims; or the usual one."""
    if "margin" in claim:
        return claim["margin"]
    given = claim.get("magnitude") or {}
    sizes = [abs(given[key]) / 2 for key in ("low", "high") if given.get(key)]
    return min([MARGIN, *sizes]) if claim.get("expected") != "no_difference" else MARGIN


def paper_magnitude(claim: dict) -> dict | None:
    """The range that the paper gives, signed as our effects: side a relative to side b."""
    given = claim.get("magnitude")
    if not given or given["of"] != LESS_IS_BETTER or given["low"] is None:
        return given
    return {**given, "low": -given["high"], "high": -given["low"]}


def table_of(results: list[dict]) -> pd.DataFrame:
    """Results as a table: one row per claim, nested values as JSON."""
    flat = [{k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in result.items()} for result in results]
    return pd.DataFrame(flat)


def counted(results: list[dict]) -> list[dict]:
    """The results without those of claims that repeat another one of them (`same_as`)."""
    there = {result["id"] for result in results}
    return [result for result in results if result["same_as"] not in there]


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
            }
        )
    return rows


def figures_of(result: dict, study: dict) -> list[str]:
    """Names of the study's figures that show what a claim is about."""
    return _shown(result, "Fig. ", "fig", study["figures"])


def tables_of(result: dict, study: dict) -> list[str]:
    """Names of the study's tables that show what a claim is about."""
    return _shown(result, "Table ", "table", study.get("tables", {}))


def _shown(result: dict, word: str, name: str, known: dict) -> list[str]:
    numbers = [text.removeprefix(word).zfill(2) for text in result["shown_in"] or [] if text.startswith(word)]
    return [name + number for number in numbers if name + number in known]
