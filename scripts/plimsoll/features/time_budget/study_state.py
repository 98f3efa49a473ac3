"""A study as far as it is measured: its claims' parts, the ratios of its answer, their noise, and the blocks that they need."""

from itertools import count
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from plimsoll import paths
from plimsoll.analysis import collect
from plimsoll.claims import book, evaluate
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study
from plimsoll.features.time_budget import answer_needs, claim_parts, metric_noise, needs, other_measurements
from plimsoll.features.time_budget.allocation import LEAST, Need
from plimsoll.interchange import Cell, Plan
from plimsoll.measuring import plan_file, record, status
from plimsoll.planning.availability import SMALLEST
from plimsoll.terminal import measured_runs


class StudyState(NamedTuple):
    """A study as far as it is measured.

    - `results`, `rows`: results of the claims, and comparisons.
    - `parts`: the parts of each testable claim.
    - `ratios`: the ratios of the study's answer.
    - `noise`: the noise of both.
    - `clear`: claims that are decided so clearly that they need no more blocks (needs.CLEAR).
    """

    plan: Plan
    results: list[dict]
    rows: pd.DataFrame
    runs: pd.DataFrame
    parts: dict[str, list[claim_parts.Part]]
    noise: metric_noise.Noise
    clear: list[str]
    alpha: float
    ratios: dict[str, claim_parts.Part]

    def asked(self, other: "StudyState | None") -> needs.BlockNeeds:
        """Return the blocks that claims need to be decided.

        The noise is that of these measurements; metrics that they hardly measured take that of `other` measurements.
        The size of differences comes from the `other` measurements. Differences that these measurements found are never
        used.
        """
        noise = self.noise.or_else(other.noise) if other else self.noise
        return needs.of_claims(self.parts, self.clear, noise, self.alpha, other and other.elsewhere)

    def of_answer(self, other: "StudyState | None") -> list[Need]:
        """Return the blocks that the ratios of the answer need, in their order. Noise and differences are those of `asked`."""
        noise = self.noise.or_else(other.noise) if other else self.noise
        return answer_needs.wanted(self.ratios, noise, self.alpha, LEAST, other and other.elsewhere)

    @property
    def answered(self) -> int:
        """Number of ratios of the answer that are known."""
        return sum(min(row["n"] for row in part.rows) >= SMALLEST for part in self.ratios.values())

    @property
    def elsewhere(self) -> other_measurements.OtherMeasurements:
        """The differences that these measurements found, for use by other measurements."""
        return other_measurements.OtherMeasurements(
            [*(part for each in self.parts.values() for part in each), *self.ratios.values()]
        )

    def soonest(self, other: "StudyState | None") -> list[Need]:
        """Return the blocks that claims need if noise and differences are as `other` measurements found them.

        Empty without these.
        """
        if other is None:
            return []
        wanted = needs.of_claims(self.parts, self.clear, other.noise, self.alpha, other.elsewhere).needs
        return [need.at_least(LEAST) for need in wanted]


def judge(folder: Path, study: Study) -> StudyState:
    """Judge a study by its results in a folder."""
    plan = plan_file.read(folder / "plan.json")
    return of_tables(study, plan, *_tables(folder, plan))


def reference(study: Study, plan: Plan, own: Path | None = None) -> StudyState | None:
    """Judge the reference measurements of a study, restricted to cells of this machine's plan. Return None without such
    measurements.

    Return None too if they were made from the same runs as the study's `own` results, because they are no independent
    data then.
    """
    folder = paths.REFERENCES / study["id"]
    if not is_measured(folder):
        return None
    observations, runs = _tables(folder, plan)
    if own and is_measured(own) and _started(runs) & _started(runs_of(own, plan)):
        print(f"plimsoll: {study['id']}: the reference measurements are of these very runs, so they are not used.", flush=True)
        return None
    return of_tables(study, plan, observations, runs)


def recorded(folder: Path, plan: Plan) -> dict[str, int]:
    """Return the blocks of each cell that a study's folder has records of, such as those of one figure. Empty without any.

    Only runs that count are counted, up to the first that is missing or was measured otherwise than the plan says.
    """
    cells = (cell for cell in plan["cells"].values() if cell["reason"] is None)
    found = {cell["path"]: _runs_that_count(folder, cell) // cell.get("per_block", 1) for cell in cells}
    return found if any(found.values()) else {}


def _runs_that_count(folder: Path, cell: Cell) -> int:
    return next(number for number in count() if not _counts(folder, cell, number + 1))


def _counts(folder: Path, cell: Cell, repetition: int) -> bool:
    path = record.path_of(folder / "runs", cell["path"], repetition)
    return measured_runs.of_record(str(path), cell["fingerprint"]) in status.COUNTED


def _started(runs: pd.DataFrame) -> set[float]:
    """Return the times at which runs were started. They identify the runs."""
    return set(runs["started"].dropna()) if "started" in runs else set()


def of_nothing(study: Study, plan: Plan) -> StudyState:
    """Judge a study as if nothing were measured: its parts are all that can be tested here."""
    nothing = pd.DataFrame(columns=["metric", *plan["factors"], "value", "repetition", "censored"])
    return of_tables(study, plan, nothing, pd.DataFrame())


def of_tables(study: Study, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame) -> StudyState:
    """Judge a study by its tables of observations and of runs."""
    measured, claims = StudyObservations(study, plan, observations, runs, brief=True), book.load(study["id"])
    results, rows = evaluate.evaluate(claims, measured, study["alpha"])
    strictly, _ = evaluate.evaluate(claims, measured, needs.CLEAR)
    parts = claim_parts.parts_of(results, rows, measured.metrics)
    ratios = answer_needs.parts(measured, study["alpha"])
    pooled = [*(part for each in parts.values() for part in each), *ratios.values()]
    noise = metric_noise.Noise(pooled, plan, study.design.factors.OF_NOISE)
    return StudyState(plan, results, rows, runs, parts, noise, needs.clear(strictly), study["alpha"], ratios)


def _tables(folder: Path, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    return collect.table(folder / "observations.csv", plan["factors"]), runs_of(folder, plan)


def runs_of(folder: Path, plan: Plan) -> pd.DataFrame:
    """Return the runs that a folder of results has, one row per run."""
    return collect.table(folder / "runs.csv", plan["factors"])


def is_measured(folder: Path) -> bool:
    """Return whether a folder has results of a study."""
    return (folder / "runs.csv").exists()
