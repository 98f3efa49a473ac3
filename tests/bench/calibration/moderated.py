"""A spread that many cells share, in place of the spread of four blocks: wrong verdicts, and differences found.

Some worlds are simulated, with cells whose noise differs and latencies of two modes. Others are drawn from the
references: two runs of the baseline in one block, which differ in nothing. Averages have several metrics of one run.
Measures nothing.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from plimsoll import designs
from plimsoll.analysis import spreads
from plimsoll.analysis.spreads import Spread
from plimsoll.config import studies
from scipy import special

from tests.bench.calibration import write
from tests.conftest import PROJECT

BLOCKS, ROWS, DRAWS = (3, 4, 5, 10), (16, 144, 846), 400
# Number of comparisons that share a baseline cell.
PER_BASELINE = 8
# What the comparisons of an average share: (correlation of a run's metrics, runs of one common baseline in a block).
AVERAGES = 10 * DRAWS
OF_AVERAGES = {
    "runs of their own": (0.0, 0),
    "metrics of one run": (0.8, 0),
    "one baseline, once in a block": (0.0, 1),
    "one baseline, five times in a block": (0.0, 5),
}
# The usual noise of a run, and latencies of two modes: the slow one takes three times as long.
SPREAD, SLOW = 0.15, np.log(3)
MARGIN, FOUND = np.log(1.05), np.log(1.2)
ALPHA = 0.05
Noise = Callable[[np.random.Generator, tuple[int, int, int]], np.ndarray]


def normal(factor: float, wild: float = 0.0) -> Noise:
    """Return noise with normal logarithms.

    True spreads differ by `factor` (log-normally) from one group of compared cells to the next. They are five times as
    large in the share `wild` of the cells.
    """

    def draw(random: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
        draws, cells, _ = shape
        baselines = -(-cells // (PER_BASELINE + 1))
        group = np.concatenate([np.arange(cells - baselines) // PER_BASELINE, np.arange(baselines)])
        scale = SPREAD * np.exp(np.log(factor) * random.normal(size=(draws, baselines)))[:, group, None]
        return np.where(random.random((draws, cells, 1)) < wild, 5 * scale, scale) * random.normal(size=shape)

    return draw


def two_modes(slow: float, alike: bool = True) -> Noise:
    """Return noise of which a share of the runs is slow: `alike` in all cells, or uniform up to twice as many in each cell."""

    def draw(random: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
        share = slow if alike else 2 * slow * random.random((*shape[:2], 1))
        return SLOW * ((random.random(shape) < share) - share) + 0.05 * random.normal(size=shape)

    return draw


def twice(random: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Return noise of which the second half of the groups of compared cells has twice the spread."""
    _, cells, _ = shape
    baselines = -(-cells // (PER_BASELINE + 1))
    group = np.concatenate([np.arange(cells - baselines) // PER_BASELINE, np.arange(baselines)])
    return SPREAD * np.where(group >= baselines / 2, 2.0, 1.0)[:, None] * random.normal(size=shape)


HALF = "half of the groups vary twice as much"
WORLDS: dict[str, Noise] = {
    "spreads alike": normal(1.0),
    "spreads differ by 1.5": normal(1.5),
    "spreads differ by 3": normal(3.0),
    "spreads differ by 1.2": normal(1.2),
    "a tenth of the cells varies five times as much": normal(1.2, 0.1),
    "two modes, 5 % slow": two_modes(0.05),
    "two modes, 13 % slow": two_modes(0.13),
    "two modes, 30 % slow": two_modes(0.3),
    "two modes, 50 % slow": two_modes(0.5),
    "two modes, another share in each cell": two_modes(0.3, alike=False),
    HALF: twice,
}


def averages(noise: Noise, number: int, common: float, baseline: int, random: np.random.Generator) -> dict[str, float]:
    """Return percentages of wrong verdicts on an average of 16 comparisons, four metrics of each of four runs.

    The noise of a run's metrics has a correlation of `common`. Each run is compared with a run of its own. If
    `baseline` is not 0, all are compared with one cell, which runs that many times in a block.
    """
    runs, own = (noise(random, (AVERAGES, 2 * cells, number)).reshape(AVERAGES, 2, cells, number) for cells in (4, 16))
    values = np.sqrt(common) * np.repeat(runs, 4, axis=2) + np.sqrt(1 - common) * own
    a, b = values.mean(axis=2).transpose(1, 0, 2)
    if baseline:
        b = np.mean([noise(random, (AVERAGES, 2, number))[:, 0] for _ in range(baseline)], axis=0)
    of_blocks = (a - b)[:, None]
    return {f"{what}_own": rate for what, rate in _of_one(tested(of_blocks, _deviation(of_blocks), number - 1.0)).items()}


class Tested(NamedTuple):
    """One-sided p, of shape (draws, rows)."""

    higher: np.ndarray
    lower: np.ndarray
    alike: np.ndarray  # that a difference at the margin is within it
    found: np.ndarray  # that a is higher, where it is


def tested(differences: np.ndarray, spread: np.ndarray, degrees: np.ndarray | float) -> Tested:
    """Test differences of shape (draws, rows, blocks) with a spread and its degrees of freedom."""
    mean, error = differences.mean(axis=-1), spread / np.sqrt(differences.shape[-1])

    def above(value: np.ndarray) -> np.ndarray:
        return special.stdtr(degrees, -value / error)

    return Tested(above(mean), above(-mean), np.maximum(above(mean + 2 * MARGIN), above(-mean)), above(mean + FOUND))


def simulated(noise: Noise, rows: int, number: int, random: np.random.Generator) -> np.ndarray:
    """Return differences of shape (draws, rows, blocks) without any true effect."""
    baselines = -(-rows // PER_BASELINE)
    draws = max(20, DRAWS * ROWS[1] // max(rows, ROWS[1]))
    cells = noise(random, (draws, rows + baselines, number))
    return cells[:, :rows] - np.repeat(cells[:, rows:], PER_BASELINE, axis=1)[:, :rows]


def rates(differences: np.ndarray) -> dict[str, float]:
    """Return percentages of wrong verdicts, and of right ones (`found`).

    They are by a comparison's own spread (`own`), and by that with what all comparisons lend to it (`lent`). In a
    family, the weaker evidence of `lent` and of the spread of all is used too (`strictly`). The second half of the
    comparisons is also reported alone (`last_own`, `last_lent`).
    """
    number = differences.shape[-1]
    own = _deviation(differences)
    lent = [spreads.lent([Spread(one, number - 1) for one in draw]) for draw in own]
    d0, s0, pooled, known = (
        np.nan_to_num([getattr(getattr(one, which), what) for one in lent])[:, None]
        for which, what in (("prior", "degrees"), ("prior", "deviation"), ("pooled", "deviation"), ("pooled", "degrees"))
    )
    degrees = d0 + number - 1
    moderated = np.sqrt((d0 * s0**2 + (number - 1) * own**2) / degrees)
    by_own, by_lent, by_all = (
        tested(differences, *spread)
        for spread in ((own, np.array(number - 1.0)), (moderated, degrees), (np.broadcast_to(pooled, own.shape), known))
    )
    strictly = Tested(*map(np.maximum, by_lent, by_all))
    told = {f"{what}_{name}": rate for name, one in (("own", by_own), ("lent", by_lent)) for what, rate in _of_one(one).items()}
    families = {f"Holm_{name}": _family(one) for name, one in (("own", by_own), ("lent", by_lent), ("strictly", strictly))}
    half = differences.shape[1] // 2
    last = {f"last_{name}": _wrong(one, half) for name, one in (("own", by_own), ("lent", by_lent))}
    return {**told, **last, **families, "lent": 100 * float(np.mean(d0 > 0))}


def _deviation(differences: np.ndarray) -> np.ndarray:
    return differences.std(axis=-1, ddof=1)


def _wrong(test: Tested, first: int = 0) -> float:
    """Return the percentage of differences that are wrongly found in one direction, from the `first` comparison on."""
    return 100 * float(np.mean([side[:, first:] < ALPHA / 2 for side in (test.higher, test.lower)]))


def _of_one(test: Tested) -> dict[str, float]:
    return {
        "difference": _wrong(test),
        "likeness": 100 * (test.alike < ALPHA).mean(),
        "found": 100 * (test.found < ALPHA / 2).mean(),
    }


def _family(test: Tested) -> float:
    """Return the percentage of families in which Holm's test finds anything, as the mean of both directions."""
    return 100 * float(np.mean([side.min(axis=1) * side.shape[1] < ALPHA / 2 for side in (test.higher, test.lower)]))


def of_references() -> Iterator[tuple[str, str, list[np.ndarray]]]:
    """Yield (study, metric, differences by cell) of two runs of the baseline in the same block, which differ in nothing."""
    for name in ("liu2020", "plimsoll2026"):
        study = studies.load(name, designs.known())
        factors = [*study.design.factors.FACTORS]
        table = pd.read_csv(Path(PROJECT, "results/reference", name, "observations.csv"), dtype=dict.fromkeys(factors, str))
        table = table[~table["censored"] & (table["unit"] != "count") & (table["value"] > 0)]
        for metric, group in table.groupby("metric"):
            found = [pairs for _, cell in group.groupby(factors) for pairs in _pairs(cell)]
            if len(found) >= spreads.ENOUGH:
                yield name, metric, found


def _pairs(cell: pd.DataFrame) -> Iterator[np.ndarray]:
    """Yield the differences of the first two runs of each block, and of the next two."""
    logs = [np.log(values.to_numpy()) for _, values in cell.groupby("block")["value"]]
    for first in (0, 2):
        both = np.array([values[first] - values[first + 1] for values in logs if len(values) > first + 1])
        if len(both) >= min(BLOCKS) and np.ptp(both) > 0:
            yield both


def main() -> None:
    """Print one row per world, number of comparisons and of blocks, and one per metric of the references; write them."""
    random = np.random.default_rng(2028)
    made = [
        (name, rows, number, simulated(noise, rows, number, random))
        for name, noise in WORLDS.items()
        for rows in ROWS
        for number in BLOCKS
    ]
    told = [{"world": name, "rows": rows, "blocks": number} | rates(drawn) for name, rows, number, drawn in made]
    told += [
        {"world": f"average of 16, {name}, {what}", "rows": 1, "blocks": number} | averages(noise, number, *of, random)
        for name, noise in WORLDS.items()
        for what, of in OF_AVERAGES.items()
        for number in BLOCKS
    ]
    for study, metric, found in of_references():
        told += [{"world": f"{study}: {metric}"} | row for row in _drawn_from(found, random)]
    table = pd.DataFrame(told).round(2)
    write(table, "moderated")
    print(table.to_string(index=False))


def _drawn_from(found: list[np.ndarray], random: np.random.Generator) -> Iterator[dict]:
    """Yield the rates of families of pairs of runs. Blocks, and the sign of each, are drawn at random."""
    for rows in ROWS[:2]:
        for number in BLOCKS[:3]:
            draws = np.empty((DRAWS // 2, rows, number))
            for one in draws.reshape(-1, number):
                values = found[random.integers(len(found))]
                one[:] = random.choice(values, number) * random.choice([-1, 1], number)
            yield {"rows": rows, "blocks": number} | rates(draws)


if __name__ == "__main__":
    main()
