"""Protocols of a design of experiments: what the workflow calls, and what each call returns.

A design is a folder of plimsoll/designs with one module per protocol. A module is imported at its first use, so that
measuring does not wait for what only planning or analysis imports. A study carries its design (`study.design`). Shared code
calls the design through it and imports no design.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from plimsoll import registry
from plimsoll.interchange import Cell, Plan, Record, Topology

# refer(key, values, known) raises PlimsollError, which names the key, if one of the values is not among the known ones.
Refer = Callable[[str, list, list], None]


class Factors(Protocol):
    """`factors`: the keys that make up a cell's path, and the columns of tables of runs and observations."""

    FACTORS: tuple[str, ...]  # in the order of the path
    PATTERN: str  # a regular expression that matches every path
    SIZES: tuple[str, ...]  # other keys of a cell that are columns of the tables of runs and observations
    OF_OBSERVATION: tuple[str, ...]  # columns of observations that are not keys of the cell
    OF_RUN: tuple[str, ...]  # columns of the table of runs that `readings.of_run` fills
    CELL: type  # TypedDict of a cell; PLAN is the TypedDict of a plan, RECORD of a record
    PLAN: type
    RECORD: type
    OBSERVES_ENVIRONMENTS: bool  # whether the isolation of each runtime is also inspected from inside, when it is tried
    STAGES: bool  # whether given hours are spent in stages (plimsoll.hours); otherwise the profile sets the repetitions
    USUAL_HOURS: float | None  # hours that are spent if the user gives none; None: the profile sets the repetitions
    OF_NOISE: tuple[str, ...]  # keys by which the noise of cells differs most: it is pooled per kind (plimsoll.claims.needs)
    OF_LEVELS: tuple[str, ...]  # factors that make a kind of cells: variance is split per kind (plimsoll.analysis.levels)


class Check(Protocol):
    """`check`: compares the names in a study and its claims with what they refer to."""

    NAMED: tuple[str, ...]  # factors whose levels claims and answers may name

    def study(self, study: dict, source: str, refer: Refer) -> None:
        """Check the names in a study, and write out what its file abbreviates. PlimsollError for a wrong name."""

    def claim(self, study: dict, claim: dict, refer: Refer) -> None:
        """Check the levels that a claim names. PlimsollError for an unknown one."""


class Cells(Protocol):
    """`cells`: what is measured on a host. Every function is pure."""

    def repetitions(self, profile: dict) -> int:
        """Return the number of repetitions of each cell in a profile."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, Cell]]:
        """Return (experiment, cell) for every cell that an experiment wants.

        Cells that cannot be measured on this host are included. Their `reason` says why.
        """

    def measured(self, cell: Cell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint.

        Two runs with the same values of these keys are repetitions of each other.
        """

    def memory_share(self, profile: dict) -> float:
        """Return the share of the smallest memory node that a problem may use; 0 if no size depends on the memory."""

    def problem_bytes(self, plan: Plan) -> int:
        """Return the memory (bytes) of a plan's largest problem whose size depends on the memory; 0 without such a problem."""

    def kind(self, cell: Cell) -> str:
        """Return what a cell needs of its runtime, in words (`several nodes`). If one cell of a kind works, all do."""

    def trial(self, plan: Plan, cells: Sequence[Cell]) -> Cell | None:
        """Return the cheapest of the cells, with the smallest problem, as a trial run; None if none is cheap.

        All cells have the same runtime and kind. The trial shows whether they run at all.
        """

    def described(self, study: dict, host: Topology) -> dict:
        """Return the keys that this design adds to a plan, besides its cells."""

    def shown(self, plan: Plan, study: dict, name: str) -> list[Cell]:
        """Return the plan's cells that a figure shows, or a table that is made from runs."""

    def programs(self, plan: Plan, cell: Cell) -> list[str]:
        """Return the programs that a run of a cell measures, by their names in the image's `versions`.

        The list is empty if what is measured is not a program of the image.
        """

    def unseen(self, plan: Plan, study: dict, metrics: list[str]) -> dict[str, str]:
        """Return the metrics that are unavailable on this host, each with the reason."""

    def host_facts(self, machine: Topology) -> dict[str, str]:
        """Return this design's facts about a machine by name, in words. The description of the host shows them."""


class Attempts(Protocol):
    """`attempt`: makes a run."""

    LIMITS_MEMORY: bool  # containers have memory limits, so a process that the kernel kills may have exceeded its own
    LAUNCHES: bool  # several cells share one launch, and the design has `launch`; otherwise it has `attempt`

    def others(self, cell: Cell) -> list:
        """Return what a run of a cell needs besides its runtime: other runtimes, and other machines.

        Each has `examine` and `revive`, as a runtime has.
        """

    def attempt(self, given: Any) -> dict:
        """Make one attempt at a run (plimsoll.measuring.attempt.Attempt).

        Return the attempt's part of the record: `status`, `reason`, and what was measured.
        """

    def launch(self, given: Any) -> dict[str, dict]:
        """Make one attempt at all runs of a launch. Return each run's part of the record, by cell.

        Cells that the launch did not reach are left out.
        """


