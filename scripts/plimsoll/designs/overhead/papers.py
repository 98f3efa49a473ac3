"""Values that the paper of a study of overhead prints, by metric and runtime."""

import pandas as pd

from plimsoll import paths

# The paper's names of the runtimes, and ours.
RUNTIMES = {"physical_machine": "bare", "container": "docker", "vm": "vm"}
# Factors from the paper's units to ours, where they differ.
FACTORS = {"MB/s": 1e-3}
# The paper's unit of standardised scores.
SCORE = "1 = best of the three resources"


def reference_table(reference: str) -> pd.DataFrame:
    """Return a table of config/reference in our units, one row per metric and runtime.

    A row has `paper_mean`, and `paper_sd` (NaN if the paper prints none). In a table of standardised scores, the metric is the
    benchmark's name.
    """
    table = pd.read_csv(paths.REFERENCE / f"{reference}.csv")
    named = next(column for column in ("operation", "benchmark", "metric") if column in table)
    factors = table["unit"].map(FACTORS).fillna(1.0)
    mean = table["mean"] if "mean" in table else table["value"]
    deviation = table["sd"] if "sd" in table else pd.Series(float("nan"), index=table.index)
    return pd.DataFrame(
        {
            "metric": table[named],
            "runtime": table["resource"].map(RUNTIMES),
            "unit": table["unit"],
            "paper_mean": mean * factors,
            "paper_sd": deviation * factors,
        }
    )


def changes(rows: pd.DataFrame, metrics: dict[str, dict]) -> list[dict]:
    """Return the paper's differences from its physical machine, one row per metric and other runtime.

    `change` is the relative difference of the means, and `sd_ratio` is the ratio of the standard deviations. Standardised
    scores of metrics where lower is better are inverted first, because such a score is higher where the time is lower.
    """
    told = []
    for metric, group in rows.groupby("metric", sort=False):
        if metrics[metric]["better"] == "lower" and (group["unit"] == SCORE).all():
            group = group.assign(paper_mean=1 / group["paper_mean"])
        by_runtime = group.set_index("runtime")
        base = by_runtime.loc["bare"]
        for runtime in by_runtime.index.drop("bare"):
            own = by_runtime.loc[runtime]
            change, ratio = own["paper_mean"] / base["paper_mean"] - 1, own["paper_sd"] / base["paper_sd"]
            told.append({"metric": metric, "runtime": runtime, "change": change, "sd_ratio": None if pd.isna(ratio) else ratio})
    return told
