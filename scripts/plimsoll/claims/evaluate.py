"""From claims and observations to verdicts, with everything that a reader needs to doubt them."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, paper_tests
from plimsoll.claims import compare, findings, quantities, verdicts
from plimsoll.claims.measured import Measured


def evaluate(claims: list[dict], measured: Measured, alpha: float) -> tuple[list[dict], pd.DataFrame]:
    """(verdicts, comparisons): one dictionary per claim, in order, and one row per comparison that was made."""
    asked = measured.study.design.contrasts.asking(measured.plan, measured.study)
    results, rows = [], []
    for claim in claims:
        result, compared = _claim(claim, measured, asked, alpha)
        results.append(result)
        rows += [{"claim": claim["id"], **row} for row in compared]
    return results, compare.with_bootstrap(pd.DataFrame(rows, columns=list(compare.COLUMNS)), measured)


def _claim(claim: dict, measured: Measured, asked: Callable[[dict], list], alpha: float) -> tuple[dict, list[dict]]:
    if reason := _untestable(claim, measured):
        return findings.of(claim, verdicts.NOT_TESTABLE, reason), []
    result, rows = _tested(claim, measured, asked(claim), alpha)
    if not rows and (moved := measured.study.design.contrasts.elsewhere(claim)):
        result, rows = _tested(moved, measured, asked(moved), alpha)
        result["transferred"] = bool(rows)
    return result, rows


def _untestable(claim: dict, measured: Measured) -> str | None:
    if "untestable" in claim:
        return claim["untestable"]
    if "expected" not in claim and quantities.find(claim.get("quantity")).says_sides and "along" not in claim:
        return "it does not say which side is higher"
    lacking = measured.study.design.contrasts.lacks(measured.plan)
    missing = [lacking[need] for need in claim["needs"] if need in lacking]
    return f"it needs {' and '.join(missing)}" if missing else None


def _tested(claim: dict, measured: Measured, asked: list, alpha: float) -> tuple[dict, list[dict]]:
    """Result of a claim whose needs are met, and its comparisons."""
    trend = "along" in claim
    reasons = [measured.reason(one) for one in asked]
    possible = [one for one, reason in zip(asked, reasons, strict=True) if reason is None]
    if trend and possible and max(len(sides) for sides in possible) < 3:
        most = max(len(sides) for sides in possible)
        reason = f"a trend needs three levels of {claim['along']['factor']}, and this host has {most}"
        return findings.of(claim, verdicts.NOT_TESTABLE, reason), []
    if not possible:
        named = sorted({reason for reason in reasons if reason})
        reason = "; ".join(named) or "the design has no two cells on this host that it compares"
        return findings.of(claim, verdicts.NOT_TESTABLE, reason), []
    quantity = quantities.find(claim.get("quantity"))
    if trend:
        rows = [compare.of_levels(claim, measured, sides) for sides in possible if len(sides) > 2]
    else:
        rows = quantity.rows(claim, measured, possible, lambda one: compare.begun(claim, measured, one), alpha)
    for row in rows:
        row["scale"] = quantity.scale
    _judge_all(claim, rows, alpha)
    result = findings.of(claim, verdicts.together([row["verdict"] for row in rows], claim.get("holds", "all")), "")
    result.update(
        findings.summary(claim, rows), left_out=len(asked) - len(rows), substitutes=_substitutes(measured.plan, possible)
    )
    return result, rows


def _substitutes(plan: dict, asked: list) -> list[str]:
    """What stands in for a program of the paper in the cells that were compared, in words."""
    sides = [side for one in asked for side in (one if isinstance(one, list) else [one])]
    found = {name for side in sides for path in side.cells for name in plan["cells"][path].get("substitutes", {}).values()}
    return sorted(found)


def _judge_all(claim: dict, rows: list[dict], alpha: float) -> None:
    """Adjust the p-values of a claim's comparisons by Holm's method, and judge each."""
    known = paper_tests.adjust(rows, "p", "p_holm")
    # A single comparison that shows likeness contradicts a claimed difference, so its p is adjusted for the number of
    # comparisons. A claim of no difference needs likeness in all of them, which makes an error less likely, not more.
    paper_tests.adjust([row for row in rows if row["expected"] != "no_difference"], "p_like", "p_like_holm")
    for row in rows:
        if "spread" in row:
            row["needed"] = _needed(row["expected"], *row.pop("spread"), alpha, known)
        numbers = {key: row.get(key, np.nan) for key in ("effect", "low", "high", "margin")}
        p_like = row.get("p_like_holm", row.get("p_like", np.nan))
        evidence = verdicts.Evidence(n=row["n"], p=row.get("p_holm", np.nan), p_like=p_like, **numbers)
        row.setdefault("verdict", verdicts.judge(row["expected"], evidence, alpha))
        row["magnitude"] = verdicts.magnitude(numbers["low"], numbers["high"], findings.paper_magnitude(claim))


def _needed(expected: str, mean: float, deviation: float, margin: float, alpha: float, comparisons: int) -> int:
    """Repetitions that would decide a comparison if its true difference and spread are those that were estimated.

    Where likeness is claimed and the difference is within the margin, these are the repetitions that would show likeness.
    Otherwise they are those that would find the difference, or one as large as the margin.

    The p of a difference is adjusted for the claim's other comparisons. That of likeness is not, as all comparisons must show
    it.
    """
    if expected == "no_difference" and abs(mean) < margin:
        return blocks.needed(deviation, margin - abs(mean), alpha, alike=True)
    return blocks.needed(deviation, max(abs(mean), margin), alpha / max(1, comparisons))
