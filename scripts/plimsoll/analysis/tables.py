"""Tables of a study. Its design defines the kinds of tables (`tables.KINDS`) and what each kind is made from."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from plimsoll import documents, paths
from plimsoll.interchange import Host, Image
from plimsoll.measuring import plan_file

# Descriptions that a table may be made from, with the type of their content.
KINDS = {"image": Image, "host": Host, "environments": dict[str, dict]}
AGAIN = "delete it, and start the workflow again, which makes it again"


@dataclass(frozen=True)
class TableRequest:
    """A requested table: `name` in the `study`'s `tables`, and the files that it may be made from.

    `folder` holds the study's plan and records. `image`, `host` and `environments` are descriptions in JSON. A
    description that the kind of table does not need may be None. `runs` is the list of all runs of the study, if there
    is one.
    """

    study: dict
    name: str
    folder: Path
    image: Path | None = None
    host: Path | None = None
    environments: Path | None = None
    runs: Path | None = None

    @property
    def table(self) -> dict:
        """The table's entry in the study."""
        return self.study["tables"][self.name]

    @cached_property
    def plan(self) -> dict:
        """The study's plan."""
        return plan_file.read(self.folder / "plan.json", self.study.design.factors)

    def read(self, name: str) -> dict:
        """Return one of the descriptions: `image`, `host` or `environments`."""
        return documents.read(getattr(self, name), KINDS[name], AGAIN)

    def observations(self):
        """Return what was observed in the runs that the table is made from, as a DataFrame."""
        from plimsoll.analysis import collect  # here: see `printed`
        from plimsoll.planning import availability

        runs = availability.runs(self.plan, self.study, self.name)
        return collect.collect_some(self.folder / "runs", self.plan, self.study, runs, self.runs)[0]

    def printed(self, **options):
        """Return the paper's table (config/reference) as a DataFrame. `options` are those of pandas.read_csv."""
        import pandas as pd  # here: planning imports the kinds of tables and needs no pandas

        return pd.read_csv(paths.REFERENCE / f"{self.table['reference']}.csv", **options)


@dataclass(frozen=True)
class Kind:
    """A kind of table: the function that makes it, and what it `needs` of `runs`, `image`, `host` and `environments`."""

    make: Callable[[TableRequest], Any]
    needs: frozenset[str]


def of_runs(study: dict) -> dict[str, dict]:
    """Return the study's tables that are made from runs, by name."""
    kinds = study.design.tables.KINDS
    return {name: table for name, table in study.get("tables", {}).items() if "runs" in kinds[table["kind"]].needs}


def reason(reasons: Mapping, key: Hashable, number: float) -> str:
    """Return why a row of a paper's table has no value of ours; empty if it has one (`number` of its runs is not NaN).

    `reasons` says why cells cannot be measured here (None if they can), by what rows are found by.
    """
    if not math.isnan(number):
        return ""
    return reasons.get(key, "the configuration leaves it out") or "no run of it counts"


def make(request: TableRequest):
    """Return a requested table as a DataFrame."""
    return request.study.design.tables.KINDS[request.table["kind"]].make(request)
