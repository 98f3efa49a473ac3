"""Overheads: what a runtime costs, and how much more a benchmark varies in it (li2018, sections 3.2 and 3.3)."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, dispersions, summary
from plimsoll.analysis.blocks import Sample
from plimsoll.designs.overhead.factors import BARE, OWN, Factors
from plimsoll.planning.virtual_machines import EMULATED_MACHINE

# The paper treats smaller overheads as zero (section 3.2.3).
MARGIN = 0.01
OVERHEADS = (
    *("change", "change_low", "change_high", "overhead"),
    *("sd_change", "variability_overhead", "spread_change", "spread_low", "spread_high"),
    "score",
)
COLUMNS = ("metric", *Factors.FACTORS, "label", "unit", "better", "blocks", *summary.SUMMARY, *OVERHEADS)


def overhead(value: float, baseline: float) -> float:
    """Return the absolute difference of a value from the baseline's, as a share of the baseline (equation 1).

    It is 0 within the paper's margin.
    """
    share = abs(value - baseline) / baseline
    return share if share >= MARGIN else 0.0


def variability_overhead(deviation: float, baseline: float) -> float:
    """Return the relative difference of standard deviations, as in the paper; 0 if it is negative."""
    return max(0.0, deviation / baseline - 1)


def scores(values: dict, better: str, of: Collection) -> dict:
    """Return the values as shares of the best one among the names in `of`, whose share is 1 (equations 2 and 3).

    `better` says whether higher or lower values are better. The printed equation 3 has 1 as its numerator; the reciprocal of
    the value is meant.
    """
    ranked = [value for name, value in values.items() if name in of] or [float("nan")]
    if better == "higher":
        best = max(ranked)
        return {name: value / best for name, value in values.items()}
    best = min(ranked)
    return {name: best / value for name, value in values.items()}


def of_cells(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per metric and cell: the summary of its iterations (`analysis.summary.summary`), and overheads.

    Overheads compare a cell with bare metal, so bare metal itself has none.

    - `change`: the signed relative difference, from the mean of the log ratios of block means, with Student's 95 % interval.
      It uses the blocks that both cells have.
    - `overhead`: equation 1, from all iterations.
    - `sd_change`: the relative difference of the standard deviations of all iterations.
    - `variability_overhead`: what the paper derives from `sd_change`.
    - `spread_change`: how much more the logarithms of iterations vary, block by block, with Student's 95 % interval. We
      consider this one right: neither a slower benchmark nor a drift of the machine counts as variation.
    - `score`: the standardised score among runtimes with their own storage.
    """
    rows, by_cell = [], dict(iter(observations.groupby(["metric", *Factors.FACTORS], sort=False)))
    for (metric, *levels), group in by_cell.items():
        described = group[["label", "unit", "better"]].iloc[0].to_dict()
        values = group["value"].to_numpy(float)
        cell = dict(zip(Factors.FACTORS, levels, strict=True))
        row = {"metric": metric, **cell, **described, "blocks": group["repetition"].nunique(), **summary.summary(values)}
        own = OWN if cell["storage"] not in ("none", OWN) else cell["storage"]
        baseline = by_cell.get((metric, cell["benchmark"], BARE, own))
        if baseline is not None and cell["runtime"] != BARE:
            row |= _against(blocks.sample(group), blocks.sample(baseline), row)
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    for _, group in table[table["storage"].isin(("none", OWN))].groupby("metric"):
        # The speed of an emulated machine says nothing, so it cannot be the best.
        ranked = group.index[group["runtime"] != EMULATED_MACHINE]
        scored = scores(dict(zip(group.index, group["mean"], strict=True)), group["better"].iloc[0], ranked)
        table.loc[list(scored), "score"] = list(scored.values())
    return table.sort_values(["metric", *Factors.FACTORS], ignore_index=True)


def _against(own: Sample, baseline: Sample, row: dict) -> dict:
    told = {"overhead": overhead(own.values.mean(), baseline.values.mean())}
    told |= dict(zip(("change", "change_low", "change_high"), blocks.change(own, baseline), strict=True))
    deviation = baseline.values.std(ddof=1) if len(baseline.values) > 1 else float("nan")
    if deviation > 0 and row["sd"] == row["sd"]:
        told |= {"sd_change": row["sd"] / deviation - 1, "variability_overhead": variability_overhead(row["sd"], deviation)}
    _, spreads = dispersions.spread_differences(own, baseline)
    if len(spreads) >= blocks.SMALLEST:
        middle, low, high = np.expm1(blocks.t_interval(spreads))
        told |= {"spread_change": middle, "spread_low": low, "spread_high": high}
    return told
