"""Variance by level: between sessions, blocks of a session, launches of a block, and values of a launch.

T_i^2 = S_i^2 - S_{i-1}^2 / r_{i-1} is the variance of level i alone (Kalibera and Jones 2013, section 6). S_i^2 is the
variance of the means of level i around those of level i + 1, and r_i is their number there. These numbers may differ.
The variance of each mean is then carried upwards with its own number (unweighted means; Searle, Casella and McCulloch
1992, section 5.3). If the numbers are equal, this gives the same result. Variances are of logarithms and are pooled
over cells.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from plimsoll.analysis import blocks, collect
from plimsoll.config.studies import Study
from plimsoll.interchange import Plan
from plimsoll.planning import sessions

# Levels from the lowest to the highest, each with the column that numbers it.
LEVELS = {"value": "value_number", "launch": "repetition", "block": "block", "session": "session"}
COLUMNS = ("level", "degrees", "deviation", "share", "shared", "p")


class Component(NamedTuple):
    """What was found of one level.

    `variance` is that of the level alone (T_i^2; by chance it may be below 0), and `degrees` are the degrees of freedom
    of S_i^2. `shared` is the part of `variance` that all cells have in common, which cancels in a comparison. `p` is
    that of the F test that the level has no variance.
    """

    level: str
    variance: float
    degrees: int
    shared: float
    p: float


def components(table: pd.DataFrame) -> list[Component]:
    """Return the component of each level at which something is repeated, from the lowest.

    `table` has one row per value, with columns `log`, `cell` and those of LEVELS. A level at which nothing is repeated
    is part of the next one.
    """
    found: list[Component] = []
    rows = table.assign(mean=table["log"], noise=0.0)
    columns = list(LEVELS.values())
    for number, level in enumerate(LEVELS):
        parents = rows.groupby(["cell", *columns[number + 1 :]], sort=False)
        size = parents["mean"].transform("size")
        deviation = rows["mean"] - parents["mean"].transform("mean")
        degrees = int(len(rows) - parents.ngroups)
        variance = 0.0
        if degrees:
            squares = float((deviation**2).sum()) / degrees
            # Each parent counts by its degrees of freedom. The mean of `noise` over its parts is what lower levels explain.
            inherited = float((rows["noise"] * (size - 1) / size).sum()) / degrees
            variance = squares - inherited
            below = found[-1].degrees if found else 0
            p = float(special.fdtrc(degrees, below, squares / inherited)) if inherited > 0 and below else math.nan
            found.append(Component(level, variance, degrees, _shared(rows, deviation, size, columns[number:]), p))
        rows = _means(rows.assign(noise=(rows["noise"] + variance) / size**2), ["cell", *columns[number + 1 :]])
    return found


def _means(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    grouped = rows.groupby(keys, sort=False, as_index=False)
    return grouped.agg(mean=("mean", "mean"), noise=("noise", "sum"))


def _shared(rows: pd.DataFrame, deviation: pd.Series, size: pd.Series, keys: list[str]) -> float:
    """Return the covariance of two cells in the same unit of a level.

    NaN if no two cells are in one unit, as for values and launches.
    """
    if keys[0] not in ("block", "session"):
        return math.nan
    repeated = size > 1
    # Corrects for the mean of a cell's own units, which contains the unit itself.
    whole = (deviation / np.sqrt(1 - 1 / size.where(repeated)))[repeated]
    units = whole.groupby([rows.loc[repeated, key] for key in keys])
    sums, squares, number = units.sum(), (whole**2).groupby([rows.loc[repeated, key] for key in keys]).sum(), units.size()
    pairs = float((number * (number - 1)).sum())
    return float((sums**2 - squares).sum()) / pairs if pairs else math.nan


def of_sessions(study: Study, plan: Plan, results: Path) -> pd.DataFrame:
    """Return the table of `describe` for all sessions of a study that can be put together with the newest."""
    every = sessions.of_study(results, study["id"])
    used = [one for one in every if one == every[-1] or not sessions.apart(one, every[-1])]
    tables = [collect.table(one.folder / "observations.csv", plan["factors"]).assign(session=one.number) for one in used]
    observations = study.design.readings.measuring(pd.concat(tables, ignore_index=True))
    rows = describe(observations, plan["factors"], study.design.factors.OF_LEVELS)
    return pd.DataFrame(rows, columns=["metric", "label", *study.design.factors.OF_LEVELS, *COLUMNS])


def describe(observations: pd.DataFrame, factors: Sequence[str], kinds: Sequence[str]) -> Iterator[dict]:
    """Yield one row per metric, kind of cells and level, from values above 0 that hit no limit. Counts are left out.

    The kind of a cell is its levels of the factors `kinds`. `observations` may have a column `session`. `deviation` is
    the relative standard deviation of the level alone, and `share` is its share of the variance of one value. `shared`
    is the share of the level's variance that all cells have in common.
    """
    usable = observations[~observations["censored"].astype(bool) & (observations["value"] > 0)]
    table = numbered(usable, factors)
    for (metric, *levels), group in table.groupby(["metric", *kinds], sort=False):
        if group["unit"].iloc[0] == "count":
            continue
        found = components(group)
        whole = sum(max(0.0, one.variance) for one in found)
        for one in found:
            known = max(0.0, one.variance)
            yield {
                **{"metric": metric, "label": group["label"].iloc[0], **dict(zip(kinds, levels, strict=True))},
                **{"level": one.level, "degrees": one.degrees, "deviation": math.expm1(math.sqrt(known))},
                "share": known / whole if whole else math.nan,
                "shared": min(1.0, max(0.0, one.shared) / known) if known and not math.isnan(one.shared) else math.nan,
                "p": one.p,
            }


def numbered(observations: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return observations with `log`, `cell` and the columns of LEVELS. Two members of a cell (`place`) are two cells here."""
    keys = [*factors, *(key for key in ("place",) if key in observations)]
    table = observations.assign(log=np.log(observations["value"].astype(float)), block=blocks.numbers(observations))
    table["session"] = observations.get("session", 1)
    table["cell"] = table.groupby(keys, sort=False, dropna=False).ngroup()
    table["value_number"] = table.groupby(["metric", "cell", "session", "block", "repetition"], sort=False).cumcount()
    return table
