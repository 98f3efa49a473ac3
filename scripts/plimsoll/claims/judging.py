"""From the comparisons of a claim to its verdict: on each of them, or on their average."""

import math
from typing import NamedTuple

from plimsoll.analysis import paper_tests, sample_sizes
from plimsoll.analysis.blocks import Mean
from plimsoll.claims import compare, findings, verdicts
from plimsoll.claims.quantities.base import Quantity
from plimsoll.claims.verdicts import Bounds, Strength

# Evidence for the verdicts of a quantity that has nothing to test.
OWN = {
    verdicts.REPRODUCED: Strength(0.0, 1.0),
    verdicts.CONTRADICTED: Strength(1.0, 0.0),
    verdicts.INCONCLUSIVE: verdicts.NOTHING,
}
# Keys that rows hold while they are judged, and that tables do not show.
INNER = ("shown", "differences", "terms", "better", "benchmark", "pair", "mixed")


class Levels(NamedTuple):
    """Thresholds of p for a statement and against it. They differ because any one of several parts contradicts a sentence."""

    supports: float
    opposes: float


def judge(claim: dict, quantity: Quantity, rows: list[dict], levels: Levels) -> dict:
    """Return the verdict that the comparisons of a claim give, and give the rows their own verdicts and p-values.

    The result has the `verdict` with `p_supports` and `p_opposes`, and the average (`whole`) if there is one. It also
    has the comparisons that stand out from the average (`stands_out`), the `size`, and the `bound` that holds for each
    of several comparisons. `alike` is the margin within which an inconclusive difference is shown to lie. `evidence` has
    both p-values even if there is nothing to test.

    `holds` is the rule that was applied: claims without an average (a trend, counts) are about each comparison.
    """
    own = any("verdict" in row for row in rows)
    evidence = [_evidence(claim, quantity, row, len(rows)) for row in rows]
    for row, strength in zip(rows, evidence, strict=True):
        _judge_row(claim, quantity, row, strength, levels)
    _judge_rows(rows, levels)
    holds = claim.get("holds", verdicts.EACH)
    if holds == verdicts.AVERAGE and (own or "along" in claim or quantity.printed):
        holds = verdicts.EACH
    wholes = _averages(rows, quantity, levels)
    of_claim = _of_averages(claim, quantity, wholes, rows) if holds == verdicts.AVERAGE else _of_rows(rows, evidence, holds)
    verdict = verdicts.judge(of_claim, *levels)
    told = _told(claim, quantity, wholes[0], levels) if len(wholes) == 1 and wholes[0] else None
    stands_out = _standing_out(rows, verdict, levels) if holds == verdicts.AVERAGE else []
    bound = bound_of(quantity, rows, levels.supports) if holds == verdicts.EACH and len(rows) > 1 else None
    judged = wholes if holds == verdicts.AVERAGE else rows
    alike = alike_within(quantity, judged, levels.supports) if verdict == verdicts.INCONCLUSIVE else None
    for row in rows:
        for key in INNER:
            row.pop(key, None)
    return {
        "verdict": verdict,
        "holds": holds,
        "evidence": of_claim,
        **({} if own else {"p_supports": of_claim.supports, "p_opposes": of_claim.opposes}),
        "whole": told,
        "stands_out": stands_out,
        "bound": bound,
        "alike": alike,
        "size": told["size"] if told else rows[0].get("size", "") if len(rows) == 1 else "",
        **({"needed": told["needed"] if told else None} if holds == verdicts.AVERAGE else {}),
    }


def _evidence(claim: dict, quantity: Quantity, row: dict, among: int = 1) -> Strength:
    """Return the evidence of a comparison, or of an average.

    If one `among` several comparisons would be enough, the evidence must be shown by the comparison's own spread and
    also by that of all comparisons like it (blocks.Mean.strictly).
    """
    if "verdict" in row:
        return OWN[row["verdict"]]
    if "shown" not in row:
        return verdicts.NOTHING
    named = bool((findings.paper_magnitude(claim) or {}).get("low"))
    alone, strictly = (
        verdicts.strength(row["expected"], shown, _bounds(quantity, row), named)
        for shown in (row["shown"], row["shown"].strictly)
    )
    if among == 1:
        return alone
    one_does = claim.get("holds", verdicts.EACH) in (verdicts.MOST, verdicts.SOME)
    return Strength((strictly if one_does else alone).supports, strictly.opposes)


