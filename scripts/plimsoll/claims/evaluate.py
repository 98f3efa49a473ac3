"""From claims and observations to verdicts, with everything that a reader needs to doubt them."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from plimsoll import contention, designs, statistics
from plimsoll import plan as planning
from plimsoll.claims import counts, estimates, printed, verdicts
from plimsoll.claims.estimates import Sample
from plimsoll.claims.printed import Printed
from plimsoll.claims.sides import Contrast, Side
from plimsoll.interference import statistics as interference

# Smallest relative difference that matters, where the paper names none: the margin within which two sides are alike.
MARGIN = 0.05
RESAMPLES = 1000
# An interference ratio of a metric of which less is better has the sign of a gain (jha2021, equation 1).
LESS_IS_BETTER = "IR = (mu - mu_i) / mu"
OPPOSITE = {"higher": "lower", "lower": "higher"}
# The columns of the table of comparisons.
COLUMNS = (
    *(
        "claim",
        "metric",
        "label",
        "unit",
        "metric_b",
        "cell_a",
        "cell_b",
        "expected",
        "verdict",
        "magnitude",
        "n",
        "n_a",
        "n_b",
    ),
    *(
        "mean_a",
        "mean_b",
        "test",
        "effect",
        "low",
        "high",
        "p",
        "p_holm",
        "p_like",
        "p_like_holm",
        "margin",
        "detectable",
        "needed",
    ),
    *("paper_test", "paper_p", "paper_p_exact", "hedges_g", "cliffs_delta"),
)
# Statistics that a claim may set against each other, of the values of a block.
MIDDLES = {"mean": np.mean, "median": np.median, "trimmed_mean": lambda values: interference.summary(values)["trimmed_mean"]}
BOOTSTRAPPED = ("ratio_of_means_low", "ratio_of_means_high", "ratio_of_medians_low", "ratio_of_medians_high")


class Measured:
    """What was observed of a study: samples by side, and what carried the messages by cell."""

    def __init__(self, study: dict, plan: dict, observations: pd.DataFrame, runs: pd.DataFrame):
        self.study, self.plan, self.metrics = study, plan, study["metrics"]
        self.design = designs.find(plan["design"])
        self.unseen = planning.unseen(plan, study, list(self.metrics))
        # Every single value, of which a block may have several: iterations of a loop.
        self.single: dict[tuple[str, str], Sample] = {}
        observations = observations.sort_values("repetition")
        for key, group in observations.groupby(["metric", *plan["factors"]], sort=False):
            columns = (group[name].to_numpy() for name in ("value", "repetition", "censored"))
            values, blocks, censored = columns
            self.single[key[0], "/".join(key[1:])] = Sample(values.astype(float), blocks, censored.astype(bool))
        self.samples = {key: estimates.by_block(sample, np.mean) for key, sample in self.single.items()}
        valid = runs[runs["status"] == "valid"] if "transport" in runs else runs.head(0)
        paths = valid[plan["factors"]].agg("/".join, axis=1) if len(valid) else pd.Series(dtype=str)
        self.transports = valid["transport"].groupby(paths).agg(list).to_dict() if len(valid) else {}

    def reason(self, asked) -> str | None:
        """Why a contrast, a trend or a printed value cannot be measured here; None if it can."""
        sides = asked if isinstance(asked, list) else [asked]
        cells = (self.plan["cells"][path]["reason"] for side in sides for path in side.cells)
        unseen = (self.unseen.get(metric) for side in sides for metric in side.metrics)
        return next(filter(None, (*cells, *unseen)), None)

    def sample(self, side: Side) -> Sample:
        """Observations of a side, one a block: values of the metric; or with a reference losses relative to it (fractions,
        positive is worse), or the memory contention ratio; or a statistic of each block's values. A count is half a count
        more, so that none has a logarithm."""
        empty = Sample(np.empty(0), np.empty(0), np.empty(0, bool))
        if side.quantity in MIDDLES:
            return estimates.by_block(self.single.get((side.metric, side.cell), empty), MIDDLES[side.quantity])
        own = self.samples.get((side.metric, side.cell), empty)
        if side.reference is None:
            return replace(own, values=own.values + 0.5) if self.metrics[side.metric]["unit"] == "count" else own
        reference = self.samples.get((side.metric, side.reference), empty)
        blocks = np.intersect1d(own.blocks, reference.blocks)
        value, before = estimates.within_blocks(own, reference)
        if side.quantity == "memory contention ratio":
            return Sample(contention.ratio(value, before), blocks, np.zeros(len(value), bool))
        kept = value / before if self.metrics[side.metric]["better"] == "higher" else before / value
        return Sample(1 - kept, blocks, np.zeros(len(kept), bool))


def evaluate(claims: list[dict], measured: Measured, alpha: float) -> tuple[list[dict], pd.DataFrame]:
    """(verdicts, comparisons): one dictionary a claim, in order, and one row a comparison that was made."""
    asked = measured.design.asking(measured.plan, measured.study)
    results, rows = [], []
    for claim in claims:
        result, compared = _claim(claim, measured, asked, alpha)
        results.append(result)
        rows += [{"claim": claim["id"], **row} for row in compared]
    return results, _with_bootstrap(pd.DataFrame(rows, columns=list(COLUMNS)), measured)


def unavailable(claims: list[dict], built: bool) -> list[dict]:
    """Verdicts on the claims of a study that is not built, or was not selected."""
    reason = "the configuration does not select this study" if built else "Plimsoll has not built this study yet"
    return [_result(claim, verdicts.UNAVAILABLE, reason) for claim in claims]


def _claim(claim: dict, measured: Measured, asked: Callable[[dict], list], alpha: float) -> tuple[dict, list[dict]]:
    if reason := _untestable(claim, measured):
        return _result(claim, verdicts.NOT_TESTABLE, reason), []
    result, rows = _tested(claim, measured, asked(claim), alpha)
    if not rows and (moved := measured.design.elsewhere(claim)):
        result, rows = _tested(moved, measured, asked(moved), alpha)
        result["transferred"] = bool(rows)
    return result, rows


def _untestable(claim: dict, measured: Measured) -> str | None:
    if "untestable" in claim:
        return claim["untestable"]
    if "expected" not in claim and claim.get("quantity") not in ("transport", "printed value") and "along" not in claim:
        return "it does not say which side is higher"
    lacking = measured.design.lacks(measured.plan)
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
        return _result(claim, verdicts.NOT_TESTABLE, reason), []
    if not possible:
        named = sorted({reason for reason in reasons if reason})
        reason = "; ".join(named) or "the design has no two cells on this host that it compares"
        return _result(claim, verdicts.NOT_TESTABLE, reason), []
    if claim.get("quantity") == "transport":
        rows = counts.transport(claim["values"]["a"], possible, measured.transports)
    elif trend:
        rows = [_trend(claim, measured, sides) for sides in possible if len(sides) > 2]
    else:
        rows = [_compare(claim, measured, one, alpha) for one in possible]
    _judge_all(claim, rows, alpha)
    result = _result(claim, verdicts.together([row["verdict"] for row in rows], claim.get("holds", "all")), "")
    result.update(_summary(claim, rows), left_out=len(asked) - len(rows), substitutes=_substitutes(measured.plan, possible))
    return result, rows


def _substitutes(plan: dict, asked: list) -> list[str]:
    """What stands in for a program of the paper in the cells that were compared, in words."""
    sides = [side for one in asked for side in (one if isinstance(one, list) else [one])]
    found = {name for side in sides for path in side.cells for name in plan["cells"][path].get("substitutes", {}).values()}
    return sorted(found)


def _compare(claim: dict, measured: Measured, contrast: Contrast | Printed, alpha: float) -> dict:
    """One comparison: a row without its verdict."""
    if isinstance(contrast, Printed):
        row = _row(Contrast(contrast, contrast), measured.metrics[contrast.metric], "no_difference")
        row.update(cell_b="the paper", margin=_margin(claim))
        return printed.compare(row, measured.sample(contrast), contrast.value, alpha)
    a, b = measured.sample(contrast.a), measured.sample(contrast.b)
    metric = measured.metrics[contrast.a.metric]
    row = _row(contrast, metric, _expected(claim, metric, contrast.a.metric))
    row.update(n_a=len(a.values), n_b=len(b.values), margin=_margin(claim))
    quantity = claim.get("quantity")
    if quantity == "count":
        return counts.in_every_run(row, a, b)
    if a.censored.any() or b.censored.any():
        found = statistics.compare_censored(a.values, b.values, a.censored, b.censored)
        ratio = found["ratio_of_means"] - 1
        return {**row, "n": min(len(a.values), len(b.values)), "test": found["test"], "effect": ratio, "p": found["p"]}
    if quantity == "dispersion":
        return _dispersion(row, *(measured.single.get((side.metric, side.cell)) for side in (contrast.a, contrast.b)))
    in_a, in_b = estimates.within_blocks(a, b)
    row["n"] = len(in_a)
    if len(in_a) < estimates.SMALLEST:
        return {**row, "test": "none: too few blocks"}
    row.update(mean_a=in_a.mean(), mean_b=in_b.mean())
    if quantity in ("relative loss", "memory contention ratio"):
        differences, margin, back = in_a - in_b, row["margin"], lambda x: x
    else:
        differences, margin, back = np.log(in_a) - np.log(in_b), np.log1p(row["margin"]), np.expm1
        paper = statistics.compare(a.values, b.values, alpha)
        row.update(paper_test=paper["test"], paper_p=paper["p"], paper_p_exact=paper["p_exact"], hedges_g=paper["hedges_g"])
        row["cliffs_delta"] = estimates.cliffs_delta(a.values, b.values)
    return {**row, "test": "paired t within blocks", **estimates.about_zero(differences, margin, alpha, back)}


def _dispersion(row: dict, a: Sample | None, b: Sample | None) -> dict:
    """How the spread of two sides' single values compares."""
    n = min(0 if sample is None else len(sample.values) for sample in (a, b))
    if n < estimates.SMALLEST:
        return {**row, "n": n, "test": "none: too few values"}
    effect, low, high, p = estimates.dispersion(*map(estimates.relative_to_block, (a, b)))
    means = {"mean_a": a.values.mean(), "mean_b": b.values.mean()}
    return {**row, **means, "n": n, "test": "Brown-Forsythe", "effect": effect, "low": low, "high": high, "p": p}


