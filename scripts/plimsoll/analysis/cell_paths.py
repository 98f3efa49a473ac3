"""Paths of cells, from tables of runs: the levels of a design's factors, in the order of the plan.

Factors that a cell does not have are left out. The folder of a run's raw output names its cell, too.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plimsoll.interchange import ABSENT

if TYPE_CHECKING:
    import pandas as pd  # not at run time: stages that read tables as text need no pandas


def of_row(row: Mapping, factors: Sequence[str]) -> str:
    """Return the path of the cell that a row with its levels belongs to, such as the row of a run."""
    return "/".join(str(row[factor]) for factor in factors if row[factor] != ABSENT)


def of_raw(folders: "pd.Series") -> "pd.Series":
    """Return the path of the cell of each run, from the folder of its raw output: raw/<cell>/<repetition>-<attempt>."""
    return folders.str.replace(r"^raw/(.*)/[^/]*$", r"\1", regex=True)


def of_table(table: "pd.DataFrame", factors: Sequence[str]) -> "pd.Series":
    """Return the path of each row's cell. Levels must be texts."""
    first, *others = factors
    return table[first].str.cat(table[others], sep="/").str.replace(rf"/{ABSENT}(?=/|$)", "", regex=True)
