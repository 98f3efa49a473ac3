"""What the workflow asks of a design of experiments: its cells, how one of them is measured, and what its records say.

Methods import what they need when they are called: measuring must not wait for what planning or analysing imports.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plimsoll import noise


@dataclass
class Attempt:
    """One attempt at a run: everything that a design needs to make it.

    `folder` takes its raw output, `temporary` is a short path for sockets, `account` the group that counts the processor time
    of this process and its children, `limits` what neighbours may use, `notes` the part of the record that is written so far.
    """

    identity: str
    plan: dict
    cell: dict
    image: dict
    folder: Path
    temporary: Path
    machine: noise.Machine
    account: Path | None
    limits: dict
    notes: dict


class Design(ABC):
    """`factors` are the keys of a cell that make up its path, in order; `sizes` other keys of it that every table of runs has,
    `of_observation` and `of_run` columns of observations and of runs that are no keys of the cell; `pattern` matches the paths;
    `tries_runtimes` says that each runtime is tried, and its features are listed, before anything is measured; `template` is
    the report's."""

    name: str
    factors: tuple[str, ...]
    sizes: tuple[str, ...] = ()
    of_observation: tuple[str, ...] = ()
    of_run: tuple[str, ...] = ()
    pattern: str
    tries_runtimes = False

    @abstractmethod
    def check(self, study: dict, source: str, refer: Callable[[str, list, list], None]) -> None:
        """Check each name in a study against what it refers to, and resolve what the file abbreviates.

        `refer(key, values, known)` raises PlimsollError for a value that is not known.
        """

    @abstractmethod
    def check_claim(self, study: dict, claim: dict, refer: Callable[[str, list, list], None]) -> None:
        """Check the levels that a claim names."""

    def repetitions(self, profile: dict) -> int:
        """Repetitions of each cell that a profile asks for."""
        return profile["repetitions"]

    @abstractmethod
    def wanted(
        self, study: dict, profile: dict, host: dict, config: dict, unavailable: dict[str, str]
    ) -> list[tuple[str, dict]]:
        """(experiment, cell) for every cell that an experiment wants, those that cannot be measured here as well."""

    def described(self, study: dict, host: dict) -> dict:
        """What else the plan holds."""
        return {}

    @abstractmethod
    def shown(self, plan: dict, study: dict, name: str) -> list[dict]:
        """The plan's cells that a figure or a table that is made from runs shows."""

    def unseen(self, plan: dict, study: dict, metrics: list[str]) -> dict[str, str]:
        """Those of the metrics that cannot be seen on this host, each with the reason."""
        return {}

    @abstractmethod
    def attempt(self, attempt: Attempt) -> dict:
        """Make one attempt; what its record says: `status`, `reason`, and what was found."""

    @abstractmethod
    def observations(self, study: dict, row: dict, found: dict) -> list[dict]:
        """Observations of a record that counts, a row each; `row` holds what all of them have in common."""

    def run(self, found: dict) -> dict:
        """What the table of runs says of a record (`of_run`), beyond what all designs say."""
        return {}

    def measuring(self, observations):
        """Those observations that are measurements, and not of runs that were watched."""
        return observations

    @abstractmethod
    def tests(self, study: dict, observations):
        """The study's own tests, a table."""

    @abstractmethod
    def asking(self, plan: dict, study: dict) -> Callable[[dict], list]:
        """A function from a claim to what it sets against each other on this host: contrasts, lists of sides along a trend, or
        printed values."""

    def lacks(self, plan: dict) -> dict[str, str]:
        """What a claim may need (its `needs`) beyond the cells that it compares and is not there, in words. A runtime is not
        among it: a cell of a runtime that does not work here has a reason of its own."""
        return {}

    def elsewhere(self, claim: dict) -> dict | None:
        """A claim of which nothing can be compared here, asked of other cells that it may be about too; None if there are none.
        The result says that it was."""
        return None

    def gather(self, study: dict, plan: dict, name: str, folder: Path, runs: list[tuple[str, int]]) -> None:  # noqa: B027
        """Put what a figure needs beside its observations, if anything, into figures/; `folder` is the study's results."""

    @abstractmethod
    def table(self, study: dict, name: str, folder: Path):
        """A table that is made from runs, with the paper's values beside ours; `folder` is the study's results."""

    def host_table(self, study: dict, name: str, host: dict, image: dict) -> list[dict]:
        """A table of the design or the host, a dictionary a row, with the paper's values beside ours; of studies with
        `paper_tables` only."""
        raise NotImplementedError

    @abstractmethod
    def short(self, path: str, metric: dict) -> str:
        """A cell for people, in a comparison of a metric: its path without what it has in common with most others."""

    @abstractmethod
    def notebook(self, plan: dict, study: dict, name: str) -> dict:
        """What the notebook of a figure is told of the plan, beyond what all designs tell."""

    @abstractmethod
    def report(self, folder: Path, study: dict, plan: dict, observations, runs, tests) -> dict:
        """What the template of the report is told, beyond what all designs tell."""

    template: str
