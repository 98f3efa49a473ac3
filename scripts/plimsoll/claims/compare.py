"""What all rows of comparisons share: their columns, how one begins, trends, averages and bootstrap intervals."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from plimsoll.analysis import blocks, independence, summaries
from plimsoll.analysis.blocks import Sample
from plimsoll.claims import findings, verdicts
from plimsoll.claims.decision_cost import CELL_COLUMNS
from plimsoll.claims.quantities.base import RATIO, Quantity
from plimsoll.claims.quantities.value import AT_LIMIT, TOO_FEW, WITHIN_BLOCKS
from plimsoll.claims.sides import Contrast, PrintedSide, Side
from plimsoll.claims.study_observations import StudyObservations

RESAMPLES = 1000
OPPOSITE = {"higher": "lower", "lower": "higher", "not_higher": "not_lower", "not_lower": "not_higher"}
# Columns of the table of comparisons.
COLUMNS = (
    *("claim", "metric", "label", "unit", "metric_b", "cell_a", "cell_b", "reference_a", "reference_b"),
    *("expected", "verdict", "size"),
    *("n", "n_a", "n_b", "mean_a", "mean_b", "test", "effect", "low", "high", "p", "p_supports", "p_opposes", "p_opposes_holm"),
    *("margin", "deviation", "detectable", "needed", "paper_test", "paper_p", "paper_p_exact", "hedges_g", "cliffs_delta"),
    *("scale", "part", "arrangement"),
)
BOOTSTRAPPED = ("ratio_of_means_low", "ratio_of_means_high", "ratio_of_medians_low", "ratio_of_medians_high")


def begun(claim: dict, observations: StudyObservations, contrast: Contrast | PrintedSide) -> dict:
    """Return the beginning of a comparison's row: names, cells, what is expected, and the margin."""
    if isinstance(contrast, PrintedSide):
        row = _row(Contrast(contrast, contrast), observations.metrics[contrast.metric], claim.get("expected", "no_difference"))
        return {**row, "cell_b": "the paper", "margin": findings.margin(claim)}
    metric = observations.metrics[contrast.a.metric]
    row = _row(contrast, metric, _expected(claim, metric, contrast.a.metric))
    return {**row, "margin": findings.margin(claim)}


def of_levels(claim: dict, observations: StudyObservations, sides: list[Side]) -> dict:
    """Return the row of a trend over three or more levels, without its verdict. The effect compares the last level with
    the first."""
    metric = observations.metrics[sides[0].metric]
    expected = {"increasing": "higher", "decreasing": "lower"}[claim["along"]["direction"]]
    row = _row(Contrast(sides[-1], sides[0]), metric, expected)
    samples = [observations.sample(side) for side in sides]
    if any(sample.censored.any() for sample in samples):
        return {**row, "margin": findings.margin(claim), "test": AT_LIMIT}
    shared = sorted(set.intersection(*(set(sample.blocks) for sample in samples)))
    row.update(n=len(shared), n_a=len(samples[-1].values), n_b=len(samples[0].values), margin=findings.margin(claim))
    if len(shared) < blocks.SMALLEST:
        return {**row, "test": TOO_FEW}
    levels = np.stack([sample.values[np.isin(sample.blocks, shared)] for sample in samples], axis=-1)
    numbers = np.array(shared)
    rising, falling = blocks.trend(levels, numbers)
    ends = levels[:, -1] - levels[:, 0] if claim.get("relative_to") else np.log(levels[:, -1] / levels[:, 0])
    back = (lambda x: x) if claim.get("relative_to") else np.expm1
    mean, low, high = (back(x) for x in blocks.t_interval(independence.units(ends, numbers)))
    row.update(test="Page", effect=mean, low=low, high=high, p=min(1.0, 2 * min(rising, falling)))
    estimate = blocks.Mean.of(independence.units(ends, numbers))
    return {**row, "shown": blocks.Signs(rising, falling, estimate, estimate)}


def _row(contrast: Contrast, metric: dict, expected: str) -> dict:
    quantities = (contrast.a.quantity, contrast.b.quantity)
    differ = f" ({quantities[0]} against {quantities[1]})" if quantities[0] != quantities[1] else ""
    return {
        "metric": contrast.a.metric,
        "label": metric["label"] + differ,
        "unit": metric["unit"],
        "metric_b": contrast.b.metric,
        "cell_a": contrast.a.cell,
        "cell_b": contrast.b.cell,
        "reference_a": contrast.a.reference,
        "reference_b": contrast.b.reference,
        "expected": expected,
        "better": metric["better"],
        "benchmark": benchmark_of(metric),
        "n": 0,
    }


def benchmark_of(metric: Mapping) -> str:
    """Return the benchmark that a metric is of, or its section. Empty if it has neither."""
    return metric.get("benchmark") or metric.get("section", "")


def _expected(claim: dict, metric: dict, name: str = "") -> str:
    """Return what the claim says of the metric on side a: `higher`, `lower`, `not_higher`, `not_lower` or `no_difference`."""
    said = claim.get("expected", "higher")
    if said.endswith(("better", "worse")):
        way = metric["better"] if said.endswith("better") else OPPOSITE[metric["better"]]
        said = f"not_{way}" if said.startswith("not_") else way
    return OPPOSITE[said] if name in claim.get("opposite", ()) else said


