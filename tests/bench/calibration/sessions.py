"""Two sets of results of an unchanged machine: how often `compare` says that something differs.

The first are real: pairs of sessions of one processor, half an hour to days apart. Their table
docs/reports/calibration/sessions.csv has the number, mean and standard deviation of the logarithms of each cell's blocks in
both. The others are simulated (docs/reports/calibration/compared.csv), and the variance between sessions is a known share of
that between blocks. They give false differences in single cells and in whole tables, with and without what is allowed
for days. They also give likeness wrongly shown at the margin, coverage, and differences found.
"""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from plimsoll.analysis import paper_tests
from plimsoll.features.compare import set_sides
from plimsoll.features.compare.set_sides import Between, Side
from scipy import special

from tests.bench.calibration import read, wilson, write

ALPHA, MARGIN, TABLES = 0.05, 0.05, 2
# Allowance for differences between days: nothing, and what `compare` allows.
ALLOWED = {"nothing": np.inf, "as compare does": set_sides.SESSION_BLOCKS}
OF_OTHERS = "as the other studies show"
# Variance between sessions over that between blocks, for which `compare` allows.
USUAL = 1 / set_sides.SESSION_BLOCKS
METRICS = 4
# True spreads of cells differ by a factor of 1.5 up and down (one standard deviation).
UNEQUAL = np.log(1.5)
# Share of a session's deviation that all cells of a metric have in common; the rest is each cell's own.
SHARES = {"all cells alike": 1.0, "half": 0.5, "each cell alone": 0.0}


@dataclass(frozen=True)
class World:
    """Sets of METRICS metrics with `cells` cells each, and `blocks` blocks in each of `sessions` sessions.

    `between` is the variance between sessions over that between blocks, and `share` one of SHARES. `noise` is the
    standard deviation of a block, and `truth` the true difference of all cells, on logarithms.
    """

    cells: int
    blocks: int
    sessions: int
    between: float
    share: str
    noise: float
    truth: float
    draws: int


def worlds() -> list[World]:
    """Return all worlds that are simulated."""
    same = [
        World(cells, blocks, 1, between, share, 0.1, 0.0, draws)
        for cells, draws in ((3, 4000), (10, 4000), (60, 2000))
        for blocks in (3, 5, 10)
        for between in (0.0, 0.05, USUAL, 0.3, 0.6)
        for share in (SHARES if between == USUAL else ("half",))
    ]
    several = [World(10, 5, number, between, "half", 0.1, 0.0, 4000) for number in (2, 4) for between in (0.0, USUAL, 0.6, 1.0)]
    margin = [
        World(10, blocks, 1, between, "half", noise, float(np.log1p(MARGIN)), 4000)
        for blocks in (5, 10, 30)
        for between in (0.05, USUAL)
        for noise in (0.01, 0.03)
    ]
    unchanged = [World(10, blocks, 1, 0.05, "half", noise, 0.0, 2000) for blocks in (5, 10) for noise in (0.01, 0.02, 0.04)]
    changed = [
        World(10, blocks, 1, USUAL, "half", noise, float(np.log(size)), 2000)
        for blocks in (5, 10)
        for noise in (0.02, 0.1)
        for size in (1.1, 1.2, 1.5, 2.0)
    ]
    return [*same, *several, *margin, *unchanged, *changed]


def main() -> None:
    """Judge the real pairs and simulate every world; print both, and write the simulation's table."""
    with pd.option_context("display.width", 250, "display.max_rows", None, "display.max_columns", None):
        print(real().to_string(index=False))
        simulated = pd.DataFrame([row for number, world in enumerate(worlds()) for row in simulate(world, number)])
        write(simulated.round(4), "compared")
        print(simulated.to_string(index=False))


