"""The smallest study: one metric of which higher is better, and one of which lower is, in cells that are numbers.

A study may have several metrics of each run. Claims then number the metrics of all runs, run by run.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from plimsoll import design
from plimsoll.analysis.spreads import NOTHING
from plimsoll.claims import evaluate, quantities, verdicts
from plimsoll.claims.quantities.value import Value
from plimsoll.claims.sides import Contrast, PrintedSide, Side
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config.studies import Study

METRIC, TIME = "measured", "time"
# Benchmarks of a run that has several metrics.
FIRST, LAST = "first", "last"
# Verdict if a claim is reproduced, or contradicted, only in some arrangements.
IN_PART = "in part"
ALPHA = 0.05


def contrasts(claim: dict) -> Iterator[tuple[int, int, int | None]]:
    """Yield (cell of side a, cell of side b, cell of their reference) for each comparison of a claim.

    An order compares each entry with the next.
    """
    if "a" not in claim:
        for a, b in pairwise(claim["order"]):
            yield a["cell"][0], b["cell"][0], None
        return
    a, b = claim["a"]["cell"], claim.get("b", claim["a"])["cell"]
    number = max(len(a), len(b))
    reference = claim.get("relative_to", {"cell": [None]})["cell"][0]
    for one, other in zip(a * (number // len(a)), b * (number // len(b)), strict=True):
        yield one, other, reference


def asking(plan: dict, study: dict):
    """Return the function from a claim to its comparisons that a design offers (StudyObservations gets it from the study)."""

    def asked(claim: dict) -> list:
        if "along" in claim:
            return [[Side(metric_of(plan, cell), cell_of(plan, cell)) for cell in claim["along"]["cells"]]]
        if quantities.find(claim.get("quantity")).printed:
            return [
                PrintedSide(metric_of(plan, cell), cell_of(plan, cell), value=claim["value"]) for cell in claim["a"]["cell"]
            ]
        of = {side: claim.get(side, {}).get("statistic", claim.get("quantity", "")) for side in "ab"}
        found = []
        for a, b, reference in contrasts(claim):
            before = None if reference is None else cell_of(plan, reference)
            sides = (Side(metric_of(plan, cell), cell_of(plan, cell), before, of[side]) for cell, side in ((a, "a"), (b, "b")))
            found.append(Contrast(*sides))
        return found

    return asked


def metric_of(plan: dict, number: int) -> str:
    """Return the metric of the values with this number."""
    return plan["numbered"][number][0]


def cell_of(plan: dict, number: int) -> str:
    """Return the cell of the values with this number."""
    return plan["numbered"][number][1]


class Contrasts(design.Contrasts):
    """Comparisons of the simulated study."""

    comparison_finder = staticmethod(asking)


class Simulated(design.Design):
    """Design of the simulated study. Its cells are numbers, and all of them can be measured."""

    contrasts = Contrasts()
    factors = design.Factors()
    cells = SimpleNamespace(unavailable_metrics=lambda plan, study, names: {})


DESIGN = Simulated(__name__)


def study_of(numbers: int, unit: str = "", times: tuple[int, ...] = (), per_run: int = 1) -> tuple[Study, dict]:
    """Return the study and its plan. In the cells of `times` lower is better.

    If a run has several metrics (`per_run`), the last one is of another benchmark than the others.
    """
    metrics = {METRIC: {"label": METRIC, "unit": unit, "better": "higher"}}
    if times:
        metrics[TIME] = {"label": TIME, "unit": unit, "better": "lower"}
    numbered = [(TIME if cell in times else METRIC, str(cell)) for cell in range(numbers)]
    if per_run > 1:
        benchmarks = {f"{METRIC}{one}": FIRST if one + 1 < per_run else LAST for one in range(per_run)}
        metrics = {name: {**metrics[METRIC], "benchmark": benchmark} for name, benchmark in benchmarks.items()}
        numbered = [(f"{METRIC}{number % per_run}", str(number // per_run)) for number in range(numbers)]
    planned = {cell: {"reason": None} for _, cell in numbered}
    plan = {"factors": ["cell"], "cells": planned, "numbered": numbered}
    return Study({"id": "simulated", "metrics": metrics}, DESIGN), plan


def of_values(table: pd.DataFrame) -> StudyObservations:
    """Return the observations for a table of values: rows are blocks, columns are cells from 0 on. A value may be missing."""
    long = table.rename_axis("repetition").reset_index().melt("repetition", var_name="cell").dropna()
    long = long.assign(metric=METRIC, cell=long["cell"].astype(str), censored=False)
    return StudyObservations(*study_of(len(table.columns)), long, pd.DataFrame())


def arranged(claim: dict) -> list[dict]:
    """Return a claim in each arrangement of what its paper leaves open. `arranged` in it has the sides of each.

    A claim without `arranged` is returned as it is.
    """
    return [{**claim, **sides} for sides in claim.get("arranged", [{}])]


def _asked(claim: dict, observations: StudyObservations) -> evaluate.Finders:
    ask = asking(observations.plan, observations.study)
    of_each = enumerate(claim.get("arranged", [{}]))
    return {str(number): lambda of, sides=sides: ask({**of, **sides}) for number, sides in of_each}


class Judged(NamedTuple):
    """Result of one claim in one draw. The interval is of the average, or of the only comparison, as an effect.

    `each` is the verdict in each arrangement of what the paper leaves open. `alike` says of a difference that stays
    inconclusive whether all of it is shown to be small.
    """

    verdict: str
    size: str
    low: float
    high: float
    each: tuple[str, ...] = ()
    alike: bool = False

    @property
    def told(self) -> str:
        """The verdict, or IN_PART if only some arrangements have it."""
        return IN_PART if verdicts.in_part(self.verdict, self.each) else self.verdict


def judged(
    claim: dict, observations: StudyObservations, alpha: float = ALPHA, lending: bool = False
) -> tuple[dict, list[dict]]:
    """Return the result of a claim and its comparisons, by the function that judges the papers' claims.

    The paper's own procedure is left out: it is shown beside a comparison, decides nothing, and would take most of the
    time. Spreads are lent only on request (plimsoll.analysis.spreads).
    """
    alone = mock.patch.object(StudyObservations, "lent", lambda self, contrast: NOTHING)
    with nullcontext() if lending else alone, mock.patch.object(Value, "by_the_paper", lambda self, a, b, alpha: {}):
        return evaluate.one(claim, observations, _asked(claim, observations), alpha)


def whole(claim: dict, observations: StudyObservations, lending: bool = False) -> Judged:
    """Return the result of a claim as Judged."""
    result, rows = judged(claim, observations, lending=lending)
    if result["arrangements"]:
        # Each arrangement has an interval of its own.
        each = tuple(arranged["verdict"] for arranged in result["arrangements"].values())
        return Judged(result["verdict"], result["size"], np.nan, np.nan, each)
    told = result.get("whole") or (rows[0] if len(rows) == 1 else {})
    alike = result["alike"] is not None and "parts" not in claim
    return Judged(result["verdict"], result["size"], told.get("low", np.nan), told.get("high", np.nan), alike=alike)
