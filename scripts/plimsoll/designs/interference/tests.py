"""Statistics of every view of a cell: the tables of jha2021, section 5, with interference ratios and their intervals."""

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, summary
from plimsoll.analysis.blocks import Sample
from plimsoll.designs.interference import statistics
from plimsoll.designs.interference.cells import BASELINE
from plimsoll.designs.interference.factors import FREE

RATIO = ("interference_ratio", "ratio_low", "ratio_high", "interval_of")
# The keys that tell rows of the papers' tables apart, and with the runtime and the placement those of ours.
OF_PAPER = ["metric", "benchmark", "case", "co_runner"]
VIEW = [*OF_PAPER, "runtime", "placement"]


def by_block(view: pd.DataFrame) -> Sample:
    """Return the geometric mean of each block's iterations, for one view."""
    iterations = blocks.sample(view)
    return blocks.by_block(iterations, blocks.geometric_mean)


def statistics_of(observations: pd.DataFrame) -> pd.DataFrame:
    """Return one row per metric, microservice, case, co-runner, runtime and placement.

    A row has the statistics of its iterations (`analysis.summary.summary`), the `interference_ratio` to the
    microservice alone (equation 1, of the means), and the ratio's 95 % interval.

    `interval_of` says how the interval was made. `blocks`: Student's t of the logarithms of ratios within blocks, if
    three blocks or more have both sides. `iterations`: a bootstrap of the iterations, which does not see how much one
    start differs from the next.
    """
    rows = []
    alone = dict(iter(observations[observations["case"] == BASELINE].groupby(["metric", "runtime", "placement"])))
    for key, view in observations.groupby(VIEW, sort=False):
        described = dict(zip(VIEW, key, strict=True))
        label, unit, better = view[["label", "unit", "better"]].iloc[0]
        row = {**described, "label": label, "unit": unit, "better": better, "blocks": view["repetition"].nunique()}
        row.update(summary.summary(view["value"].to_numpy(float)))
        of_metric = (described["metric"], described["runtime"])
        # A microservice without a server is measured alone in placement `free` only: that is its baseline in all
        # placements.
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
        # The interval is that of the geometric mean of the ratios. It is shifted to the ratio of the means, which the
        # papers print.
        ends = values.mean() / alone.mean() * np.exp(np.array(ends) - middle)
        low, high = sorted(statistics.ratio(ends, 1.0, better))
        return {**row, "ratio_low": low, "ratio_high": high, "interval_of": "blocks"}
    low, high = statistics.ratio_interval(values, alone, better)
    return {**row, "ratio_low": low, "ratio_high": high, "interval_of": "iterations"}