class Readings(Protocol):
    """`readings`: makes observations from a record."""

    def observations(self, study: dict, row: dict, record: Record) -> list[dict]:
        """Return the observations of a record that counts, one row each. `row` holds the columns that all of them share."""

    def of_run(self, record: Record) -> dict:
        """Return this design's columns of a record's row in the table of runs."""

    def measuring(self, observations):
        """Return the observations of runs without an instrument."""

    def gather(self, study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
        """Return the tables, by name, that a figure needs besides its observations. `folder` holds the study's results."""


class Tests(Protocol):
    """`tests`: the paper's own statistics."""

    def tests(self, study: dict, observations):
        """Return a table of tests, made as the paper made them."""


class Contrasts(Protocol):
    """`contrasts`: the cells that a claim compares."""

    def asking(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares on this host.

        The function returns contrasts, lists of sides along a trend, or printed values.
        """

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """Return one plan per arrangement of what the paper leaves open, by the arrangement in words.

        A plan has only the cells of its arrangement, or a key that says how its cells are arranged. The words follow *with*:
        a claim holds with client and server on one core.
        """

    def unfit(self, cell: Cell) -> str | None:
        """Return why a cell, as it is arranged, no longer is what its levels say, in words; None if it still is.

        A claim about such a cell is not tested in this arrangement.
        """

    def lacks(self, plan: Plan) -> dict[str, str]:
        """Return what is unavailable here of what claims may need (their `needs`), in words.

        Runtimes are not included: a cell whose runtime does not work here has a reason of its own. Neither are the cells that a
        claim compares.
        """

    def elsewhere(self, claim: dict) -> dict | None:
        """Return a claim that has nothing to compare on this host, moved to other cells that it may also be about.

        None if there are no such cells. The result of a moved claim is marked (`transferred`).
        """


class Tables(Protocol):
    """`tables`: the kinds of tables that a study may name."""

    KINDS: dict[str, Any]  # kind -> plimsoll.analysis.tables.Kind


class Report(Protocol):
    """`report`: this design's part of a study's page."""

    TEMPLATE: str  # path below plimsoll/designs
    GLOSSARY: tuple  # plimsoll.pages.glossary.Term, for words that only pages of this design use

    def content(self, sources: Any, study: dict, plan: Plan, observations, runs, tests) -> dict:
        """Return this design's variables of the page's template.

        `sources` are the paths of the files that the page is made from (plimsoll.pages.report.Sources).
        """

    def short(self, path: str, metric: dict) -> str:
        """Return a cell's name for people, in parts separated by a comma and a space.

        `metric` is the metric that is compared. It is empty where the cell as a whole is named.
        """

    def level(self, factor: str, name: str) -> str:
        """Return the name of a factor's level for people. The level may be one that only claims name."""

    def row(self, levels: dict[str, str], path: str | None) -> str:
        """Return the name of a row of the study's answer, from its levels by factor. `path` is its cell, if it was measured."""


class Figures(Protocol):
    """`figures`: this design's part of a figure's data."""

    def told(self, plan: Plan, study: dict, name: str) -> dict:
        """Return this design's options of a figure. `of_cell` lists the keys of each cell that the figure needs."""


class Design(NamedTuple):
    """A design, by the name of its folder in `package`."""

    name: str
    package: str

    @property
    def factors(self) -> Factors:
        """Return the design's module with keys and columns."""
        return _module(self, "factors")

    @property
    def check(self) -> Check:
        """Return the design's module that checks studies and claims."""
        return _module(self, "check")

    @property
    def cells(self) -> Cells:
        """Return the design's module that plans cells."""
        return _module(self, "cells")

    @property
    def attempts(self) -> Attempts:
        """Return the design's module that makes runs."""
        return _module(self, "attempt")

    @property
    def readings(self) -> Readings:
        """Return the design's module that reads records."""
        return _module(self, "readings")

    @property
    def tests(self) -> Tests:
        """Return the design's module with the paper's tests."""
        return _module(self, "tests")

    @property
    def contrasts(self) -> Contrasts:
        """Return the design's module that finds the cells of claims."""
        return _module(self, "contrasts")

    @property
    def tables(self) -> Tables:
        """Return the design's module with the kinds of tables."""
        return _module(self, "tables")

    @property
    def figures(self) -> Figures:
        """Return the design's module that describes figures."""
        return _module(self, "figures")

    def chart(self, name: str) -> Any:
        """Return a chart of the design's charts/ by name (plimsoll.figures.chart.Chart). PlimsollError if it is unknown."""
        return registry.find(registry.members(_module(self, "charts"), "CHARTS"), "chart", name)

    @property
    def report(self) -> Report:
        """Return the design's module that fills the page."""
        return _module(self, "report")


@cache
def _module(design: Design, name: str) -> ModuleType:
    return import_module(f"{design.package}.{design.name}.{name}")
