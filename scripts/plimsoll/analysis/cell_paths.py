"""Paths of cells, from tables of runs: the levels of a design's factors, in the order that the plan gives them. Factors that a
cell does not have are left out."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plimsoll.interchange import ABSENT

if TYPE_CHECKING:
    import pandas as pd  # the stages that read a table as text wait for nothing


def of_row(row: Mapping, factors: Sequence[str]) -> str:
    """Path of the cell that one run is of, or another row that has its levels."""
    return "/".join(str(row[factor]) for factor in factors if row[factor] != ABSENT)


def of_table(table: "pd.DataFrame", factors: Sequence[str]) -> "pd.Series":
    """Of each row the path of its cell; levels are texts."""
    first, *others = factors
    return table[first].str.cat(table[others], sep="/").str.replace(rf"/{ABSENT}(?=/|$)", "", regex=True)
