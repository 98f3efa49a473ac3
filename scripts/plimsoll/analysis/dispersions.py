"""Dispersion within and between blocks: the spreads of one sample, and of two samples block by block."""

from collections.abc import Callable

import numpy as np
from scipy import special

from plimsoll.analysis import blocks, independence
from plimsoll.analysis.blocks import Sample
from plimsoll.planning.availability import SMALLEST


def log_spreads(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return (blocks, log standard deviations of the logarithms of each block), for blocks with several values that differ.

    log s^2 - psi(v/2) + log(v/2), with v degrees of freedom, has no bias for normal logarithms, however many values a
    block has (Bartlett and Kendall 1946). Half of it is the log standard deviation.
    """
    spreads, which = [], []
    for block in np.unique(sample.blocks):
        logs = np.log(sample.values[sample.blocks == block])
        half = (len(logs) - 1) / 2
        if half > 0 and np.ptp(logs) > 0:
            spreads.append((np.log(logs.var(ddof=1)) - special.psi(half) + np.log(half)) / 2)
            which.append(block)
    return np.array(which), np.array(spreads)


def spread_differences(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return (blocks, differences of log standard deviations, a less b), whose mean a t test judges.

    If at least SMALLEST blocks have several values of both sides, these are differences of the blocks' own spreads.
    Otherwise, if blocks are numbered by session, a session has a spread in their place.

    In all other cases the first value of each block counts. The differences are then the pseudo-values of a jackknife
    of the log ratio of the standard deviations over blocks (Miller 1968). It leaves out whole blocks, so it keeps the
    pairing and does not need normal values.
    """
    found = _differences_of_spreads(a, b)
    if len(found[0]) >= SMALLEST:
        return found
    if independence.by_sessions(a.blocks):
        return _differences_of_spreads(blocks.in_sessions(a), blocks.in_sessions(b))
    one_a, one_b = (blocks.by_block(sample, lambda values: values[0]) for sample in (a, b))
    logs = np.log(np.stack(blocks.within_blocks(one_a, one_b)))
    differences = _jackknife(logs, lambda kept: np.log(kept[0].std(ddof=1)) - np.log(kept[1].std(ddof=1)))
    return np.intersect1d(one_a.blocks, one_b.blocks)[: len(differences)], differences


def _differences_of_spreads(a: Sample, b: Sample) -> tuple[np.ndarray, np.ndarray]:
    (blocks_a, of_a), (blocks_b, of_b) = log_spreads(a), log_spreads(b)
    shared, in_a, in_b = np.intersect1d(blocks_a, blocks_b, return_indices=True)
    return shared, of_a[in_a] - of_b[in_b]


def log_variation(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return (blocks, log standard deviations of the logarithms of a sample), whose mean a t test judges.

    They are of each block that has several values, if there are at least SMALLEST such blocks. Otherwise they are of
    each session if blocks are numbered by session, or else the pseudo-values of a jackknife over the blocks' first
    values.
    """
    which, logs = log_spreads(sample)
    if len(logs) >= SMALLEST:
        return which, logs
    if independence.by_sessions(sample.blocks):
        return log_spreads(blocks.in_sessions(sample))
    first = blocks.by_block(sample, lambda values: values[0])
    logs = _jackknife(np.log(first.values)[None], lambda kept: np.log(kept[0].std(ddof=1)))
    return first.blocks[: len(logs)], logs


def _jackknife(logs: np.ndarray, statistic: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return the pseudo-values of a statistic of columns (blocks). Empty if there are too few columns or if values do
    not vary."""
    n = logs.shape[1]
    if n <= SMALLEST or (np.ptp(logs, axis=1) == 0).any():
        return np.empty(0)
    kept = [np.delete(logs, column, axis=1) for column in range(n)]
    if any((np.ptp(one, axis=1) == 0).any() for one in kept):
        return np.empty(0)
    return n * statistic(logs) - (n - 1) * np.array([statistic(one) for one in kept])