def _trend(claim: dict, measured: Measured, sides: list[Side]) -> dict:
    """A trend over three levels or more: a row without its verdict. The effect is the last level against the first."""
    metric = measured.metrics[sides[0].metric]
    expected = {"increasing": "higher", "decreasing": "lower"}[claim["along"]["direction"]]
    row = _row(Contrast(sides[-1], sides[0]), metric, expected)
    samples = [measured.sample(side) for side in sides]
    blocks = sorted(set.intersection(*(set(sample.blocks) for sample in samples)))
    row.update(n=len(blocks), n_a=len(samples[-1].values), n_b=len(samples[0].values), margin=_margin(claim))
    if len(blocks) < estimates.SMALLEST:
        return {**row, "test": "none: too few blocks"}
    levels = np.stack([sample.values[np.isin(sample.blocks, blocks)] for sample in samples], axis=-1)
    rising, falling = estimates.trend(levels)
    ends = levels[:, -1] - levels[:, 0] if claim.get("relative_to") else np.log(levels[:, -1] / levels[:, 0])
    back = (lambda x: x) if claim.get("relative_to") else np.expm1
    mean, low, high = (back(x) for x in estimates.t_interval(ends))
    # The sign of the trend is Page's; the ends alone may say otherwise.
    effect = abs(mean) if rising < falling else -abs(mean)
    return {**row, "test": "Page", "effect": effect, "low": low, "high": high, "p": min(1.0, 2 * min(rising, falling))}


