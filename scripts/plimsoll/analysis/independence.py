"""What a t test takes as independent values: blocks, means of batches of many blocks, or means of sessions."""

import numpy as np

# Blocks with few cells follow each other within seconds, so noise that lasts longer is in several of them. From BATCHED
# blocks on, consecutive blocks are therefore averaged to BATCHES values (batch means).
BATCHED, BATCHES = 40, 20
# Where blocks are numbered by session, each number has this many times the session's number (from 1) added.
SESSION = 1_000_000


def units(values: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
    """Return what a t test takes as independent values.

    `values` has one value per block, in the order of the blocks, or one row per block (shape (blocks, columns)). If
    blocks are numbered by session (`which`), the result is the mean of each session. Otherwise, if there are BATCHED or
    more blocks, it is the means of batches of consecutive blocks. Fewer blocks are returned unchanged.
    """
    if which is not None and by_sessions(which):
        return per_session(values, which)
    if len(values) < BATCHED:
        return values
    return np.stack([batch.mean(axis=0) for batch in np.array_split(values, BATCHES)])


def by_sessions(which: np.ndarray) -> bool:
    """Return whether blocks are numbered by session."""
    return bool(len(which)) and bool(which.max() >= SESSION)


def per_session(values: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return the mean of each session if blocks are numbered by session, and otherwise the values unchanged."""
    if not by_sessions(which):
        return values
    return np.stack([values[which // SESSION == session].mean(axis=0) for session in np.unique(which // SESSION)])


def degrees(n):
    """Return the degrees of freedom of the t test of n blocks of one session (a number, or an array of numbers)."""
    return np.where(np.asarray(n) >= BATCHED, BATCHES, n) - 1
