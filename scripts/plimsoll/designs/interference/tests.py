"""Statistics of every view of a cell: the tables of section 5 as data, with interference ratios and their intervals."""

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, summary
from plimsoll.analysis.blocks import Sample
from plimsoll.designs.interference import statistics
from plimsoll.designs.interference.cells import BASELINE
from plimsoll.designs.interference.factors import FREE

RATIO = ("interference_ratio", "ratio_low", "ratio_high", "interval_of")
# What the papers and we tell apart.
OF_PAPER = ["metric", "benchmark", "case", "co_runner"]
VIEW = [*OF_PAPER, "runtime", "placement"]


def by_block(view: pd.DataFrame) -> Sample:
    """Mean of each block's iterations."""
    iterations = blocks.sample(view)
    return blocks.by_block(iterations, np.mean)


def tests(study: dict, observations: pd.DataFrame) -> pd.DataFrame:
    """The statistics of section 5 and the interference ratio with its interval (`statistics_of`)."""
    return statistics_of(observations)


def statistics_of(observations: pd.DataFrame) -> pd.DataFrame:
    """One row per metric, microservice, case, co-runner and placement: `analysis.summary.summary` of its iterations, and how it
    compares with the microservice alone: the `interference_ratio` (equation 1) of the means, and its 95 % interval.

    With three blocks or more the interval is Student's of the logarithms of ratios within blocks, otherwise a bootstrap of the
    iterations, which does not know how much one start differs from the next: `interval_of` says which.
    """
    rows = []
    alone = dict(iter(observations[observations["case"] == BASELINE].groupby(["metric", "runtime", "placement"])))
    for key, view in observations.groupby(VIEW, sort=False):
        described = dict(zip(VIEW, key, strict=True))
        label, unit, better = view[["label", "unit", "better"]].iloc[0]
        row = {**described, "label": label, "unit": unit, "better": better, "blocks": view["repetition"].nunique()}
        row.update(summary.summary(view["value"].to_numpy(float)))
        of_metric = (described["metric"], described["runtime"])
        # What has no server is alone the same in all placements.
        baseline = alone.get((*of_metric, described["placement"]), alone.get((*of_metric, FREE)))
        if baseline is not None and described["case"] != BASELINE:
            row.update(_ratio(view, baseline, better))
        rows.append(row)
    return pd.DataFrame(rows, columns=[*VIEW, "label", "unit", "better", "blocks", *summary.SUMMARY, *RATIO])


def _ratio(view: pd.DataFrame, baseline: pd.DataFrame, better: str) -> dict:
    values, alone = view["value"].to_numpy(float), baseline["value"].to_numpy(float)
    row = {"interference_ratio": statistics.ratio(values.mean(), alone.mean(), better)}
    in_view, in_baseline = blocks.within_blocks(by_block(view), by_block(baseline))
    if len(in_view) >= blocks.SMALLEST:
        middle, *ends = blocks.t_interval(np.log(in_view / in_baseline))
        # Of the geometric mean; moved to the ratio of the means, which the papers print.
        ends = values.mean() / alone.mean() * np.exp(np.array(ends) - middle)
        low, high = sorted(statistics.ratio(ends, 1.0, better))
        return {**row, "ratio_low": low, "ratio_high": high, "interval_of": "blocks"}
    low, high = statistics.ratio_interval(values, alone, better)
    return {**row, "ratio_low": low, "ratio_high": high, "interval_of": "iterations"}
