"""Two stages on real runs that differ in nothing: the references of liu2020 and jha2021 under random labels.

`cells`: differences of two cells within a block, without their mean, with a random sign in each block. They have the
noise of real comparisons and no effect. `halves`: iterations of one run under two labels. An experiment of many blocks
is joined from some comparisons of a metric, with five blocks each. Comparisons of a claim share the blocks that the
runs shared.
"""

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from plimsoll import designs
from plimsoll.analysis import blocks, collect
from plimsoll.claims import book, evaluate
from plimsoll.claims.quantities.value import WITHIN_BLOCKS
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.features.time_budget import metric_noise
from plimsoll.planning import planner

from tests.bench.calibration import halves, simulation, write
from tests.bench.calibration.claims import claim, single
from tests.bench.calibration.simulation import rules as simulated
from tests.bench.calibration.simulation import truths
from tests.bench.calibration.simulation.worlds import World
from tests.bench.calibration.stages.rules import DECIDED, WORLDS, can_be_wrong
from tests.bench.calibration.stages.staged import Time, judged, several
from tests.conftest import PROJECT, small

STUDIES = ("liu2020", "jha2021")
# Number of blocks in jha2021's reference, and how many comparisons are joined at most.
BLOCKS, JOINED = 5, 8
# The fewest blocks of an experiment.
FEWEST = 15
FIRST = (3, 5)
DRAWS = 12
# Number of comparisons in a claim about several.
SEVERAL = 4
KEY = ["source", "rule", "expected", "named"]