def real() -> pd.DataFrame:
    """Return one row per pair of sessions and allowance.

    It has the share of cells with p below ALPHA, and the smallest adjusted p of the table. It also has the variance
    between sessions over that between blocks, over all cells, and how much of it is allowed.

    What `compare` allows was chosen on these pairs. So each is also judged with what the pairs of the other studies
    show, on average.
    """
    pairs = dict(iter(read("sessions").groupby("pair", sort=False)))
    ratios = {pair: _ratio(cells) for pair, cells in pairs.items()}
    rows = []
    for pair, cells in pairs.items():
        within = {metric: _within(own) for metric, own in cells.groupby("metric")}
        others = [ratio for other, ratio in ratios.items() if _study_of(other) != _study_of(pair)]
        for allowed, session_blocks in {**ALLOWED, OF_OTHERS: 1 / np.mean(others)}.items():
            p = np.array([_p(row, within[row.metric], session_blocks) for row in cells.itertuples()])
            row = {"pair": pair, "allowed": allowed, "ratio allowed": 1 / session_blocks, "cells": len(p)}
            row |= {"between over within": ratios[pair], "p < 0.05": (p < ALPHA).mean(), "p < 0.01": (p < 0.01).mean()}
            rows.append(row | {"least adjusted p": least(p)})
    return pd.DataFrame(rows)


def _study_of(pair: str) -> str:
    return pair.partition(",")[0]


def _within(cells: pd.DataFrame) -> float:
    degrees = cells["number_a"] + cells["number_b"] - 2
    squares = (cells["number_a"] - 1) * cells["sd_a"] ** 2 + (cells["number_b"] - 1) * cells["sd_b"] ** 2
    return float(squares.sum() / degrees.sum())


def _ratio(cells: pd.DataFrame) -> float:
    """Return the variance between sessions over that of the blocks, each relative to its metric's.

    The part of it that blocks explain is subtracted.
    """
    within = cells.groupby("metric")[list(cells)].apply(_within)
    by_blocks = cells["sd_a"] ** 2 / cells["number_a"] + cells["sd_b"] ** 2 / cells["number_b"]
    seen = ((cells["mean_a"] - cells["mean_b"]) ** 2 - by_blocks) / 2
    return float((seen / cells["metric"].map(within)).mean())


def _p(row, within: float, session_blocks: float) -> float:
    a, b = (
        Side(
            getattr(row, f"mean_{s}"),
            getattr(row, f"sd_{s}") ** 2 / getattr(row, f"number_{s}"),
            getattr(row, f"number_{s}") - 1,
            5,
            1,
        )
        for s in "ab"
    )
    found = set_sides.difference(a, b, Between(within / session_blocks, set_sides.SESSION_DEGREES))
    return float(2 * special.stdtr(found.degrees, -abs(found.mean) / found.error))


def least(p: np.ndarray) -> float:
    """Return the smallest p of a table, adjusted (Holm)."""
    return float(paper_tests.holm(p).min())


def drawn(world: World, random: np.random.Generator, draws: int) -> list[np.ndarray]:
    """Return the logarithms of two sets, of shape (draws, metrics, cells, sessions, blocks)."""
    spreads = world.noise * np.exp(UNEQUAL * random.standard_normal((draws, METRICS, world.cells)))
    scale = np.sqrt((spreads**2).mean(axis=2, keepdims=True))[..., None]
    share, shape = SHARES[world.share], (*spreads.shape, world.sessions)
    sets = []
    for truth in (0.0, world.truth):
        common = random.standard_normal((draws, METRICS, 1, world.sessions)) * np.sqrt(share)
        days = (common + random.standard_normal(shape) * np.sqrt(1 - share)) * scale * np.sqrt(world.between)
        blocks = spreads[..., None, None] * random.standard_normal((*shape, world.blocks))
        sets.append(truth + days[..., None] + blocks)
    return sets


def table(logs: np.ndarray) -> pd.DataFrame:
    """Return a set of one draw as a table that `compare` takes."""
    metric, cell, session, block = (index.ravel() for index in np.indices(logs.shape))
    names = {"metric": np.char.add("m", metric.astype(str)), "cell": np.char.add("c", cell.astype(str)), "group": "g"}
    return pd.DataFrame({**names, "session": session, "block": block, "value": np.exp(logs.ravel()), "better": "higher"})


