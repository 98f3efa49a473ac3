"""Simulated worlds: true values of cells, claims about them, and observations that are drawn."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from plimsoll.analysis import blocks
from plimsoll.analysis.blocks import Sample
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study
from scipy import special

from tests.bench.calibration.simulation.noise import NOISES
from tests.bench.calibration.study import metric_of, study_of

SPREAD = 0.05


def speed(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Positive values; a level is a logarithm."""
    return 100 * np.exp(level + spread * noise)


def stalls(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Stall cycles per work cycle; a level is a logarithm."""
    return np.exp(level + spread * noise)


def spreading(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Positive values; a level is the logarithm of a cell's spread over the usual one."""
    return 100 * np.exp(np.exp(level) * spread * noise)


def share(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Shares; a level is a log odds, and noise is on log odds."""
    return special.expit(level + spread * noise)


def rough_share(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Shares; a level is a log odds, and noise is on the share itself, a fifth of it or of its complement."""
    mean = special.expit(level)
    return np.clip(mean + spread * np.minimum(mean, 1 - mean) * noise, 0, 1)


def events(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Counts with a Poisson distribution; a level is the logarithm of their mean."""
    return random.poisson(np.exp(level + spread * noise)).astype(float)


def agreeing(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Values of 1 in a share of the runs, which is the level, and of 0 in the others."""
    return (random.random(noise.shape) < level).astype(float)


def above_or_below(random: np.random.Generator, level: np.ndarray, noise: np.ndarray, spread: float) -> np.ndarray:
    """Counts of a first cell that are above or below those of a second one. The first cell's level is the share of runs
    above."""
    found = 2 * agreeing(random, level, noise, spread)
    found[:, 1] = 1
    return found


@dataclass(frozen=True)
class World:
    """A simulated world. `levels` are the cells' true values on the scale of `values`; `truth` says in words what is
    true of them.

    Claims name cells by number. `limit` is where runs are ended. In the cells of `times` lower is better.
    """

    family: str
    truth: str
    levels: tuple[float, ...]
    claims: tuple[dict, ...]
    blocks: int
    noise: str = "log-normal"
    values: object = field(default=speed, compare=False)
    spread: float = SPREAD
    iterations: int = 1
    limit: float = np.inf
    times: tuple[int, ...] = ()
    draws: int = 2000
    reference: str = ""

    def drawn(self, random: np.random.Generator) -> np.ndarray:
        """Return values of shape (draws, cells, blocks, iterations)."""
        shape = (self.draws, len(self.levels), self.blocks, self.iterations)
        noise = NOISES[self.noise](random, shape)
        level = np.asarray(self.levels)[None, :, None, None]
        return np.minimum(self.values(random, level, noise, self.spread), self.limit)


def observed(world: World, values: np.ndarray) -> StudyObservations:
    """Return one draw as the workflow hands it to the judge: a table of observations, and one of runs."""
    cells, number, _ = values.shape
    cell, block, _ = np.indices(values.shape).reshape(3, -1)
    flat = values.reshape(-1)
    study, plan = _study_of(world)
    metric = [metric_of(plan, one) for one in cell]
    table = pd.DataFrame({"metric": metric, "cell": cell.astype(str), "repetition": block, "value": flat})
    table["censored"] = flat >= world.limit
    runs = pd.DataFrame({"cell": np.repeat(np.arange(cells).astype(str), number), "status": "valid"})
    runs["transport"] = np.where(values[..., 0].reshape(-1) > 0, "shared memory", "TCP")
    return StudyObservations(study, plan, table, runs)


def _study_of(world: World) -> tuple[Study, dict]:
    return study_of(len(world.levels), "count" if world.values is events else "", world.times)


class Quick(StudyObservations):
    """Observations of one draw without tables, which is fast enough for many draws."""

    def __init__(self, world: World, values: np.ndarray):
        self.study, self.plan = _study_of(world)
        self.metrics, self.unavailable_metrics = self.study["metrics"], {}
        which = np.repeat(np.arange(values.shape[1]), values.shape[2])
        self._single = {
            (metric_of(self.plan, cell), str(cell)): Sample(one.reshape(-1), which, one.reshape(-1) >= world.limit)
            for cell, one in enumerate(values)
        }
        self._by_block = {key: blocks.by_block(sample, np.mean) for key, sample in self._single.items()}
        carried = np.where(values[..., 0] > 0, "shared memory", "TCP")
        self.transports = {str(cell): list(one) for cell, one in enumerate(carried)}
