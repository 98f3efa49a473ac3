"""Noise of logarithms with a standard deviation of about 1, of shape (draws, cells, blocks, iterations)."""

from collections.abc import Callable

import numpy as np
from scipy import signal

# Consecutive runs of the reference session (liu2020, 1,960 runs, 392 in a block): 22 % of the variance is a drift that all
# cells share, half of which is gone after 46 runs. Between the blocks of one cell there is no correlation.
OF_DRIFT, MEMORY, RUNS = 0.22, 0.985, 392
# Correlation of one cell's deviation from one block to the next. The reference session has none.
STICKY = 0.5
# Metrics of a run, and the correlation of their noise.
PER_RUN, ALIKE = 4, 0.8


def independent(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal logarithms: values are log-normal."""
    return random.standard_normal(shape)


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Logarithms of normal values whose coefficient of variation is 5 %, over 5 %."""
    return np.log1p(0.05 * random.standard_normal(shape)) / 0.05


def bimodal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Two modes, 30 % of the values in the upper one, as the latencies of shared memory have."""
    return (np.where(random.random(shape) < 0.3, 0.7, -0.3) + 0.1 * random.standard_normal(shape)) / 0.469


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Exponential deviations: now and then a run is much slower."""
    return 1 - random.standard_exponential(shape)


def common(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each block has a disturbance three times as large as the noise, the same for all of its runs."""
    return random.standard_normal(shape) + 3 * random.standard_normal((shape[0], 1, shape[2], 1))


def drift(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The drift of a session, as in the reference session. In each block the cells are at random places."""
    draws, cells, blocks, _ = shape
    steps = random.standard_normal((draws, blocks * RUNS)) * np.sqrt(OF_DRIFT * (1 - MEMORY**2))
    path = signal.lfilter([1], [1, -MEMORY], steps, axis=1).reshape(draws, 1, blocks, RUNS)
    places = np.argsort(random.random((draws, blocks, RUNS)), axis=2)[:, :, :cells].transpose(0, 2, 1)
    there = np.take_along_axis(path, places[..., None].reshape(draws, 1, -1, blocks).transpose(0, 1, 3, 2), axis=3)
    own = np.sqrt(1 - OF_DRIFT) * random.standard_normal(shape)
    return own + there.reshape(draws, blocks, cells).transpose(0, 2, 1)[..., None]


def sticky(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each cell has a deviation of its own that lasts from one block to the next."""
    found = random.standard_normal(shape)
    for block in range(1, shape[2]):
        found[:, :, block] = STICKY * found[:, :, block - 1] + np.sqrt(1 - STICKY**2) * found[:, :, block]
    return found


def apart(factor: float) -> Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]:
    """Return noise whose spreads differ by `factor` (log-normally) from one cell to the next."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.standard_normal(shape) * np.exp(np.log(factor) * random.standard_normal((*shape[:2], 1, 1)))

    return draw


def of_one_run(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Metrics of one run, PER_RUN in a row, whose noise has a correlation of ALIKE."""
    draws, numbers, *others = shape
    runs = np.repeat(random.standard_normal((draws, numbers // PER_RUN, *others)), PER_RUN, axis=1)
    return np.sqrt(ALIKE) * runs + np.sqrt(1 - ALIKE) * random.standard_normal(shape)


NOISES = {
    "log-normal": independent,
    "normal": normal,
    "bimodal": bimodal,
    "skewed": skewed,
    "common disturbance": common,
    "drift of a session": drift,
    "lasting deviations": sticky,
    "spreads differ by 1.2": apart(1.2),
    "spreads differ by 3": apart(3.0),
    "metrics of one run": of_one_run,
}
