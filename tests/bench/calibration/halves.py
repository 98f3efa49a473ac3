"""False verdicts on iterations of the reference of jha2021, which get two labels at random within each block.

Both halves of a block are of the same run, so nothing differs. Measures nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.claims import verdicts

from tests.bench.calibration import write
from tests.bench.calibration.claims import claim, ruled, single
from tests.bench.calibration.simulation.judged import Inner
from tests.bench.calibration.simulation.worlds import World
from tests.conftest import PROJECT

OBSERVATIONS = PROJECT / "results/reference/jha2021/observations.csv"
# One metric per benchmark that makes at least four iterations in a window. Metrics of one iteration are not independent.
METRICS = ("floating_point_rate", "triad", "tcp_stream_throughput", "tcp_rr_throughput")
VIEW = ["case", "pair", "runtime", "placement", "benchmark", "co_runner"]
ALONE = "1"
# The fewest iterations of a block in a half: a spread takes two.
SMALLEST_HALF = 2
SPLITS = 200
# Number of views in a claim about several comparisons.
SEVERAL = 4

KEY = ("quantity", "expected", "named", "holds", "cells")
RATES = ("reproduced", "contradicted", "covers")

OF_SPREADS = tuple(claim(expected, [0], [1], quantity="dispersion") for expected in ("higher", "no_difference", "not_higher"))
OF_LOSSES = tuple(
    claim(expected, [0], [1], quantity="relative loss", relative_to={"cell": [2]})
    for expected in ("higher", "no_difference", "not_higher")
)
OF_SEVERAL = ruled(list(range(SEVERAL)), list(range(SEVERAL, 2 * SEVERAL)))


class View(NamedTuple):
    """A benchmark in a cell: its values by block, and its values when it runs alone."""

    blocks: dict[int, np.ndarray]
    alone: dict[int, np.ndarray]


def main() -> None:
    """Judge all views, write one row per metric and claim, and print the means over metrics."""
    table = pd.read_csv(OBSERVATIONS, dtype={"case": str})
    random = np.random.default_rng(2021)
    found = pd.DataFrame([row for metric in METRICS for row in of_metric(metric, views_of(table, metric), random)])
    write(found.round(4), "halves")
    by_claim = found.groupby(list(KEY), sort=False)
    print(f"views: {found.groupby('metric', sort=False)['views'].max().to_dict()}")
    for rate in RATES:
        shown = by_claim[rate].agg(["mean", "min", "max"]).round(3)
        print(f"\n{rate}, over metrics:\n{shown.to_string()}")


def views_of(table: pd.DataFrame, metric: str) -> list[View]:
    """Return the views of a metric that have enough iterations in each block."""
    measured = table[table["metric"] == metric]
    found = {key: _by_block(group) for key, group in measured.groupby(VIEW)}
    alone = {key[3]: values for key, values in found.items() if key[0] == ALONE}
    views = [View(values, alone.get(key[3], alone["free"])) for key, values in found.items()]
    return [view for view in views if _half(view.blocks) >= SMALLEST_HALF and len(view.blocks) >= blocks.SMALLEST]


def _by_block(group: pd.DataFrame) -> dict[int, np.ndarray]:
    return {block: values.to_numpy(float) for block, values in group.groupby("repetition")["value"]}


def _half(of_blocks: dict[int, np.ndarray]) -> int:
    return min(map(len, of_blocks.values())) // 2


def of_metric(metric: str, views: list[View], random: np.random.Generator) -> Iterator[dict]:
    """Yield one row per claim: how often it is reproduced, contradicted, and its interval covers 0."""
    drawn = [one for view in views for one in _single(view, random)]
    grouped = [views[at : at + SEVERAL] for at in range(0, len(views) - SEVERAL + 1, SEVERAL)]
    drawn += [(values, OF_SEVERAL) for group in grouped for values in _several(group, random)]
    shares: dict[tuple, list] = {}
    for values, asked in drawn:
        inner = Inner(_world(values, asked), values)
        for one in asked:
            given = inner.judge(one)
            known = [judged for judged in given if np.isfinite(judged.low)]
            covers = np.mean([judged.low <= 0 <= judged.high for judged in known]) if known else np.nan
            decided = (verdicts.REPRODUCED, verdicts.CONTRADICTED)
            rates = [np.mean([judged.verdict == verdict for judged in given]) for verdict in decided]
            shares.setdefault(_key(one), []).append([*rates, covers])
    for key, rates in shares.items():
        yield {"metric": metric, **dict(zip(KEY, key, strict=True)), **_told(np.array(rates))}


def _key(one: dict) -> tuple:
    holds = one.get("holds", "")
    return (one.get("quantity", "value"), one["expected"], "magnitude" in one, holds, len(one["a"]["cell"]))


def _told(rates: np.ndarray) -> dict:
    """Return means over views, with 95 % intervals. Views are independent, and the splits of one view are not."""
    row = {"views": len(rates), "splits": SPLITS}
    for name, column in zip(RATES, rates.T, strict=True):
        middle, low, high = blocks.t_interval(column)
        row |= {name: middle, f"{name}_low": low, f"{name}_high": high}
    return row


def _single(view: View, random: np.random.Generator) -> Iterator[tuple[np.ndarray, tuple]]:
    values = split([view.blocks], random)
    yield values, (*single([0], [1]), *OF_SPREADS)
    shared = sorted(view.blocks.keys() & view.alone.keys())
    if len(shared) >= blocks.SMALLEST and view.blocks is not view.alone:
        alone = np.array([view.alone[block].mean() for block in shared])
        values = split([{block: view.blocks[block] for block in shared}], random)
        reference = np.broadcast_to(alone[None, None, :, None], (SPLITS, 1, *values.shape[2:]))
        yield np.concatenate([values, reference], axis=1), OF_LOSSES


def _several(group: list[View], random: np.random.Generator) -> Iterator[np.ndarray]:
    shared = set.intersection(*(set(view.blocks) for view in group))
    if len(shared) >= blocks.SMALLEST:
        yield split([{block: view.blocks[block] for block in sorted(shared)} for view in group], random)


def split(of_views: list[dict[int, np.ndarray]], random: np.random.Generator) -> np.ndarray:
    """Return random halves of views, of shape (splits, 2 * views, blocks, iterations): all first halves, then all
    second ones.

    Each block gives as many iterations as the block with the fewest.
    """
    half = min(_half(of_blocks) for of_blocks in of_views)
    drawn = np.stack(
        [
            np.stack([random.permuted(np.tile(values, (SPLITS, 1)), axis=1)[:, : 2 * half] for values in of_blocks.values()], 1)
            for of_blocks in of_views
        ],
        axis=1,
    )
    return np.concatenate([drawn[..., :half], drawn[..., half:]], axis=1)


def _world(values: np.ndarray, asked: tuple) -> World:
    _, cells, number, iterations = values.shape
    return World("halves", "no effect", (0.0,) * cells, asked, number, iterations=iterations, draws=SPLITS)