class Source(NamedTuple):
    """Logarithms of pairs that differ in nothing, of shape (pairs, two sides, blocks, iterations)."""

    name: str
    metric: str
    values: np.ndarray

    @property
    def joined(self) -> int:
        """Number of pairs that make one experiment. It leaves enough experiments for pooling their noise."""
        return min(JOINED, len(self.values) // metric_noise.ENOUGH)

    @property
    def blocks(self) -> int:
        """Number of blocks of an experiment."""
        return self.joined * self.values.shape[2]

    def experiments(self, size: int, random: np.random.Generator) -> np.ndarray:
        """Return experiments of `size` comparisons each, of shape (experiments, 2 * comparisons, blocks, iterations),
        sides a first.

        The labels are swapped at random in each block, alike for all comparisons of an experiment.
        """
        number = len(self.values) // (self.joined * size)
        chosen = random.permutation(len(self.values))[: number * self.joined * size]
        pairs = self.values[chosen].reshape(number, size, self.joined, 2, *self.values.shape[2:])
        # The blocks of the first pair come first, then those of the second.
        pairs = np.moveaxis(pairs, 3, 2).reshape(number, size, 2, -1, self.values.shape[-1])
        swapped = random.random((number, 1, pairs.shape[3])) < 0.5
        a, b = pairs[:, :, 0], pairs[:, :, 1]
        first, second = (np.where(swapped[..., None], x, y) for x, y in ((b, a), (a, b)))
        return np.concatenate([first, second], axis=1)


def main(processes: int | None = None) -> None:
    """Judge all sources, write one row per metric and claim, and print the means over metrics with their intervals."""
    tasks = [(source, first) for source in sources() for first in FIRST if source.blocks >= FEWEST]
    with multiprocessing.Pool(processes) as pool:
        table = pd.DataFrame([row for rows in pool.imap(of_source, tasks) for row in rows])
    write(table.round(4), "stages_real")
    for name, nominal in (("reproduced", "nominal"), ("contradicted", None)):
        print(f"\nwrongly {name} (mean over metrics with its 95 % interval, and the worst; nominally {nominal or 0.025})")
        print(told(table, name).round(4).to_string())


def told(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rates of each rule: the mean over metrics with its 95 % interval. Metrics have other runs, or at least
    other values."""
    rows = {}
    for key, group in table.dropna(subset=[name]).groupby(KEY, sort=False):
        rates = group.groupby("metric")[name].mean().to_numpy()
        middle, low, high = blocks.t_interval(rates) if len(rates) >= blocks.SMALLEST else (rates.mean(), np.nan, np.nan)
        judged_in_all = int(group["draws"].sum())
        rows[key] = {"rate": middle, "low": low, "high": high, "metrics": len(rates), "judged": judged_in_all}
        rows[key] |= {"nominal": group["nominal"].iloc[0]} if name == "reproduced" else {}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(KEY)


def of_source(task: tuple[Source, int]) -> list[dict]:
    """Return one row per claim: how often each wrong verdict came."""
    source, first = task
    random = np.random.default_rng([2027, first, *source.metric.encode()])
    rows = []
    for world, size in worlds(source):
        counts: dict[int, list[str]] = {place: [] for place in range(len(world.claims))}
        for _ in range(DRAWS):
            drawn = source.experiments(size, random)
            world = replace(world, blocks=drawn.shape[2], iterations=drawn.shape[3])
            values = 100 * np.exp(drawn + np.asarray(world.levels)[None, :, None, None])
            studied = several(world, len(drawn))
            found = judged(studied, values.reshape(-1, *values.shape[2:]), Time(first, world.blocks))
            for place in counts:
                counts[place] += [one.told for one in found[place :: len(world.claims)]]
        rows += [_row(source, first, world, one, counts[place]) for place, one in enumerate(world.claims)]
    return rows


def _row(source: Source, first: int, world: World, one: dict, given: list[str]) -> dict:
    sound = truths.asserted(world, one)._asdict()
    rule = one.get("quantity") or ("one" if len(one["a"]["cell"]) == 1 else one.get("holds"))
    row = {
        **{"source": source.name, "metric": source.metric, "truth": world.truth, "first": first, "most": world.blocks},
        **{"rule": rule, "expected": one["expected"], "named": "magnitude" in one, "draws": len(given)},
        "nominal": simulation.nominal(one),
    }
    rates = {name: given.count(verdict) / max(1, len(given)) for verdict, name in DECIDED.items()}
    return {**row, **{name: np.nan if sound[name] else rate for name, rate in rates.items()}}


def worlds(source: Source) -> Iterator[tuple[World, int]]:
    """Yield worlds of one comparison and of several with the claims that can be wrong in them, and their number of
    comparisons."""
    spread = tuple(claim(e, [0], [1], quantity="dispersion") for e in ("higher", "no_difference", "not_higher"))
    of_one = (*single([0], [1]), *(spread if source.values.shape[-1] > 1 else ()))
    for truth, level in (("no effect", 0.0), ("at the margin", simulated.EDGE)):
        yield from _with_claims(World("one comparison", truth, (level, 0.0), of_one, 0), 1)
    for world in simulated.several():
        usual = len(world.levels) == 2 * SEVERAL and world.blocks == 20 and world.truth in WORLDS["several"]
        if usual and len(source.values) >= metric_noise.ENOUGH * SEVERAL:
            yield from _with_claims(world, SEVERAL)


def _with_claims(world: World, size: int) -> Iterator[tuple[World, int]]:
    claims = tuple(one for one in world.claims if can_be_wrong(world, one))
    if claims:
        yield replace(world, claims=claims), size


def sources() -> Iterator[Source]:
    """Yield the differences of cells for each study and metric, and the halves of runs for jha2021.

    Raise ValueError for a study without a usable metric, because nothing would be said of it.
    """
    for name in STUDIES:
        of_cells = list(_of_cells(name))
        if not any(source.blocks >= FEWEST for source in of_cells):
            raise ValueError(f"results/reference/{name} has no metric with enough comparisons of as many blocks")
        yield from of_cells
    table = pd.read_csv(halves.OBSERVATIONS, dtype={"case": str})
    for metric in halves.METRICS:
        yield halves_of(table, metric)


def halves_of(table: pd.DataFrame, metric: str) -> Source:
    """Return the halves of a metric's runs, from the observations of jha2021: odd and even iterations.

    So what changes in the course of a run is on both sides.
    """
    views = [view.blocks for view in halves.views_of(table, metric) if len(view.blocks) == BLOCKS]
    least = min(min(map(len, view.values())) for view in views) // 2
    chosen = [np.stack([values[: 2 * least] for values in view.values()]) for view in views]
    logs = np.log(np.stack(chosen)).reshape(len(chosen), BLOCKS, least, 2)
    return Source("halves", metric, np.moveaxis(logs, 3, 1))


def _of_cells(name: str) -> Iterator[Source]:
    study = studies.load(name, designs.known())
    config = {**yaml.safe_load((PROJECT / "config/config.yaml").read_text()), "profile": "quick"}
    plan = planner.make(study, studies.profile("quick"), small(), config, {})
    folder = PROJECT / "results/reference" / name
    tables = (collect.table(folder / file, plan["factors"]) for file in ("observations.csv", "runs.csv"))
    measured = StudyObservations(study, plan, *tables, brief=True)
    _, rows = evaluate.evaluate(book.load(name), measured, study["alpha"])
    compared = rows[(rows["test"] == WITHIN_BLOCKS) & (rows["cell_a"] != rows["cell_b"])]
    # Only comparisons with as many blocks as most have, for example those of a first stage.
    compared = compared[compared["n"] == compared["n"].mode().iloc[0]]
    compared = compared[compared["metric"] == compared["metric_b"]].drop_duplicates(["metric", "cell_a", "cell_b"])
    for metric, group in compared.groupby("metric"):
        pairs = [blocks.within_blocks(*(measured.values(metric, cell) for cell in pair)) for pair in _cells(group)]
        differences = [np.log(a / b) for a, b in pairs if (a > 0).all() and (b > 0).all()]
        noise = [one - one.mean() for one in differences if np.ptp(one) > blocks.ROUNDING]
        if len(noise) >= metric_noise.ENOUGH:
            half = np.stack(noise)[:, None, :, None] / 2
            yield Source(f"cells of {name}", metric, np.concatenate([half, -half], axis=1))


def _cells(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    return zip(table["cell_a"], table["cell_b"], strict=True)


if __name__ == "__main__":
    main()
