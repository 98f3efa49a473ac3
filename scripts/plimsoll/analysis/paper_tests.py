"""Unpaired two-sample tests as in liu2020 (section 4.3), with effect sizes and intervals."""

import functools
import warnings
from collections.abc import Sequence

import numpy as np
from scipy import special

# With fewer values Shapiro-Wilk says nothing, and no test is made.
SMALLEST = 3
# Keys of the result of `compare`, besides the numbers of values and the name of the test.
QUANTITIES = (
    *("p", "p_exact", "statistic", "mean_a", "mean_b", "sd_a", "sd_b", "shapiro_a", "shapiro_b", "f_test"),
    *("ratio", "ratio_low", "ratio_high", "ratio_of_means", "hedges_g", "superiority"),
)


# scipy.stats, pingouin and statsmodels are imported where they are used. Together they take five seconds to import, and
# every chart needs the interval of a mean and nothing else from this module.


def shapiro(values: np.ndarray) -> float:
    """Return p of the Shapiro-Wilk test of normality.

    NaN if all values are the same: they have no distribution to test.
    """
    from scipy import stats

    return float("nan") if np.ptp(values) == 0 else float(stats.shapiro(values).pvalue)


def f_test(a: np.ndarray, b: np.ndarray) -> float:
    """Return the two-sided p of Fisher's F test of equal variances."""
    from scipy import stats

    va, vb = np.var(a, ddof=1), np.var(b, ddof=1)
    if va == 0 or vb == 0:
        return 1.0 if va == vb else 0.0
    upper = stats.f.sf(va / vb, len(a) - 1, len(b) - 1)
    return float(2 * min(upper, 1 - upper))


def holm(p: Sequence[float]) -> np.ndarray:
    """Return the p-values adjusted by Holm's method."""
    import pingouin

    return pingouin.multicomp(list(p), method="holm")[1]


def adjust(rows: list[dict], p: str, adjusted: str) -> int:
    """Put Holm-adjusted p-values (key `adjusted`) into the rows that have a p-value (key `p`). Return the number of
    these rows."""
    known = [row for row in rows if np.isfinite(row.get(p, np.nan))]
    if known:
        for row, value in zip(known, holm([row[p] for row in known]), strict=True):
            row[adjusted] = float(value)
    return len(known)


def paper_test(a: np.ndarray, b: np.ndarray, alpha: float = 0.05) -> dict:
    """Return name, statistic and p of the test of section 4.3, for two samples of at least three values.

    Shapiro-Wilk tests each sample. If one is not normal at `alpha`, the test is Mann-Whitney's. It uses the normal
    approximation with continuity correction, which gives the p-values that the paper prints. The exact p is beside it
    if no values are tied. Otherwise Fisher's F test selects Student's t test for equal variances, or Welch's for
    unequal ones.
    """
    from scipy import stats

    checks = {"shapiro_a": shapiro(a), "shapiro_b": shapiro(b), "f_test": f_test(a, b), "p_exact": np.nan}
    if checks["shapiro_a"] >= alpha and checks["shapiro_b"] >= alpha:
        equal = checks["f_test"] >= alpha
        t = stats.ttest_ind(a, b, equal_var=equal)
        return {**checks, "test": "Student" if equal else "Welch", "statistic": t.statistic, "p": t.pvalue}
    u = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)
    if len(set(a) | set(b)) == len(a) + len(b):
        checks["p_exact"] = stats.mannwhitneyu(a, b, method="exact").pvalue
    return {**checks, "test": "Mann-Whitney", "statistic": u.statistic, "p": u.pvalue}


def compare(a: np.ndarray, b: np.ndarray, alpha: float = 0.05) -> dict:
    """Return the paper's test of a difference between two samples (`paper_test`), and how large the difference is.

    `ratio` is that of the geometric means, a over b, with the 95 % interval of Welch's test on the logarithms.
    `ratio_of_means` is that of the arithmetic means, `hedges_g` is Hedges' g, and `superiority` is the probability that
    a value of a is above one of b.

    All are NaN if a sample has fewer than three values. If neither sample varies, as counts may not, only means,
    standard deviations and ratios are numbers.
    """
    return dict(_compared(np.asarray(a, float).tobytes(), np.asarray(b, float).tobytes(), alpha))


@functools.cache  # many claims compare the same two cells, and these tests take most of the time of judging
def _compared(a_bytes: bytes, b_bytes: bytes, alpha: float) -> dict:
    import pingouin
    from scipy import stats

    a, b = np.frombuffer(a_bytes), np.frombuffer(b_bytes)
    result: dict = {"n_a": len(a), "n_b": len(b), "test": "none: too few valid runs"} | dict.fromkeys(QUANTITIES, np.nan)
    if min(len(a), len(b)) < SMALLEST:
        return result
    ratios = {"ratio": np.exp(np.log(a).mean() - np.log(b).mean()), "ratio_of_means": a.mean() / b.mean()}
    result.update(mean_a=a.mean(), mean_b=b.mean(), sd_a=a.std(ddof=1), sd_b=b.std(ddof=1), **ratios)
    if np.ptp(a) == np.ptp(b) == 0:
        return {**result, "test": "none: nothing varies"}
    with warnings.catch_warnings():
        # SciPy warns if a sample does not vary, as counts may not. Its variance is exactly 0 all the same.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = stats.ttest_ind(np.log(a), np.log(b), equal_var=False).confidence_interval(0.95)
    result.update(paper_test(a, b, alpha))
    result.update(
        ratio_low=np.exp(low),
        ratio_high=np.exp(high),
        hedges_g=pingouin.compute_effsize(a, b, eftype="hedges"),
        superiority=stats.mannwhitneyu(a, b).statistic / (len(a) * len(b)),
    )
    return result


def compare_censored(a: np.ndarray, b: np.ndarray, censored_a: np.ndarray, censored_b: np.ndarray) -> dict:
    """Return a test of a difference between two samples of times, of which some runs hit their limit (marked by `censored_*`).

    Means and variances of such samples are not known, but ranks are. The test is Mann-Whitney's, with the runs at their
    limit tied for the last rank. The means and `ratio_of_means` take the limit as the time of such a run: the true mean
    is at least that.
    """
    from scipy import stats

    result: dict = {"n_a": len(a), "n_b": len(b), "test": "none: every run hit its limit"} | dict.fromkeys(QUANTITIES, np.nan)
    result.update(censored_a=int(censored_a.sum()), censored_b=int(censored_b.sum()))
    if min(len(a), len(b)) < SMALLEST:
        return {**result, "test": "none: too few valid runs"}
    result.update(mean_a=a.mean(), mean_b=b.mean(), ratio_of_means=a.mean() / b.mean())
    if not (censored_a.all() and censored_b.all()):
        last = max(a.max(), b.max()) + 1
        u = stats.mannwhitneyu(
            np.where(censored_a, last, a), np.where(censored_b, last, b), method="asymptotic", use_continuity=True
        )
        result.update(test="Mann-Whitney, runs at their limit last", statistic=u.statistic, p=u.pvalue)
        result["superiority"] = u.statistic / (len(a) * len(b))
    return result


def mean_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of Student's t for the mean; (NaN, NaN) for fewer than two values."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return float("nan"), float("nan")
    half = values.std(ddof=1) / np.sqrt(len(values)) * special.stdtrit(len(values) - 1, (1 + level) / 2)
    return values.mean() - half, values.mean() + half
