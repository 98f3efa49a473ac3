"""Base class of a design of experiments, and of its parts.

A design says which cells a study has, how one is measured, and what its records mean. It is a folder of plimsoll/designs:
`__init__.py` has the design, and every other member belongs to one of the parts below. A part is a class in a module of the
part's name: `cells.py` has `class Cells(design.Cells)`. A part that is left out is its base class.

Members without a value and abstract methods are required. Every other member has a default that fits most designs.
A part is imported at its first use, so that measuring does not wait for what only planning or analysis imports.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from plimsoll import registry
from plimsoll.errors import Unavailable
from plimsoll.interchange import Cell, Plan, Record, Topology

# refer(key, values, known) raises PlimsollError, which names the key, if one of the values is not among the known ones.
Refer = Callable[[str, list, list], None]


class Factors:
    """Keys of a cell's path, and columns of the tables of runs and observations. Every stage reads them."""

    FACTORS: tuple[str, ...]  # keys of a cell that make up its path, in this order
    PATTERN: str  # a regular expression that matches every path
    CELL: type = Cell  # TypedDict of a cell, of a plan and of a record, if they have keys of the design's own
    PLAN: type = Plan
    RECORD: type = Record
    SIZES: tuple[str, ...] = ()  # other keys of a cell that are columns of the tables of runs and observations
    OF_OBSERVATION: tuple[str, ...] = ()  # columns of observations that are not keys of the cell
    OF_RUN: tuple[str, ...] = ()  # columns of the table of runs that `Readings.of_run` fills
    OF_NOISE: tuple[str, ...] = ()  # keys by which the noise of cells differs most: it is pooled per kind
    OF_LEVELS: tuple[str, ...] = ()  # factors that make a kind of cells: variance is split per kind
    OBSERVES_RUNTIMES: bool = False  # whether a runtime's isolation is inspected from inside, when it is tried
    STAGES: bool = False  # whether given hours are spent in stages (plimsoll.features.time_budget.two_stages)
    USUAL_HOURS: float | None = None  # hours that are spent if the user gives none; None: the profile sets repetitions


class Check:
    """Compares the names in a study and in its claims with what they refer to. Called whenever a study is loaded."""

    NAMED: tuple[str, ...] = ()  # factors whose levels claims and answers may name

    def study(self, study: dict, source: str, refer: Refer) -> None:
        """Check the names in a study, and write out what its file abbreviates. `source` is the file, for messages.

        PlimsollError for a wrong name. The schema of the design has been checked before.
        """

    def claim(self, study: dict, claim: dict, refer: Refer) -> None:
        """Check the levels that a claim names. PlimsollError for an unknown one."""


