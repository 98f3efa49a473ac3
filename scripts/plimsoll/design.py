"""What the workflow asks of a design of experiments, in small protocols.

A design is a folder of plimsoll/designs with a module for each protocol. A module is imported when it is first asked, so that
measuring does not wait for what planning or analysing imports. A study carries its design (`study.design`): shared code asks
it, and imports none.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from plimsoll import registry
from plimsoll.interchange import Cell, Plan, Record, Topology

# refer(key, values, known) raises PlimsollError, with the key, for a value that is not known.
Refer = Callable[[str, list, list], None]


class Factors(Protocol):
    """`factors`: the keys that make up a cell's path, and the columns of its records."""

    FACTORS: tuple[str, ...]  # in the order of the path
    PATTERN: str  # a regular expression that matches every path
    SIZES: tuple[str, ...]  # other keys of a cell that every table of runs has
    OF_OBSERVATION: tuple[str, ...]  # columns of observations that are no keys of the cell
    OF_RUN: tuple[str, ...]  # columns of the table of runs that `readings.of_run` fills
    CELL: type  # what a cell has, a plan, and a record, as TypedDicts
    PLAN: type
    RECORD: type
    OBSERVES_ENVIRONMENTS: bool  # each environment is looked at from inside too, when it is tried
    STAGES: bool  # a given time is spent in stages (plimsoll.hours); otherwise the profile says how often all is repeated
    USUAL_HOURS: float | None  # the time where nobody gives one; None where the profile then says how often all is repeated
    OF_NOISE: tuple[str, ...]  # keys of a cell by which its noise differs most (plimsoll.claims.needs)
    OF_LEVELS: tuple[str, ...]  # factors by which variance is told level by level (plimsoll.analysis.levels)


class Check(Protocol):
    """`check`: names in files, against what they refer to."""

    NAMED: tuple[str, ...]  # the factors whose levels claims and answers may name

    def study(self, study: dict, source: str, refer: Refer) -> None:
        """Check a study, and resolve what the file abbreviates."""

    def claim(self, study: dict, claim: dict, refer: Refer) -> None:
        """Check the levels that a claim names."""


class Cells(Protocol):
    """`cells`: what is measured on a host. Pure."""

    def repetitions(self, profile: dict) -> int:
        """Repetitions of each cell that a profile asks for."""

    def wanted(
        self, study: dict, profile: dict, host: Topology, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, Cell]]:
        """(experiment, cell) for every cell that an experiment wants, including those that cannot be measured here."""

    def measured(self, cell: Cell) -> dict:
        """Return the keys of a cell that say what is measured, in the order of its fingerprint: two runs of which these are
        the same are repetitions of each other."""

    def memory_share(self, profile: dict) -> float:
        """Return the share of the smallest memory node that a problem may have; 0 where no size follows from the memory."""

    def problem_bytes(self, plan: Plan) -> int:
        """Return the memory of the largest problem of a plan, of those whose size follows from the memory."""

    def kind(self, cell: Cell) -> str:
        """What a cell needs of its runtime, in words (`several nodes`): one cell of a kind works if another one does."""

    def trial(self, plan: Plan, cells: Sequence[Cell]) -> Cell | None:
        """The cheapest of the cells, all of one runtime and kind, with the smallest problem, to find out whether they run; None
        if none is cheap."""

    def described(self, study: dict, host: Topology) -> dict:
        """What the plan holds besides its cells."""

    def shown(self, plan: Plan, study: dict, name: str) -> list[Cell]:
        """The plan's cells that a figure, or a table that is made from runs, shows."""

    def programs(self, plan: Plan, cell: Cell) -> list[str]:
        """The programs that a run of a cell measures, by the names that the image's `versions` have; none where what is
        measured is no program of the image."""

    def unseen(self, plan: Plan, study: dict, metrics: list[str]) -> dict[str, str]:
        """Those of the metrics that cannot be seen on this host, each with the reason."""

    def host_facts(self, machine: Topology) -> dict[str, str]:
        """What a machine is to this design, by name, in words: for the description of the host."""


class Attempts(Protocol):
    """`attempt`: how a run is made."""

    LIMITS_MEMORY: bool  # containers have limits of memory: what the kernel kills may have gone beyond its own
    LAUNCHES: bool  # several cells are measured in one launch: the design has `launch`, and otherwise `attempt`

    def others(self, cell: Cell) -> list:
        """What a run of a cell needs besides the environment that it is named by: environments, and other machines. Each can
        be asked to `examine` itself and to `revive`, as an environment can."""

    def attempt(self, given: Any) -> dict:
        """Make one attempt at a run (plimsoll.measuring.attempt.Attempt); what its record says: `status`, `reason`, and what
        was found."""

    def launch(self, given: Any) -> dict[str, dict]:
        """Make one attempt at all runs of a launch; what the record of each says, by cell. What the launch did not come to is
        left out."""


