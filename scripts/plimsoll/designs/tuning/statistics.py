"""Effects of strategies on a metric: of each one against the baseline, and of a factorial design."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks
from plimsoll.designs.tuning import strategies
from plimsoll.designs.tuning.factors import AND, BASELINE

CHANGES = ("change", "change_low", "change_high")
COLUMNS = ("metric", "label", "unit", "runtime", "strategy", "n", "mean", "sd", *CHANGES)
EFFECTS = ("metric", "label", "runtime", "effect", "factors", "change", "change_low", "change_high", "p", "n", "degrees")
# Interactions of more strategies than this are treated as noise.
LARGEST_INTERACTION = 2


def changes(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per metric, runtime and strategy: `n`, `mean` and standard deviation `sd` over runs, and `change`.

    `change` is the signed relative difference from the baseline, from the mean of the log ratios within blocks, with Student's
    95 % interval. It is NaN for fewer than three blocks, and has no width if differences are the same in all blocks.
    """
    rows, by_cell = [], dict(iter(observations.groupby(["metric", "runtime", "strategy"], sort=False)))
    for (metric, runtime, strategy), group in by_cell.items():
        own = group["value"].to_numpy(float)
        row = {"metric": metric, "runtime": runtime, "strategy": strategy, **group[["label", "unit"]].iloc[0].to_dict()}
        row |= {"n": len(own), "mean": own.mean(), "sd": own.std(ddof=1) if len(own) > 1 else float("nan")}
        baseline = by_cell.get((metric, runtime, BASELINE))
        if baseline is not None and strategy != BASELINE:
            row |= dict(zip(CHANGES, blocks.change(blocks.sample(group), blocks.sample(baseline)), strict=True))
        rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def effects(observations: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row per metric, runtime and effect: main effects of the factors, and interactions of pairs.

    They come from a linear model of the logarithms (ordinary least squares, statsmodels), with factors of -1 or 1 and a term
    for each block.

    The `change` of a main effect is how much a strategy changes the metric, averaged over all settings of the others. The
    `change` of an interaction is how much more two strategies change it together than their effects alone predict; 0 % is no
    interaction. `p` comes from the t test, and `degrees` are the residual degrees of freedom. With 0 degrees there is no row.
    """
    import statsmodels.formula.api as models  # here, because it takes a second

    rows = []
    for (metric, runtime), group in observations.groupby(["metric", "runtime"], sort=False):
        own = group[[set(strategies.parts(name)) <= {BASELINE, *factors} for name in group["strategy"]]]
        coded = pd.DataFrame([strategies.levels(factors, name) for name in own["strategy"]], index=own.index)
        data = coded.assign(logarithm=np.log(own["value"].astype(float)), block=own["repetition"].astype(str))
        terms = " + ".join(factors)
        formula = f"logarithm ~ ({terms})**{LARGEST_INTERACTION}" + (" + C(block)" if data["block"].nunique() > 1 else "")
        fitted = models.ols(formula, data).fit()
        # Effects cannot be separated if runs are missing for a term.
        if fitted.df_resid < 1 or np.linalg.matrix_rank(fitted.model.exog) < fitted.model.exog.shape[1]:
            continue
        intervals = fitted.conf_int()
        for term in fitted.params.index:
            if term == "Intercept" or term.startswith("C(block)"):
                continue
            between = 2 if ":" not in term else 4
            change, low, high = np.expm1(between * np.array([fitted.params[term], *intervals.loc[term]]))
            rows.append(
                {
                    "metric": metric,
                    "label": group["label"].iloc[0],
                    "runtime": runtime,
                    "effect": term.replace(":", AND),
                    "factors": 1 + term.count(":"),
                    "change": change,
                    "change_low": low,
                    "change_high": high,
                    "p": fitted.pvalues[term],
                    "n": len(own),
                    "degrees": int(fitted.df_resid),
                }
            )
    return pd.DataFrame(rows, columns=list(EFFECTS))
