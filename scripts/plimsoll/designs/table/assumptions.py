"""What a table assumes of its rows: how runs that follow each other vary together, and how many independent ones they equal."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import cell_paths, paper_tests
from plimsoll.config.studies import Study
from plimsoll.designs.table.rows import Row
from plimsoll.designs.table.study_file import cell_levels
from plimsoll.planning.availability import SMALLEST

# With fewer runs of a cell its autocorrelation says nothing.
ENOUGH = 8


def of_cells(table: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row per metric and cell, from observations in their order.

    It has n, mean, standard deviation and coefficient of variation. `middle` is the geometric mean, whose ratios are compared,
    with its 95 % interval (`low`, `high`); it is the mean where a value is 0. `lag1`
    is the autocorrelation of the logarithms of values that follow each other. `effective` is the number of independent
    values with the same information: n (1 - lag1) / (1 + lag1), at most n. Both are NaN for fewer than ENOUGH values.
    """
    rows = []
    for key, group in table.groupby(["metric", *factors], sort=False):
        values = group["value"].to_numpy(float)
        deviation = values.std(ddof=1) if len(values) > 1 else math.nan
        lag = lag1(values)
        rows.append(
            {
                **{"metric": key[0], "cell": cell_paths.of_row(dict(zip(factors, key[1:], strict=True)), factors)},
                **dict(zip(factors, key[1:], strict=True)),
                **{"n": len(values), "mean": values.mean(), "sd": deviation, "cv": deviation / values.mean()},
                **_middle(values),
                **{"minimum": values.min(), "maximum": values.max()},
                **{"lag1": lag, "effective": effective(len(values), lag)},
            }
        )
    return pd.DataFrame(rows)


def _middle(values: np.ndarray) -> dict[str, float]:
    positive = bool((values > 0).all())
    scaled = np.log(values) if positive else values
    found = (scaled.mean(), *paper_tests.mean_interval(scaled))
    return dict(zip(("middle", "low", "high"), np.exp(found) if positive else found, strict=True))


def of_means(rows: Sequence[Row], study: Study) -> pd.DataFrame:
    """Return the same table for rows of means. The interval is from the standard deviation. Nothing is known of order."""
    factors, made = study.design.factors.FACTORS, []
    for row in rows:
        levels = cell_levels(row, factors)
        half = special.stdtrit(row.n - 1, 0.975) * row.sd / math.sqrt(row.n) if row.n > 1 else math.nan
        made.append(
            {
                **{"metric": row.metric, "cell": cell_paths.of_row(levels, factors), **levels},
                **{"n": row.n, "mean": row.mean, "sd": row.sd, "cv": row.sd / row.mean},
                **{
                    "middle": row.mean,
                    "low": row.mean - half,
                    "high": row.mean + half,
                    "minimum": math.nan,
                    "maximum": math.nan,
                },
                **{"lag1": math.nan, "effective": math.nan},
            }
        )
    return pd.DataFrame(made)


def lag1(values: np.ndarray) -> float:
    """Return the autocorrelation, at a lag of one, of the logarithms of values in their order."""
    if len(values) < ENOUGH or (values <= 0).any():
        return math.nan
    rest = np.log(values) - np.log(values).mean()
    total = float(rest @ rest)
    return float(rest[1:] @ rest[:-1]) / total if total > 0 else math.nan


def effective(n: int, lag: float) -> float:
    """Return the number of independent values that n values with such an autocorrelation are worth."""
    return math.nan if math.isnan(lag) else n * min(1.0, (1 - lag) / (1 + lag))


def one_after_another(rows: Sequence[Row]) -> bool:
    """Return whether all rows of a cell follow each other: a drift of the machine is then a difference of cells."""
    keys = [tuple(row.levels.items()) for row in rows if row.metric == rows[0].metric]
    return len({*keys}) > 1 and len([*groupby(keys)]) == len({*keys})


def notes(rows: Sequence[Row]) -> list[str]:
    """Return in sentences what a reader of the verdicts must know of the rows: mostly none.

    They are about columns that are not named, files with the same values, and sessions that are pooled.
    """
    return [*dict.fromkeys(note for row in rows for note in row.notes), *_same_files(rows), *_pooled(rows)]