def tested(sets: list[np.ndarray], session_blocks: float, average: bool = False) -> dict[str, np.ndarray]:
    """Test each cell of two sets, or with `average` each average over the cells of a metric, for many draws at once.

    Return `p`, `p_alike`, and the ends of the interval (`low`, `high`), on logarithms.
    """
    sessions, blocks = sets[0].shape[-2:]
    within = np.mean([logs.var(axis=-1, ddof=1).mean(axis=(2, 3)) for logs in sets], axis=0)
    between, known = _between(sets, within, session_blocks)
    # The values are those of each cell, or means over the cells.
    means = [logs.mean(axis=-1) for logs in sets]
    rest = [logs - mean[..., None] for logs, mean in zip(sets, means, strict=True)]
    if average:
        rest, means = ([values.mean(axis=2, keepdims=True) for values in each] for each in (rest, means))
    errors = [((one**2).sum(axis=-1) / (blocks - 1) / blocks).sum(axis=-1) / sessions**2 for one in rest]
    apart = np.broadcast_to((between * 2 / sessions)[..., None], errors[0].shape)
    found = means[1].mean(axis=-1) - means[0].mean(axis=-1)
    variance = sum(errors) + apart
    degrees = variance**2 / (sum(error**2 for error in errors) / (sessions * (blocks - 1)) + apart**2 / known)
    error, margin = np.sqrt(variance), np.log1p(MARGIN)
    half = special.stdtrit(degrees, 0.975) * error
    return {
        "p": 2 * special.stdtr(degrees, -np.abs(found) / error),
        "p_alike": special.stdtr(degrees, (np.abs(found) - margin) / error),
        "low": found - half,
        "high": found + half,
    }


def _between(sets: list[np.ndarray], within: np.ndarray, session_blocks: float) -> tuple[np.ndarray, float]:
    sessions, blocks = sets[0].shape[-2:]
    if np.isinf(session_blocks):
        return np.zeros_like(within), set_sides.SESSION_DEGREES
    known = 1 / (1 / set_sides.SESSION_DEGREES + 1 / (2 * (blocks - 1) * sessions * sets[0].shape[2]))
    total = known * within / session_blocks
    if sessions > 1:
        for logs in sets:
            seen = logs.mean(axis=-1).var(axis=-1, ddof=1).mean(axis=2) - within / blocks
            total = total + (sessions - 1) * np.maximum(0, seen)
        known += 2 * (sessions - 1)
    return total / known, known


def simulate(world: World, seed: int) -> list[dict]:
    """Return one row per allowance: shares of the draws' cells, averages and whole tables, with their 95 % intervals."""
    return [
        {
            "allowed": allowed,
            **asdict(world),
            **_told(world, drawn(world, np.random.default_rng([20261126, seed]), world.draws), blocks),
        }
        for allowed, blocks in ALLOWED.items()
    ]


def _told(world: World, sets: list[np.ndarray], session_blocks: float) -> dict[str, float]:
    cells, averages = (tested(sets, session_blocks, average) for average in (False, True))
    adjusted = [_holm(one["p"].reshape(world.draws, -1)) * TABLES < ALPHA for one in (cells, averages)]
    alike = _holm(cells["p_alike"].reshape(world.draws, -1)) * TABLES < ALPHA
    low, high = wilson(int((adjusted[0].any(axis=1) | adjusted[1].any(axis=1)).sum()), world.draws)
    return {
        "cell_p": float((cells["p"] < ALPHA).mean()),
        "average_p": float((averages["p"] < ALPHA).mean()),
        "covers": float(((cells["low"] <= world.truth) & (world.truth <= cells["high"])).mean()),
        "cell_alike_p": float((cells["p_alike"] < ALPHA).mean()),
        "cells_differ": float(adjusted[0].mean()),
        "averages_differ": float(adjusted[1].mean()),
        "cells_alike": float(alike.mean()),
        "anything_differs": float((adjusted[0].any(axis=1) | adjusted[1].any(axis=1)).mean()),
        "anything_differs_low": low,
        "anything_differs_high": high,
        "anything_alike": float(alike.any(axis=1).mean()),
    }


def _holm(p: np.ndarray) -> np.ndarray:
    """Return p adjusted within each row (Holm)."""
    order = np.argsort(p, axis=1)
    stepped = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(1, np.maximum.accumulate(stepped, axis=1)), axis=1)
    return adjusted


if __name__ == "__main__":
    main()
