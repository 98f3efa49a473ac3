"""Tables of a study. Its design defines the kinds of tables (`tables.KINDS`) and what each kind is made from."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from plimsoll import documents, paths
from plimsoll.interchange import Cell, Host, Image
from plimsoll.measuring import plan_file

# Descriptions that a table may be made from, with the type of their content.
KINDS = {"image": Image, "host": Host, "environments": dict[str, dict]}
AGAIN = "delete it, and type the command again, which makes a new one"


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

    @property
    def cells(self) -> list[Cell]:
        """The plan's cells that the table is about."""
        return self.study.design.cells.shown(self.plan, self.study, self.name)

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


class Kind(NamedTuple):
    """A kind of table: the `function` that makes it, and what it `needs` of `runs`, `image`, `host` and `environments`.

    The function takes a TableRequest and returns a DataFrame. It is named as `module.function` of the design's folder, and
    imported when a table is made: planning needs the kinds and no pandas.
    """

    function: str
    needs: Set[str] = frozenset()


def of_runs(study: dict) -> dict[str, dict]:
    """Return the study's tables that are made from runs, by name."""
    kinds = study.design.tables.KINDS
    return {name: table for name, table in study.get("tables", {}).items() if "runs" in kinds[table["kind"]].needs}


def beside(printed, ours, keys: list[str], columns: Sequence[str], reasons: Mapping[tuple, str | None]):
    """Return the rows that a paper prints, with `columns` of ours beside them: `n` and others.

    Rows that belong together have the same `keys`. `not_here` says why a row has no value of ours. `reasons` has, by the keys'
    values, why a cell cannot be measured here (None if it can).
    """
    table = printed.merge(ours[[*keys, *columns]], on=keys, how="left")
    rows = table[keys].itertuples(index=False, name=None)
    unmeasured = (reasons.get(row, "the configuration leaves it out") or "no run of it counts" for row in rows)
    return table.assign(not_here=[why if math.isnan(n) else "" for why, n in zip(unmeasured, table["n"], strict=True)])


def make(request: TableRequest):
    """Return a requested table as a DataFrame."""
    design = request.study.design
    module, function = design.tables.KINDS[request.table["kind"]].function.split(".")
    return getattr(import_module(f"{design.package}.{module}"), function)(request)
