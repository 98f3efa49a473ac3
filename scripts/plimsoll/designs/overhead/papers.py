"""What the paper prints of a study of overhead, by metric and runtime."""

import pandas as pd

from plimsoll import paths

# What the paper's tables call the environments, and what they are called here.
RUNTIMES = {"physical_machine": "bare", "container": "docker", "vm": "vm"}
# From the paper's units to ours, where they differ.
FACTORS = {"MB/s": 1e-3}
# The unit of standardised scores.
SCORE = "1 = best of the three resources"


def printed(reference: str) -> pd.DataFrame:
    """A table of config/reference, one row per metric and runtime, in our units: `paper_mean` and, where it has one,
    `paper_sd`. Of standardised scores the metric is the benchmark's."""
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
    """What a table comes to against the physical machine: `change` of the mean and `sd_ratio`, one row per metric and other
    runtime. A score is higher where a time is lower: its reciprocal stands for that."""
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