def whole(rows: list[dict], quantity: Quantity, alpha: float) -> dict | None:
    """Return what comparisons show on average. None if there are none, or if one of them has no differences.

    It is also None if they share too few blocks.

    Within a block, the mean of their differences, weighted by `votes`, is one value. A t test over blocks judges it. A
    comparison of which the claim says the opposite counts with the other sign, so the average is about what is said of
    the first one. If the claim states no direction, metrics of the other direction also count with the other sign.
    Losses have one direction whatever their metric.

    `mixed` says whether any sign was reversed. `cells` is the number of comparisons, and `benchmarks` and `runs` are
    the numbers of benchmarks and of pairs of runs that they are from.
    """
    if not rows:
        return None
    if all("terms" in row for row in rows):
        return _of_summaries(rows, quantity, alpha)
    if quantity.printed or not all("differences" in row for row in rows):
        return None
    signs = [-1 if _turned(row, rows[0], quantity) else 1 for row in rows]
    shared = sorted(set.intersection(*(set(row["differences"].blocks) for row in rows)))
    if len(shared) < blocks.SMALLEST:
        return None
    table = np.stack([sign * _of(row["differences"], shared) for sign, row in zip(signs, rows, strict=True)])
    of_blocks = blocks.about_zero(votes(rows) @ table, alpha, quantity.back, np.array(shared))
    return {**_of_average(rows, signs), "n": len(shared), **of_blocks}


def _of_average(rows: list[dict], signs: list[int]) -> dict:
    """Return what an average is of."""
    return {
        **{"expected": rows[0]["expected"], "n": 0, "cells": len(rows), "margin": rows[0]["margin"]},
        **{"benchmarks": len({row["benchmark"] for row in rows}), "runs": len(set(map(runs_of, rows)))},
        "mixed": -1 in signs,
    }


def _of_summaries(rows: list[dict], quantity: Quantity, alpha: float) -> dict | None:
    """Return what unpaired comparisons show on average; None if the spread of a mean is not known."""
    signs = [-1 if _turned(row, rows[0], quantity) else 1 for row in rows]
    terms = summaries.together([row["terms"] for row in rows], votes(rows) * signs)
    told = summaries.told(terms, alpha, quantity.back)
    return {**_of_average(rows, signs), **told} if "shown" in told else None


def votes(rows: list[dict]) -> np.ndarray:
    """Return the weight of each comparison in an average of all; the weights add up to 1.

    Each benchmark has one vote, which its pairs of runs share evenly. The metrics of one pair of runs share the pair's vote.
    """
    metrics = Counter(map(runs_of, rows))
    runs = Counter(benchmark for benchmark, *_ in metrics)
    return np.array([1 / len(runs) / runs[row["benchmark"]] / metrics[runs_of(row)] for row in rows])


def votes_of(rows: Sequence[Mapping], holds: str) -> list[list[int]]:
    """Return the votes of comparisons that are judged one by one. A vote is a list of places in `rows`.

    If most of them must hold, the metrics of one pair of runs have one vote. It is for the claim if each of them is.
    Otherwise each comparison is a vote.
    """
    votes: dict[object, list[int]] = {}
    for place, row in enumerate(rows):
        votes.setdefault(runs_of(row) if holds == verdicts.MOST else place, []).append(place)
    return list(votes.values())


def runs_of(row: Mapping) -> tuple:
    """Return the benchmark of a comparison, and the cells whose runs it compares."""
    # Where a comparison has no cell, tables have NaN, which is not equal to itself.
    return (row["benchmark"], *(row[column] if isinstance(row[column], str) else None for column in CELL_COLUMNS))


def _turned(row: dict, first: dict, quantity: Quantity) -> bool:
    if first["expected"] == "no_difference":
        return not quantity.relative and row["better"] != first["better"]
    return row["expected"] == OPPOSITE[first["expected"]]


def _of(sample: Sample, wanted: list) -> np.ndarray:
    return sample.values[np.isin(sample.blocks, wanted)]


def with_bootstrap(table: pd.DataFrame, observations: StudyObservations) -> pd.DataFrame:
    """Return the table with bootstrap intervals of the ratios of means and of medians. Only comparisons of values
    within blocks have these intervals."""
    table[list(BOOTSTRAPPED)] = np.nan
    plain = table[(table["test"] == WITHIN_BLOCKS) & (table["scale"] == RATIO)]
    # Two statistics of the same values have no ratio of means.
    plain = plain[(plain["cell_a"] != plain["cell_b"]) | (plain["metric"] != plain["metric_b"])]
    for n, group in plain.groupby("n"):
        sides = zip(group["metric"], group["cell_a"], group["metric_b"], group["cell_b"], strict=True)
        pairs = [
            blocks.within_blocks(observations.sample(Side(metric, cell)), observations.sample(Side(metric_b, cell_b)))
            for metric, cell, metric_b, cell_b in sides
        ]
        a, b = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        intervals = blocks.bootstrap_ratios(a, b, RESAMPLES, seed=int(n))
        table.loc[group.index, list(BOOTSTRAPPED)] = np.concatenate([intervals["mean"], intervals["median"]], axis=1)
    return table