def _of_rows(rows: list[dict], evidence: list[Strength], holds: str) -> Strength:
    """Return the evidence of comparisons that are judged one by one, or by the votes that they have together."""
    votes = [[evidence[place] for place in vote] for vote in compare.votes_of(rows, holds)]
    return verdicts.combine([verdicts.combine(own, verdicts.EACH) for own in votes], holds)


def alike_within(quantity: Quantity, judged: list[dict | None], alpha: float) -> float | None:
    """Return the usual margin if all differences are shown to lie within it; None otherwise, or if likeness is claimed.

    Each difference is shown to be by two one-sided tests at `alpha`, so all are (intersection-union test).
    """
    margin = quantity.usual_margin
    if quantity.printed or any(one is None or "shown" not in one or one["expected"] in verdicts.LIKENESS for one in judged):
        return None
    shown = (verdicts.strength("no_difference", one["shown"], _bounds(quantity, one, margin), False) for one in judged)
    return margin if max(one.supports for one in shown) < alpha else None


def _bounds(quantity: Quantity, row: dict, margin: float | None = None) -> Bounds:
    """Return the bounds of a comparison, by its own margin if none is given. For an average of metrics whose signs were
    reversed, both directions have the same bound."""
    bounds = quantity.bounds(row["margin"] if margin is None else margin)
    return Bounds(-bounds.upper, bounds.upper) if row.get("mixed") else bounds


def _judge_row(claim: dict, quantity: Quantity, row: dict, evidence: Strength, levels: Levels) -> None:
    if "verdict" in row:
        return
    row.update(p_supports=evidence.supports, p_opposes=evidence.opposes)
    if isinstance(row.get("shown"), Mean):
        row["needed"] = needed_repetitions(row["expected"], row["shown"].mean, row["deviation"], _bounds(quantity, row), levels)
    row["size"] = size_of(claim, quantity, row, levels.supports)


def _judge_rows(rows: list[dict], levels: Levels) -> None:
    """Give each comparison its verdict. The p against a claim is adjusted for their number (Holm), because any one
    contradicts it. One without a block is unmeasured."""
    paper_tests.adjust(rows, "p_opposes", "p_opposes_holm")
    for row in rows:
        if not row["n"]:
            row["verdict"] = verdicts.UNMEASURED
        elif "verdict" not in row:
            row["verdict"] = verdicts.judge(Strength(row["p_supports"], row["p_opposes_holm"]), *levels)


def _averages(rows: list[dict], quantity: Quantity, levels: Levels) -> list[dict | None]:
    """Return the average of the comparisons; for an order, return one average for each entry against the next."""
    pairs = sorted({row.get("pair", 0) for row in rows})
    return [compare.whole([row for row in rows if row.get("pair", 0) == pair], quantity, levels.supports) for pair in pairs]


def _of_averages(claim: dict, quantity: Quantity, wholes: list[dict | None], rows: list[dict]) -> Strength:
    """Return the evidence of all averages together. It is NOTHING if one average is missing.

    Differences of both signs can cancel. Likeness on average is therefore not supported while one comparison contradicts it.
    """
    strengths = [_evidence(claim, quantity, whole) if whole else verdicts.NOTHING for whole in wholes]
    together = verdicts.combine(strengths, verdicts.EACH)
    likeness = any(row["expected"] in verdicts.LIKENESS for row in rows)
    if likeness and any(row["verdict"] == verdicts.CONTRADICTED for row in rows):
        return together._replace(supports=1.0)
    return together


def _told(claim: dict, quantity: Quantity, whole: dict, levels: Levels) -> dict:
    """Return the average in the form in which results hold it."""
    evidence = _evidence(claim, quantity, whole)
    shown = {key: value for key, value in whole.items() if key not in INNER}
    return {
        **shown,
        **{"p_supports": evidence.supports, "p_opposes": evidence.opposes},
        "size": size_of(claim, quantity, whole, levels.supports),
        "needed": needed_repetitions(
            whole["expected"], whole["shown"].mean, whole["deviation"], _bounds(quantity, whole), levels
        ),
    }


