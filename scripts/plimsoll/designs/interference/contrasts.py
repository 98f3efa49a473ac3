"""Find the views of cells that a claim about interference compares on this host (claims.matching).

A view is a microservice in a cell with its co-runner (`cells.views`). A claim names cases and co-runners for side a and
for side b, and levels that hold on both (`scope`). Each view of side a is compared with the views of side b that have
the same levels. Factors that the two sides name differently need not be the same. Claims name no runtime. They
are about the first one of each experiment, so that a runtime that is added enters none.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from plimsoll import design, workloads
from plimsoll.claims import book, quantities
from plimsoll.claims.matching import Levels, Matcher
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.interference.cells import BASELINE, CASES, NOBODY, views
from plimsoll.designs.interference.factors import (
    APART,
    BREAKING,
    FREE,
    OTHERS,
    PLACEMENTS,
    REST,
    SAME,
    SAME_CORE,
    InterferenceCell,
)
from plimsoll.interchange import Plan
from plimsoll.planning import availability

# Words by which a claim names all metrics.
EVERY = ("all", "interference_ratio")
# Window in seconds in which a microservice meets everything that its partner does, many times over. The papers' windows
# last two hours and 90 minutes.
LONG_WINDOW = 600


class Views(Matcher):
    """The views of a plan's cells in the first runtime of each experiment."""

    factors = ("case", "co_runner", "runtime")

    def __init__(self, plan: Plan, study: dict):
        first = {experiment["runtime"][0] for experiment in study["experiments"].values()}
        self.known, self.views = study["metrics"], [view for view in views(plan) if view["runtime"] in first]

    def of(self, metric: str, wanted: Levels) -> list[dict]:
        """Return the views of a metric's microservice with the `wanted` levels. A claim without a case is about pairs."""
        return [
            view
            for view in self.views
            if view["benchmark"] == self.known[metric]["benchmark"]
            and (view["co_runner"] != NOBODY or "case" in wanted)
            and all(self.has(view, factor, levels) for factor, levels in wanted.items())
        ]

    def has(self, cell: dict, factor: str, levels: Sequence[str]) -> bool:
        """Return whether a view has one of the levels. A word may name several co-runners. Every view has every statistic."""
        if factor == "statistic" or REST in levels:
            return True
        if factor != "co_runner" or cell["co_runner"] == NOBODY:
            return super().has(cell, factor, levels)
        shared = set(workloads.find(cell["benchmark"]).resources) & set(workloads.find(cell["co_runner"]).resources)
        return bool({cell["co_runner"], *(SAME if shared else OTHERS)} & set(levels))

    def compared_metrics(self, claim: dict) -> list[tuple[str, str]]:
        """Return the pairs of metrics to compare: each with itself.

        If the sides name different microservices, each metric of side a's is paired with each of side b's.
        """
        usual = [name for name, metric in self.known.items() if not metric.get("why")]
        named = [name for metric in claim["metrics"] for name in (usual if metric in EVERY else [metric])]
        metrics = [name for name in claim.get("scope", {}).get(book.METRIC, named) if name in self.known]
        if "benchmark" not in claim.get("a", {}):
            return [(name, name) for name in metrics]
        of_sides = (claim[side]["benchmark"] for side in ("a", "b"))
        return list(product(*([name for name in metrics if self.known[name]["benchmark"] in own] for own in of_sides)))

    def varying(self, claim: dict, metric_a: str, metric_b: str) -> set[str]:
        """Return the factors that the sides name differently. A microservice that runs alone has no co-runner to be alike."""
        alone = "case" in claim["b"] and all(map(_alone_in, claim["b"]["case"]))
        return super().varying(claim, metric_a, metric_b) | ({"co_runner"} if alone else set())

    def sides(self, claim: dict, metric: str, cell: dict) -> list[Side]:
        """Return a metric in a view as a side, relative to the microservice alone (case 1) if the claim is about losses."""
        if not quantities.find(claim.get("quantity")).relative:
            return [Side(metric, cell["path"])]
        alone = self.of(metric, {"case": [BASELINE]})[:1]
        return [Side(metric, cell["path"], one["path"], claim["quantity"]) for one in alone]

    def find(self, claim: dict) -> list[Contrast]:
        """Return the contrasts of a claim. If it compares statistics, the sides are two statistics of the same view.

        The co-runner `all others` of side b means every view that is not of side a.
        """
        if "statistic" in claim.get("a", {}):
            pairs = list(product(claim["a"]["statistic"], claim["b"]["statistic"]))
            return [Contrast(*(replace(side, quantity=one) for one in pair)) for side in self.alone(claim) for pair in pairs]
        contrasts = super().find(claim)
        if REST not in {**claim.get("scope", {}), **claim.get("b", {})}.get("co_runner", []):
            return contrasts
        of_a = {(side.metric, side.cell) for side in self.alone(claim)}
        return [one for one in contrasts if (one.b.metric, one.b.cell) not in of_a]


class Contrasts(design.Contrasts):
    """Comparisons of an interference study."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to its contrasts, without duplicates.

        The contrasts include those whose cells cannot be measured here.
        """
        return Views(plan, study).comparisons

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """Return the plan once for each placement of clients and servers, by the placement's description.

        Each plan has only the cells in that placement, and all cells without a server, which are the same in every
        placement. A plan without a server has the papers' placement.
        """
        cells = plan["cells"]
        placed = {path for path, cell in cells.items() if any(workloads.find(name).roles for name in cell["members"])}
        there = {cells[path]["placement"] for path in placed} or {FREE}
        plans = {}
        for name, words in PLACEMENTS.items():
            if name in there:
                kept = {path: cell for path, cell in cells.items() if path not in placed or cell["placement"] == name}
                plans[words] = {**plan, "cells": kept}
        return plans

    def unfit(self, cell: InterferenceCell) -> str | None:
        """Return why a cell's placement of client and server breaks the definition of its case; None if it does not.

        Cells without a server fit in every placement. Two members with servers share no core if each has its own.
        """
        served = [name for name in cell["members"] if workloads.find(name).roles]
        if len(served) == 2 and cell["placement"] == SAME_CORE and not CASES[cell["case"]]["limits"]:
            return APART
        return BREAKING.get((cell["case"], cell["placement"])) if served else None

    def unmet_needs(self, plan: Plan) -> dict[str, str]:
        """Return what claims may need and is unavailable here, in words, by the name of the need.

        - `own_program`: the papers' program, where another one stands in for it.
        - `long_windows`: windows long enough to show the papers' variation between iterations.
        """
        missing = {}
        if named := sorted({name for cell in plan["cells"].values() for name in cell["substitutes"].values()}):
            missing["own_program"] = f"{' and '.join(named)} itself, for which another program stands in here"
        windows = [cell["window_seconds"] for cell in plan["cells"].values() if cell["window_seconds"]]
        longest = max(windows, default=0)
        if 0 < longest < LONG_WINDOW:
            longer = availability.in_time(
                plan, len(windows), LONG_WINDOW, f"interference.protocol.window_seconds: {LONG_WINDOW}"
            )
            missing["long_windows"] = (
                f"windows of {LONG_WINDOW} s or more, as the papers' were of hours: how iterations vary within {longest:g} s "
                f"is another question{longer}"
            )
        return missing


def _alone_in(case: str) -> bool:
    """Return whether a case has a single microservice."""
    return sum(map(len, CASES[case]["containers"])) == 1
