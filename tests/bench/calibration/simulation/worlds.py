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
from tests.bench.calibration.study import cell_of, metric_of, study_of

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

    Claims name cells by number. `limit` is where runs are ended. In the cells of `times` lower is better. If
    a run has several metrics (`per_run`), claims number the metrics of all runs.
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
    per_run: int = 1

    def drawn(self, random: np.random.Generator) -> np.ndarray:
        """Return values of shape (draws, cells, blocks, iterations)."""
        shape = (self.draws, len(self.levels), self.blocks, self.iterations)
        noise = NOISES[self.noise](random, shape)
        level = np.asarray(self.levels)[None, :, None, None]
        return np.minimum(self.values(random, level, noise, self.spread), self.limit)


def observed(world: World, values: np.ndarray) -> StudyObservations:
    """Return one draw as the workflow hands it to the judge: a table of observations, and one of runs."""
    _, number, _ = values.shape
    cell, block, _ = np.indices(values.shape).reshape(3, -1)
    flat = values.reshape(-1)
    study, plan = planned(world)
    named = [(metric_of(plan, one), cell_of(plan, one), first) for one, first in zip(cell, block, strict=True)]
    table = pd.DataFrame(named, columns=["metric", "cell", "repetition"]).assign(value=flat, censored=flat >= world.limit)
    runs = pd.DataFrame({"cell": np.repeat([*plan["cells"]], number), "status": "valid"})
    runs["transport"] = np.where(values[:: world.per_run, :, 0].reshape(-1) > 0, "shared memory", "TCP")
    return StudyObservations(study, plan, table, runs)


def planned(world: World) -> tuple[Study, dict]:
    """Return a world's study and plan."""
    return study_of(len(world.levels), "count" if world.values is events else "", world.times, world.per_run)


class Quick(StudyObservations):
    """Observations of one draw without tables, which is fast enough for many draws."""

    def __init__(self, world: World, values: np.ndarray):
        self.study, self.plan = planned(world)
        self.metrics, self.unavailable_metrics = self.study["metrics"], {}
        which = np.repeat(np.arange(values.shape[1]), values.shape[2])
        self._single = {
            name: Sample(one.reshape(-1), which, one.reshape(-1) >= world.limit)
            for name, one in zip(self.plan["numbered"], values, strict=True)
        }
        self._by_block = {key: blocks.by_block(sample, blocks.geometric_mean) for key, sample in self._single.items()}
        carried = np.where(values[:: world.per_run, :, 0] > 0, "shared memory", "TCP")
        self.transports = {cell: list(one) for cell, one in zip(self.plan["cells"], carried, strict=True)}