def _standing_out(rows: list[dict], verdict: str, levels: Levels) -> list[dict]:
    """Return the comparisons that are decided the other way than their average, adjusted for their number in either
    direction."""
    keys = ("metric", "cell_a", "cell_b", "effect", "low", "high")
    if verdict == verdicts.REPRODUCED:
        out = [row for row in rows if row["verdict"] == verdicts.CONTRADICTED]
    elif verdict == verdicts.CONTRADICTED:
        paper_tests.adjust(rows, "p_supports", "adjusted")
        out = [row for row in rows if row.pop("adjusted", 1.0) < levels.supports]
    else:
        out = []
    return [{key: row.get(key) for key in keys} for row in out]


def size_of(claim: dict, quantity: Quantity, row: dict, alpha: float) -> str:
    """Return how large a comparison, or an average, is beside what the paper prints. Empty if one of both sizes is not known.

    The papers round some numbers and cut others off, so a printed 14 % stands for 13 to 15 %.
    """
    paper, estimate = findings.paper_magnitude(claim), _estimate(row)
    if not paper or paper["low"] is None or estimate is None:
        return ""
    # No loss exceeds 100 %.
    ends = (max(-1.0, paper["low"] - _last_digit(paper["low"])), paper["high"] + _last_digit(paper["high"]))
    return verdicts.size(estimate, Bounds(*(quantity.forth(end, row) for end in ends)), alpha)


def _last_digit(fraction: float) -> float:
    """Return one unit of the last digit that was printed of a percentage, as a fraction. For a whole percentage it is
    one point."""
    return 10.0 ** -max(2, len(str(fraction).partition(".")[2]))


def _estimate(row: dict) -> Mean | None:
    """Return the mean of a comparison; None if it has no interval."""
    shown = row.get("shown")
    estimate = shown if isinstance(shown, Mean) else getattr(shown, "rise", None)
    return estimate if estimate and math.isfinite(estimate.mean) and math.isfinite(row.get("low", math.nan)) else None


def bound_of(quantity: Quantity, rows: list[dict], alpha: float) -> dict | None:
    """Return the bounds of the effects of several comparisons, with a confidence of 1 - alpha in all of them together.

    No effect lies below `lower` or above `upper`. Return None if one comparison has no interval, or no effect of its
    own. The largest of the one-sided bounds of each bounds the largest of all (inversion of the intersection-union
    test: Berger 1982). A direction that the claim says nothing of has no bound.
    """
    estimates = [_estimate(row) for row in rows]
    if quantity.printed or None in estimates:
        return None
    ends = [(row["expected"], *estimate.ends(alpha)) for row, estimate in zip(rows, estimates, strict=True)]
    lower = [low for expected, low, _ in ends if expected not in ("lower", "not_higher")]
    upper = [high for expected, _, high in ends if expected not in ("higher", "not_lower")]
    return {
        "comparisons": len(rows),
        "lower": quantity.back(min(lower)) if lower else None,
        "upper": quantity.back(max(upper)) if upper else None,
    }


def needed_repetitions(expected: str, mean: float, deviation: float, bounds: Bounds, levels: Levels) -> int:
    """Return the repetitions that would decide a comparison with a power of 80 %, if difference and spread are as estimated.

    For a claimed difference, they show it (or one as large as the margin), or one beyond the margin in the other
    direction. For `no_difference`, they show likeness, or a difference beyond the margin. For `not_lower` and
    `not_higher`, they show on which side of the bound the difference lies: for the statement by a one-sided test.
    """
    alpha = levels.supports
    if expected in ("not_lower", "not_higher"):
        inside = mean - bounds.lower if expected == "not_lower" else bounds.upper - mean
        return sample_sizes.sample_size(deviation, abs(inside), 2 * alpha if inside > 0 else levels.opposes)
    if expected == "no_difference":
        room = min(mean - bounds.lower, bounds.upper - mean)
        return (
            sample_sizes.sample_size(deviation, room, alpha, alike=True)
            if room > 0
            else sample_sizes.sample_size(deviation, -room, alpha)
        )
    found = max(mean, bounds.lower - mean) if expected == "higher" else max(-mean, mean - bounds.upper)
    return sample_sizes.sample_size(deviation, max(found, bounds.upper), alpha)
