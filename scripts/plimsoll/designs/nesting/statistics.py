"""Means and standard deviations of cells, as in the paper, and slowdowns."""

import pandas as pd

from plimsoll.analysis import paper_tests, summary
from plimsoll.designs.nesting.factors import CPU, Factors

COLUMNS = ("metric", *Factors.FACTORS, "label", "unit", "better", *summary.SUMMARY, "mean_low", "mean_high")
# Slowdowns are relative to this cell (figure 3): one instance on bare metal.
BASELINE = {"task": CPU, "runtime": "bare", "instances": "1"}


def of_cells(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per metric and cell.

    A row has the statistics of the runs (`analysis.summary.summary`) and Student's 95 % interval of the mean.
    """
    rows = []
    for (metric, *levels), group in observations.groupby(["metric", *Factors.FACTORS], sort=False):
        values = group["value"].to_numpy(float)
        low, high = paper_tests.mean_interval(values)
        described = group[["label", "unit", "better"]].iloc[0].to_dict()
        row = {"metric": metric, **dict(zip(Factors.FACTORS, levels, strict=True)), **described, **summary.summary(values)}
        rows.append({**row, "mean_low": low, "mean_high": high})
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    # Rows are sorted by number, not by text. Cells of networks have no number.
    keys = table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in ("instances", "children")})
    return table.loc[keys.sort_values(["metric", *Factors.FACTORS]).index].reset_index(drop=True)


def slowdowns(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the observations with each value divided by that of one instance on bare metal in the same block.

    Observations of blocks without such a value are left out.
    """
    alone = observations[(observations[list(BASELINE)] == pd.Series(BASELINE)).all(axis=1)]
    of_block = alone.set_index("repetition")["value"]
    there = observations[observations["repetition"].isin(of_block.index)]
    return there.assign(value=there["value"] / there["repetition"].map(of_block).to_numpy(float), unit="ratio")