class Readings(Protocol):
    """`readings`: from a record to observations."""

    def observations(self, study: dict, row: dict, record: Record) -> list[dict]:
        """Observations of a record that counts, one row each; `row` holds what all of them have in common."""

    def of_run(self, record: Record) -> dict:
        """What the table of runs says of a record, beyond what all designs say."""

    def measuring(self, observations):
        """Those observations that are measurements: they are of runs that nothing watched."""

    def gather(self, study: dict, plan: Plan, name: str, folder: Path, runs: list[tuple[str, int]]) -> dict:
        """Tables that a figure needs beside its observations, by name; `folder` is the study's results."""


class Tests(Protocol):
    """`tests`: the study's own statistics."""

    def tests(self, study: dict, observations):
        """A table of tests, made as the study made them."""


class Contrasts(Protocol):
    """`contrasts`: what a claim compares."""

    def asking(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """A function from a claim to what it sets against each other on this host: contrasts, lists of sides along a trend, or
        printed values."""

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """The plan, once for each way to arrange what the paper leaves open, in words; each has only the cells that are
        arranged so. The words follow *with*: a finding holds with client and server on one core."""

    def unfit(self, cell: Cell) -> str | None:
        """Why a cell as it is arranged is no longer what its levels say, in words. A claim about it is not asked in this
        arrangement."""

    def lacks(self, plan: Plan) -> dict[str, str]:
        """What is not there of all that a claim may need (its `needs`) beyond the cells that it compares, in words.
        Environments are not among it: a cell of one that does not work here has a reason of its own."""

    def elsewhere(self, claim: dict) -> dict | None:
        """For a claim of which nothing can be compared here: the claim asked of other cells, which it may be about too; None if
        there are no such cells. The result says that they are others."""


class Tables(Protocol):
    """`tables`: the kinds of tables that a study may name."""

    KINDS: dict[str, Any]  # kind -> plimsoll.analysis.tables.Kind


class Report(Protocol):
    """`report`: what a study's page says."""

    TEMPLATE: str  # below plimsoll/designs
    GLOSSARY: tuple  # plimsoll.pages.glossary.Term, for the words that only this design's pages use

    def content(self, sources: Any, study: dict, plan: Plan, observations, runs, tests) -> dict:
        """What the template is told, beyond what all designs tell; `sources` are the paths that the page is made from
        (plimsoll.pages.report.Sources)."""

    def short(self, path: str, metric: dict) -> str:
        """A cell for people, in a comparison of a metric: parts that are separated by a comma and a space. The metric is empty
        where the cell as a whole is named."""

    def level(self, factor: str, name: str) -> str:
        """A level of a factor for people, also one that only claims name."""

    def row(self, levels: dict[str, str], path: str | None) -> str:
        """A row of the study's answer for people: its levels by factor, and its cell if it is one that was measured."""


class Figures(Protocol):
    """`figures`: what a figure is told."""

    def told(self, plan: Plan, study: dict, name: str) -> dict:
        """What a figure is told of the plan, beyond what all designs tell; `of_cell` names keys of each cell that it needs."""


class Design(NamedTuple):
    """A design by its name, which is that of its folder in `package`."""

    name: str
    package: str

    @property
    def factors(self) -> Factors:
        """Keys and columns."""
        return _module(self, "factors")

    @property
    def check(self) -> Check:
        """What checks files."""
        return _module(self, "check")

    @property
    def cells(self) -> Cells:
        """What plans."""
        return _module(self, "cells")

    @property
    def attempts(self) -> Attempts:
        """What measures."""
        return _module(self, "attempt")

    @property
    def readings(self) -> Readings:
        """What reads records."""
        return _module(self, "readings")

    @property
    def tests(self) -> Tests:
        """What tests."""
        return _module(self, "tests")

    @property
    def contrasts(self) -> Contrasts:
        """What claims compare."""
        return _module(self, "contrasts")

    @property
    def tables(self) -> Tables:
        """Kinds of tables."""
        return _module(self, "tables")

    @property
    def figures(self) -> Figures:
        """What figures are told."""
        return _module(self, "figures")

    def chart(self, name: str) -> Any:
        """The chart of that name (plimsoll.figures.chart.Chart), of those in the design's charts/; PlimsollError for none."""
        return registry.find(registry.members(_module(self, "charts"), "CHARTS"), "chart", name)

    @property
    def report(self) -> Report:
        """What the page says."""
        return _module(self, "report")


@cache
def _module(design: Design, name: str) -> ModuleType:
    return import_module(f"{design.package}.{design.name}.{name}")
