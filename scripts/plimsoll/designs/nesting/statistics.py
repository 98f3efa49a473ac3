"""Means and standard deviations of cells, as the paper has them, and slowdowns."""

import pandas as pd

from plimsoll.analysis import paper_tests, summary
from plimsoll.designs.nesting.factors import CPU, FACTORS

COLUMNS = ("metric", *FACTORS, "label", "unit", "better", *summary.SUMMARY, "mean_low", "mean_high")
# What the slowdown is relative to (figure 3): one instance on bare metal.
BASELINE = {"task": CPU, "runtime": "bare", "instances": "1"}


def of_cells(observations: pd.DataFrame) -> pd.DataFrame:
    """One row per metric and cell: `analysis.summary.summary` of its runs, and Student's 95 % interval of the mean."""
    rows = []
    for (metric, *levels), group in observations.groupby(["metric", *FACTORS], sort=False):
        values = group["value"].to_numpy(float)
        low, high = paper_tests.mean_interval(values)
        described = group[["label", "unit", "better"]].iloc[0].to_dict()
        row = {"metric": metric, **dict(zip(FACTORS, levels, strict=True)), **described, **summary.summary(values)}
        rows.append({**row, "mean_low": low, "mean_high": high})
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    # By number, and not as texts; networks have none.
    keys = table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in ("instances", "children")})
    return table.loc[keys.sort_values(["metric", *FACTORS]).index].reset_index(drop=True)


def slowdowns(observations: pd.DataFrame) -> pd.DataFrame:
    """The observations with their values over that of one instance on bare metal in the same block; without those of blocks
    that lack it."""
    alone = observations[(observations[list(BASELINE)] == pd.Series(BASELINE)).all(axis=1)]
    of_block = alone.set_index("repetition")["value"]
    there = observations[observations["repetition"].isin(of_block.index)]
    return there.assign(value=there["value"] / there["repetition"].map(of_block).to_numpy(float), unit="ratio")