class Cells(ABC):
    """What is measured on a host. Called to make the plan, and by what reads it. Every method is pure."""

    @abstractmethod
    def repetitions(self, profile: dict) -> int:
        """Return the number of repetitions of each cell in a profile. A cell's own `repetitions` replaces it."""

    @abstractmethod
    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, Cell]]:
        """Return (experiment, cell) for every cell that an experiment wants.

        A cell has the keys of `interchange.Cell` and the factors. Cells that cannot be measured on this host are included.
        Their `reason` says why. `unavailable` has the reason for each runtime that does not work here.
        """

    @abstractmethod
    def measured(self, cell: Cell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint.

        Two runs with the same values of these keys are repetitions of each other.
        """

    def shown(self, plan: Plan, study: dict, name: str) -> list[Cell]:
        """Return the plan's cells that a figure shows, or a table that is made from runs.

        Default: the cells of its `experiment` and of the experiments in `beside`, or all cells if it names none.
        """
        item = {**study["figures"], **study.get("tables", {})}[name]
        named = {item["experiment"], *item.get("beside", [])} if "experiment" in item else None
        return [cell for cell in plan["cells"].values() if named is None or named & set(cell["experiments"])]

    def kind(self, cell: Cell) -> str:
        """Return what a cell needs of its runtime, in words (`several nodes`). If one cell of a kind works, all do."""
        return ""

    def trial(self, plan: Plan, cells: Sequence[Cell]) -> Cell | None:
        """Return the cheapest of the cells, with the smallest problem, as a trial run; None if none is cheap.

        All cells have the same runtime and kind. The trial shows whether they run at all.
        """
        return None

    def programs(self, plan: Plan, cell: Cell) -> list[str]:
        """Return the programs that a run of a cell measures, by their names in the image's `versions`.

        The list is empty if what is measured is not a program of the image.
        """
        return []

    def plan_extras(self, study: dict, host: Topology) -> dict:
        """Return the keys that this design adds to a plan, besides its cells."""
        return {}

    def memory_share(self, profile: dict) -> float:
        """Return the share of the smallest memory node that a problem may use; 0 if no size depends on the memory."""
        return 0.0

    def problem_bytes(self, plan: Plan) -> int:
        """Return the memory (bytes) of a plan's largest problem whose size depends on the memory; 0 without such a problem."""
        return 0

    def unavailable_metrics(self, plan: Plan, study: dict, metrics: list[str]) -> dict[str, Unavailable]:
        """Return the metrics that cannot be had on this host, by name."""
        return {}

    def host_facts(self, machine: Topology) -> dict[str, str]:
        """Return this design's facts about a machine by name, in words. The description of the host shows them."""
        return {}


class Attempts:
    """Makes a run. Called while measuring, with the machine's lock held. Required: `attempt`, or `launch` in its place."""

    # Whether containers have memory limits. A process that the kernel kills may then have exceeded its own.
    LIMITS_MEMORY: bool = False

    def others(self, cell: Cell) -> list:
        """Return what a run of a cell needs besides its runtime: other runtimes, and other machines.

        Each has `examine` and `revive`, as a runtime has.
        """
        return []

    def attempt(self, attempt: Any) -> dict:
        """Make one attempt at a run. `attempt` is what that takes (plimsoll.measuring.attempt.Attempt).

        Return the attempt's part of the record: `status`, `reason`, and what was measured.
        """
        raise NotImplementedError("A design has `attempt`, or `launch` if several cells share a launch.")

    def launch(self, attempt: Any) -> dict[str, dict]:
        """Make one attempt at all runs of a launch. Return each run's part of the record, by cell.

        Cells that the launch did not reach are left out. Default: a launch has one cell, and is an `attempt`.
        """
        return {attempt.cell["path"]: self.attempt(attempt)}


class Readings(ABC):
    """Makes observations from records, and the paper's statistics from observations. Called after measuring."""

    @abstractmethod
    def observations(self, study: dict, row: dict, record: Record) -> list[dict]:
        """Return the observations of a record that counts, one row each.

        `row` holds the columns that all of them share. A row is made by `analysis.observation.row`.
        """

    def of_run(self, record: Record) -> dict:
        """Return this design's columns (`Factors.OF_RUN`) of a record's row in the table of runs."""
        return {}

    def measuring(self, observations):
        """Return the observations of runs without an instrument. `observations` is the table of a study."""
        return observations

    def tests(self, study: dict, observations):
        """Return a table of tests, made as the paper made them, from the table of observations."""
        from pandas import DataFrame

        return DataFrame()


class Contrasts:
    """Finds what a claim compares on this host. Called to judge the claims."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares on this host.

        The function returns contrasts, lists of sides along a trend, or printed values (plimsoll.claims.sides).
        """
        return lambda claim: []

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """Return one plan per arrangement of what the paper leaves open, by the arrangement in words.

        A plan has only the cells of its arrangement, or a key that says how its cells are arranged. The words follow *with*:
        a claim holds with client and server on one core. Default: the plan alone, as the paper leaves nothing open.
        """
        return {"": plan}

    def unfit(self, cell: Cell) -> str | None:
        """Return why a cell, as it is arranged, no longer is what its levels say, in words; None if it still is.

        A claim about such a cell is not tested in this arrangement.
        """
        return None

    def unmet_needs(self, plan: Plan) -> dict[str, str]:
        """Return what is unavailable here of what claims may need (their `needs`), in words.

        Runtimes are not included: a cell whose runtime does not work here has a reason of its own. Neither are the cells that a
        claim compares.
        """
        return {}

    def transferred_claim(self, claim: dict) -> dict | None:
        """Return a claim that has nothing to compare on this host, moved to other cells that it may also be about.

        None if there are no such cells. The result of a moved claim is marked (`transferred`).
        """
        return None


class Tables:
    """The kinds of tables that a study may name."""

    KINDS: dict[str, Any] = {}  # kind -> plimsoll.analysis.tables.Kind


class Figures:
    """This design's part of a figure's data. Called before a figure's notebook runs."""

    def figure_options(self, plan: Plan, study: dict, name: str) -> dict:
        """Return this design's options of a figure. `of_cell` lists the keys of each cell that the figure needs."""
        return {"of_cell": ()}

    def figure_tables(self, study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
        """Return the tables, by name, that a figure needs besides its observations. `folder` holds the study's results."""
        return {}


class Report:
    """This design's part of a study's page, and its names for people."""

    TEMPLATE: str = "base.html.j2"  # path below plimsoll/designs; the default has nothing of the design's own
    GLOSSARY: tuple = ()  # plimsoll.pages.glossary.Term, for words that only pages of this design use

    def content(self, sources: Any, study: dict, plan: Plan, observations, runs, tests) -> dict:
        """Return this design's variables of the page's template.

        `sources` are the paths of the files that the page is made from (plimsoll.pages.report.Sources). The tables are those
        of observations, of runs, and of the paper's tests.
        """
        return {}

    def cell_label(self, path: str, metric: dict) -> str:
        """Return a cell's name for people, in parts separated by a comma and a space.

        `metric` is the metric that is compared. It is empty where the cell as a whole is named.
        """
        return path.replace("/", ", ")

    def level(self, factor: str, name: str) -> str:
        """Return the name of a factor's level for people. The level may be one that only claims name."""
        return name

    def row(self, levels: dict[str, str], path: str | None) -> str:
        """Return the name of a row of the study's answer, from its levels by factor. `path` is its cell, if it was measured."""
        return ", ".join(self.level(factor, name) for factor, name in levels.items())


P = TypeVar("P")


class Part(Generic[P]):
    """Attribute of a design that holds one of its parts, imported at its first use."""

    def __init__(self, base: type[P]):
        self.base = base

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, design: "Design | None", owner: type) -> P:
        """Return the part of a design: the module's class that is called as its base class, or the base class itself."""
        if design is None:
            return self
        module = f"{design.package}.{self.name}"
        try:
            kind = getattr(import_module(module), self.base.__name__)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
            kind = self.base
        # An attribute of the instance: the next use finds it without this method.
        part = design.__dict__[self.name] = kind()
        return part


class Design:
    """A design of experiments. The docstring of its package says what is measured.

    The parts are modules of that package. A study carries its design (`study.design`). Shared code calls the design through it
    and imports no design.
    """

    MEASURES: bool = True  # whether Plimsoll measures such a study, and can make more runs of it

    factors = Part(Factors)
    check = Part(Check)
    cells = Part(Cells)
    attempts = Part(Attempts)
    readings = Part(Readings)
    contrasts = Part(Contrasts)
    tables = Part(Tables)
    figures = Part(Figures)
    report = Part(Report)

    def __init__(self, package: str):
        """`package` is the name of the design's package. Its last part names the design, and its schema in config/schemas."""
        self.package, self.name = package, package.rpartition(".")[2]

    def for_study(self, study: Mapping) -> "Design":
        """Return this design as a study follows it. Default: itself, as most designs have the same factors in all studies."""
        return self

    def chart(self, name: str) -> Any:
        """Return a chart of the design's charts/ by name (plimsoll.figures.chart.Chart). PlimsollError if it is unknown."""
        charts = import_module(f"{self.package}.charts")
        return registry.find(registry.members(charts, "CHARTS"), "chart", name)