def _judge_all(claim: dict, rows: list[dict], alpha: float) -> None:
    """Adjust the p-values of a claim's comparisons by Holm's method, and judge each."""
    known = _adjust(rows, "p", "p_holm")
    # One comparison that shows likeness contradicts a claimed difference: that must stand the number of comparisons. A claim
    # of no difference needs likeness in all of them, which makes an error less likely and not more.
    _adjust([row for row in rows if row["expected"] != "no_difference"], "p_like", "p_like_holm")
    for row in rows:
        if "spread" in row:
            row["needed"] = _needed(row["expected"], *row.pop("spread"), alpha, known)
        numbers = {key: row.get(key, np.nan) for key in ("effect", "low", "high", "margin")}
        p_like = row.get("p_like_holm", row.get("p_like", np.nan))
        evidence = verdicts.Evidence(n=row["n"], p=row.get("p_holm", np.nan), p_like=p_like, **numbers)
        row.setdefault("verdict", verdicts.judge(row["expected"], evidence, alpha))
        row["magnitude"] = verdicts.magnitude(numbers["low"], numbers["high"], _paper_magnitude(claim))


def _adjust(rows: list[dict], p: str, adjusted: str) -> int:
    """Put Holm-adjusted p-values into rows that have one; how many these are."""
    known = [row for row in rows if np.isfinite(row.get(p, np.nan))]
    if known:
        for row, value in zip(known, statistics.holm([row[p] for row in known]), strict=True):
            row[adjusted] = float(value)
    return len(known)


