"""Unpaired two-sample tests as in liu2020 (section 4.3), with effect sizes and intervals."""

import numpy as np
import pandas as pd
import pingouin
from scipy import stats
from statsmodels.stats.multitest import multipletests

# Below this many values Shapiro-Wilk says nothing and no test is done.
SMALLEST = 3
# What `compare` gives besides the numbers of values and the name of the test.
QUANTITIES = (
    *("p", "p_exact", "statistic", "mean_a", "mean_b", "sd_a", "sd_b", "shapiro_a", "shapiro_b", "f_test"),
    *("ratio", "ratio_low", "ratio_high", "ratio_of_means", "hedges_g", "superiority"),
)


def shapiro(values: np.ndarray) -> float:
    """p of the Shapiro-Wilk test of normality; NaN for values that are all the same, which have no distribution to test."""
    return float("nan") if np.ptp(values) == 0 else float(stats.shapiro(values).pvalue)


def f_test(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p of Fisher's F test of equal variances."""
    va, vb = np.var(a, ddof=1), np.var(b, ddof=1)
    if va == 0 or vb == 0:
        return 1.0 if va == vb else 0.0
    upper = stats.f.sf(va / vb, len(a) - 1, len(b) - 1)
    return float(2 * min(upper, 1 - upper))


def compare(a: np.ndarray, b: np.ndarray, alpha: float = 0.05) -> dict:
    """Test of a difference between two samples, chosen as the paper does.

    Shapiro-Wilk on each sample: if one is not normal at `alpha`, Mann-Whitney (normal approximation with continuity
    correction, which gives the p-values that the paper prints; the exact p is given beside it). Otherwise Fisher's F test:
    Student's t test for equal variances, Welch's for unequal ones.

    Also `ratio` of the geometric means, a over b, with the 95 % interval of Welch's test on the logarithms; `ratio_of_means`
    of the arithmetic means; Hedges' g; and the probability that a value of a is above one of b. NaN where a sample has fewer
    than three values.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    result: dict = {"n_a": len(a), "n_b": len(b), "test": "none: too few valid runs"} | dict.fromkeys(QUANTITIES, np.nan)
    if min(len(a), len(b)) < SMALLEST:
        return result
    result.update(mean_a=a.mean(), mean_b=b.mean(), sd_a=a.std(ddof=1), sd_b=b.std(ddof=1))
    result.update(shapiro_a=shapiro(a), shapiro_b=shapiro(b), f_test=f_test(a, b))
    u = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)
    if not (result["shapiro_a"] >= alpha and result["shapiro_b"] >= alpha):
        result.update(test="Mann-Whitney", statistic=u.statistic, p=u.pvalue)
        if len(set(a) | set(b)) == len(a) + len(b):
            result["p_exact"] = stats.mannwhitneyu(a, b, method="exact").pvalue
    else:
        equal = result["f_test"] >= alpha
        t = stats.ttest_ind(a, b, equal_var=equal)
        result.update(test="Student" if equal else "Welch", statistic=t.statistic, p=t.pvalue)
    logs = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    low, high = logs.confidence_interval(0.95)
    result.update(
        ratio=np.exp(np.log(a).mean() - np.log(b).mean()),
        ratio_low=np.exp(low),
        ratio_high=np.exp(high),
        ratio_of_means=a.mean() / b.mean(),
        hedges_g=pingouin.compute_effsize(a, b, eftype="hedges"),
        superiority=u.statistic / (len(a) * len(b)),
    )
    return result


def pairs(cells: pd.DataFrame, baseline: str, variants: dict[str, str]) -> list[tuple[str, tuple, tuple]]:
    """(comparison, cell, reference cell) for every comparison of the study; a cell is (hardware, mode, scheme, runtime,
    affinity). `variants` maps a runtime to the one that it is a variant of.

    Every container cell against bare metal (which has one scheme a mode), every cell of several containers against the one
    of one container, and every variant of a runtime against that runtime.
    """
    known = {tuple(row) for row in cells[["hardware", "mode", "scheme", "runtime", "affinity"]].itertuples(index=False)}
    found = []
    for cell in sorted(known):
        hardware, mode, scheme, runtime, affinity = cell
        single = scheme[0] + "1"
        candidates = [
            ("against bare metal", (hardware, mode, single, baseline, affinity), runtime != baseline),
            ("against one container", (hardware, mode, single, runtime, affinity), scheme != single),
        ]
        if runtime in variants:
            other = (hardware, mode, scheme, variants[runtime], affinity)
            candidates.append((f"against {variants[runtime]}", other, True))
        found += [(name, cell, reference) for name, reference, asked in candidates if asked and reference in known]
    return found


def tests(observations: pd.DataFrame, baseline: str, alpha: float, variants: dict[str, str]) -> pd.DataFrame:
    """One row a metric and comparison: the cell, its reference, and what `compare` gives; with p adjusted by Holm's method
    over the comparisons of the same kind and metric."""
    factors = ["hardware", "mode", "scheme", "runtime", "affinity"]
    rows = []
    for metric, of_metric in observations.groupby("metric", sort=False):
        values = {tuple(key): group["value"].to_numpy() for key, group in of_metric.groupby(factors)}
        unit, better, label = of_metric[["unit", "better", "label"]].iloc[0]
        for comparison, cell, reference in pairs(of_metric, baseline, variants):
            row = dict(zip(factors, cell, strict=True))
            row.update(metric=metric, label=label, unit=unit, better=better, comparison=comparison)
            row.update(reference="/".join(reference), **compare(values[cell], values[reference], alpha))
            rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    table["p_holm"] = np.nan
    for _, group in table[table["p"].notna()].groupby(["metric", "comparison"]):
        table.loc[group.index, "p_holm"] = multipletests(group["p"], method="holm")[1]
    table["significant"] = table["p"].lt(alpha).where(table["p"].notna())
    return table


def mean_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Interval of Student's t for the mean; (NaN, NaN) for fewer than two values."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return float("nan"), float("nan")
    half = stats.sem(values) * stats.t.ppf((1 + level) / 2, len(values) - 1)
    return values.mean() - half, values.mean() + half