def _same_files(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for files with the same values, as a log and a report of the same runs have them."""
    by_file = defaultdict(list)
    for row in rows:
        by_file[row.where.partition(", ")[0]].append((sorted(row.levels.items()), row.metric, row.value, row.mean))
    files = defaultdict(list)
    for file, values in by_file.items():
        # One value may be the same by chance, if it is coarse.
        if len(values) >= SMALLEST:
            files[str(sorted(values))].append(file)
    return [
        f"{' and '.join(names)} have the same values. If they are of the same runs, these count more than once: judge one file."
        for names in files.values()
        if len(names) > 1
    ]


def _pooled(rows: Sequence[Row]) -> list[str]:
    """Return what it means that rows of two sessions are pooled. From SMALLEST sessions on, the session is the unit.

    A block pairs the sides within a session.
    """
    sessions = {row.session for row in rows}
    if not 1 < len(sessions) < SMALLEST or any(row.block or row.summarised for row in rows):
        return []
    of_cell = defaultdict(set)
    for row in rows:
        of_cell[row.metric, *row.levels.values()].add(row.session)
    alone = sum(len(found) == 1 for found in of_cell.values())
    told = [
        f"The rows of {len(sessions)} sessions are pooled, as if all were runs of one. {SMALLEST} sessions, or blocks, are "
        "needed to tell what a session does to its runs: measure another session, or name the block."
    ]
    if alone:
        told.append(
            f"Of {len(of_cell)} cells, {alone} were measured in one session only. A difference between sessions then looks "
            "like a difference between cells."
        )
    return told


def said(rows: Sequence[Row], cells: pd.DataFrame) -> list[str]:
    """Return what the verdicts assume, in sentences, from the rows of a table and from `of_cells`."""
    if any(row.summarised for row in rows):
        return [
            "The rows are means with their standard deviations and numbers of values, which are taken as independent of each "
            "other. Sides are compared by Welch's test of the ratio of means. What single values would show is not known."
        ]
    sessions, named = {row.session for row in rows}, any(row.block for row in rows)
    if len(sessions) >= SMALLEST:
        first = f"The session is the unit: of each of {len(sessions)} sessions, the mean of its differences is one value."
    elif named:
        first = "Sides are compared within blocks, which the data name. What a block does to all its runs cancels."
    else:
        first = (
            f"The data name no block and fewer than {SMALLEST} sessions, so nothing says which runs belong together. All rows "
            "are taken as independent runs, in any order, and sides are compared by Welch's test of the logarithms. Trends, "
            "losses and spreads take runs of the cells together by chance."
        )
    told = [first, *_correlated(cells), *_constant(cells)]
    if not named and one_after_another(rows):
        told.append(
            "All runs of a cell follow each other. A machine that grows slower or faster from run to run then looks like a "
            "difference between cells: measure in turns, and name the block."
        )
    return told


def _constant(cells: pd.DataFrame) -> list[str]:
    """Return what cells without a spread mean for verdicts, in a sentence; none if all vary."""
    number = int(((cells["n"] > 1) & (cells["minimum"] == cells["maximum"])).sum())
    if not number:
        return []
    return [
        f"In {number} of {len(cells)} cells, all runs have the same value. No test can decide between two such cells, as "
        "nothing says how much they vary: their claims stay inconclusive. Compare the values by eye, or measure more finely."
    ]


def _correlated(cells: pd.DataFrame) -> list[str]:
    known = cells.dropna(subset="lag1")
    if known.empty:
        return [f"No cell has {ENOUGH} runs, too few to say whether runs that follow each other are alike."]
    least = (known["effective"] / known["n"]).min()
    return [
        f"Runs that follow each other correlate by {known['lag1'].median():.2f} (median of {len(known)} cells, largest "
        f"{known['lag1'].max():.2f}). The cell with the most is worth {least:.0%} of its runs, if nothing else disturbs them."
    ]