def _needed(expected: str, mean: float, deviation: float, margin: float, alpha: float, comparisons: int) -> int:
    """Repetitions that would decide a comparison if its difference and spread are what they seem to be: to show likeness where
    it is claimed and the difference is within the margin, otherwise to find the difference, or one as large as the margin.

    A difference must stand adjustment for the claim's other comparisons; likeness need not, as all of them must show it.
    """
    if expected == "no_difference" and abs(mean) < margin:
        return estimates.needed(deviation, margin - abs(mean), alpha, alike=True)
    return estimates.needed(deviation, max(abs(mean), margin), alpha / max(1, comparisons))


def _summary(claim: dict, rows: list[dict]) -> dict:
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


def _result(claim: dict, verdict: str, reason: str) -> dict:
    return {
        **{
            key: claim.get(key)
            for key in (
                *("id", "question", "section", "shown_in", "kind", "statement", "quantity"),
                *("same_as", "threshold", "note"),
            )
        },
        "study": claim["id"].split("-")[0],
        "holds": claim.get("holds", "all"),
        "margin": _margin(claim),
        "paper_p": claim.get("p_value"),
        "paper_magnitude": _paper_magnitude(claim),
        "verdict": verdict,
        "reason": reason,
        "transferred": False,
        "substitutes": [],
        "left_out": 0,
        "comparisons": 0,
    }


def _row(contrast: Contrast, metric: dict, expected: str) -> dict:
    quantities = (contrast.a.quantity, contrast.b.quantity)
    differ = f" ({quantities[0]} against {quantities[1]})" if quantities[0] != quantities[1] else ""
    return {
        "metric": contrast.a.metric,
        "label": metric["label"] + differ,
        "unit": metric["unit"],
        "metric_b": contrast.b.metric,
        "cell_a": contrast.a.cell,
        "cell_b": contrast.b.cell,
        "expected": expected,
        "n": 0,
    }


def _expected(claim: dict, metric: dict, name: str = "") -> str:
    """What the claim says of the metric on side a: higher, lower or no_difference."""
    said = claim["expected"]
    if name in claim.get("opposite", ()):
        return OPPOSITE[said]
    if said in ("better", "worse"):
        return metric["better"] if said == "better" else OPPOSITE[metric["better"]]
    return said


def _paper_magnitude(claim: dict) -> dict | None:
    """The range that the paper gives, signed as our effects: side a relative to side b."""
    given = claim.get("magnitude")
    if not given or given["of"] != LESS_IS_BETTER or given["low"] is None:
        return given
    return {**given, "low": -given["high"], "high": -given["low"]}


def _margin(claim: dict) -> float:
    """The margin of likeness: the claim's own; half of the smallest difference that the paper claims; or the usual one."""
    if "margin" in claim:
        return claim["margin"]
    given = claim.get("magnitude") or {}
    sizes = [abs(given[key]) / 2 for key in ("low", "high") if given.get(key)]
    return min([MARGIN, *sizes]) if claim.get("expected") != "no_difference" else MARGIN


def _with_bootstrap(table: pd.DataFrame, measured: Measured) -> pd.DataFrame:
    """The table with bootstrap intervals of the ratios of means and of medians, for comparisons of values within blocks."""
    table[list(BOOTSTRAPPED)] = np.nan
    plain = table[(table["test"] == "paired t within blocks") & table["paper_p"].notna()]
    # Two statistics of one cell have no ratio of means.
    plain = plain[(plain["cell_a"] != plain["cell_b"]) | (plain["metric"] != plain["metric_b"])]
    for n, group in plain.groupby("n"):
        sides = zip(group["metric"], group["cell_a"], group["metric_b"], group["cell_b"], strict=True)
        pairs = [
            estimates.within_blocks(measured.sample(Side(metric, cell)), measured.sample(Side(metric_b, cell_b)))
            for metric, cell, metric_b, cell_b in sides
        ]
        a, b = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        found = estimates.bootstrap_ratios(a, b, RESAMPLES, seed=int(n))
        table.loc[group.index, list(BOOTSTRAPPED)] = np.concatenate([found["mean"], found["median"]], axis=1)
    return table


def table_of(results: list[dict]) -> pd.DataFrame:
    """Results as a table: one row a claim, nested values as JSON."""
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
    """Names of the study's tables, of those that are made from runs, that show what a claim is about."""
    return _shown(result, "Table ", "table", study.get("measured_tables", {}))


def _shown(result: dict, word: str, name: str, known: dict) -> list[str]:
    numbers = [text.removeprefix(word).zfill(2) for text in result["shown_in"] or [] if text.startswith(word)]
    return [name + number for number in numbers if name + number in known]
