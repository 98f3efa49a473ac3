"""One comparison of a claim: two sides, a trend, or a printed value, as a row of numbers without its verdict."""

import numpy as np
import pandas as pd

from plimsoll import statistics
from plimsoll.claims import counts, estimates, findings, printed
from plimsoll.claims.estimates import Sample
from plimsoll.claims.measured import Measured
from plimsoll.claims.printed import Printed
from plimsoll.claims.sides import Contrast, Side

RESAMPLES = 1000
OPPOSITE = {"higher": "lower", "lower": "higher"}
# The columns of the table of comparisons.
COLUMNS = (
    *("claim", "metric", "label", "unit", "metric_b", "cell_a", "cell_b", "expected", "verdict", "magnitude"),
    *("n", "n_a", "n_b", "mean_a", "mean_b", "test", "effect", "low", "high", "p", "p_holm", "p_like", "p_like_holm"),
    *("margin", "detectable", "needed", "paper_test", "paper_p", "paper_p_exact", "hedges_g", "cliffs_delta"),
)
BOOTSTRAPPED = ("ratio_of_means_low", "ratio_of_means_high", "ratio_of_medians_low", "ratio_of_medians_high")


def of_sides(claim: dict, measured: Measured, contrast: Contrast | Printed, alpha: float) -> dict:
    """One comparison: a row without its verdict."""
    if isinstance(contrast, Printed):
        row = _row(Contrast(contrast, contrast), measured.metrics[contrast.metric], "no_difference")
        row.update(cell_b="the paper", margin=findings.margin(claim))
        return printed.compare(row, measured.sample(contrast), contrast.value, alpha)
    a, b = measured.sample(contrast.a), measured.sample(contrast.b)
    metric = measured.metrics[contrast.a.metric]
    row = _row(contrast, metric, _expected(claim, metric, contrast.a.metric))
    row.update(n_a=len(a.values), n_b=len(b.values), margin=findings.margin(claim))
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


def of_levels(claim: dict, measured: Measured, sides: list[Side]) -> dict:
    """A trend over three levels or more: a row without its verdict. The effect is the last level against the first."""
    metric = measured.metrics[sides[0].metric]
    expected = {"increasing": "higher", "decreasing": "lower"}[claim["along"]["direction"]]
    row = _row(Contrast(sides[-1], sides[0]), metric, expected)
    samples = [measured.sample(side) for side in sides]
    blocks = sorted(set.intersection(*(set(sample.blocks) for sample in samples)))
    row.update(n=len(blocks), n_a=len(samples[-1].values), n_b=len(samples[0].values), margin=findings.margin(claim))
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


def _dispersion(row: dict, a: Sample | None, b: Sample | None) -> dict:
    """How the spread of two sides' single values compares."""
    n = min(0 if sample is None else len(sample.values) for sample in (a, b))
    if n < estimates.SMALLEST:
        return {**row, "n": n, "test": "none: too few values"}
    effect, low, high, p = estimates.dispersion(*map(estimates.relative_to_block, (a, b)))
    means = {"mean_a": a.values.mean(), "mean_b": b.values.mean()}
    return {**row, **means, "n": n, "test": "Brown-Forsythe", "effect": effect, "low": low, "high": high, "p": p}


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


def with_bootstrap(table: pd.DataFrame, measured: Measured) -> pd.DataFrame:
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
