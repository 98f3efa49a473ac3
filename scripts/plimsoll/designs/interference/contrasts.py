"""Find the views of cells that a claim about interference compares on this host.

A view is a microservice in a cell with its co-runner (`cells.views`). A claim names cases and co-runners for side a and
for side b, and levels that hold on both (`scope`). Each view of side a is compared with the views of side b that have
the same levels. Factors that the two sides name differently need not be the same. Claims name no runtime. They
are about the first one of each experiment, so that a runtime that is added enters none.
"""

from collections.abc import Callable
from itertools import product

from plimsoll import design, workloads
from plimsoll.claims import book, quantities
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

# Factors in which the views of one microservice differ.
FACTORS = ("case", "co_runner", "runtime")
# Words by which a claim names all metrics.
EVERY = ("all", "interference_ratio")
# Window in seconds in which a microservice meets everything that its partner does, many times over. The papers' windows
# last two hours and 90 minutes.
LONG_WINDOW = 600


class Contrasts(design.Contrasts):
    """Comparisons of an interference study."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to its contrasts, without duplicates.

        The contrasts include those whose cells cannot be measured here.
        """
        first = {experiment["runtime"][0] for experiment in study["experiments"].values()}
        by_benchmark: dict[str, list[dict]] = {}
        for view in views(plan):
            if view["runtime"] in first:
                by_benchmark.setdefault(view["benchmark"], []).append(view)

        def asked(claim: dict) -> list[Contrast]:
            contrasts: dict[Contrast, None] = {}
            for metric_a, metric_b in _metrics(claim, study["metrics"]):
                # A microservice whose cells are not in the plan has no views.
                of_a, of_b = (by_benchmark.get(study["metrics"][name]["benchmark"], []) for name in (metric_a, metric_b))
                for contrast in _of_metrics(claim, metric_a, of_a, metric_b, of_b):
                    contrasts.setdefault(contrast)
            return list(contrasts)

        return asked

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


def _metrics(claim: dict, known: dict[str, dict]) -> list[tuple[str, str]]:
    """Return the pairs of metrics (a, b) that a claim compares.

    A metric is paired with itself. If the claim's sides name different microservices, each metric of side a's is paired
    with each of side b's.
    """
    a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
    usual = [name for name, metric in known.items() if not metric.get("why")]
    named = scope.get("metric") or [name for metric in claim["metrics"] for name in (usual if metric in EVERY else [metric])]
    metrics = [name for name in named if name in known]
    if "benchmark" not in a:
        return [(name, name) for name in metrics]
    on_a, on_b = ([name for name in metrics if known[name]["benchmark"] in side["benchmark"]] for side in (a, b))
    return list(product(on_a, on_b))


def _of_metrics(claim: dict, metric_a: str, of_a: list[dict], metric_b: str, of_b: list[dict]) -> list[Contrast]:
    a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
    # A factor with the same levels on both sides does not vary. It acts like one of the scope.
    alike = {factor for factor in a if a.get(factor) == b.get(factor)} - {"statistic"}
    varying = ({*a, *b} - alike) & set(FACTORS)
    if b.get("case") and all(_alone_in(case) for case in b["case"]):
        # A microservice that runs alone has no co-runner, so the co-runner that the other side names cannot be matched.
        varying.add("co_runner")
    side_a = [
        view
        for view in of_a
        if _is(view, {**scope, **a})
        and (view["co_runner"] != NOBODY or "case" in {**a, **scope})
        and not _left_out(view, book.as_list(claim, "except"))
    ]
    if quantities.find(claim.get("quantity")).one_side:
        return [Contrast(Side(metric_a, view["path"]), Side(metric_a, view["path"])) for view in side_a]
    pairs = []
    for view in side_a:
        for other in of_b:
            if (other is view and "statistic" not in a) or not _is(other, {**scope, **b}, beside=side_a):
                continue
            if _left_out(other, book.as_list(claim, "except_b")):
                continue
            if any(other[factor] != view[factor] for factor in FACTORS if factor not in varying):
                continue
            pairs += _sides(claim, metric_a, view, metric_b, other, of_a, of_b)
    return pairs


def _alone_in(case: str) -> bool:
    """Return whether a case has a single microservice."""
    return sum(map(len, CASES[case]["containers"])) == 1


def _left_out(view: dict, exceptions: list[dict]) -> bool:
    return any(_is(view, levels) for levels in exceptions)


def _is(view: dict, wanted: dict[str, list[str]], beside: list[dict] | None = None) -> bool:
    """Return whether a view has the `wanted` levels: case, benchmark, co-runner.

    For a co-runner, the word `all others` means every view that is not in `beside`, the views of the other side.
    """
    for factor in ("case", "benchmark"):
        if factor in wanted and view[factor] not in wanted[factor]:
            return False
    levels = wanted.get("co_runner")
    if levels is None:
        return True
    if REST in levels:
        return view not in (beside or [])
    if view["co_runner"] == NOBODY:
        return False
    shared = set(workloads.find(view["benchmark"]).resources) & set(workloads.find(view["co_runner"]).resources)
    return (
        view["co_runner"] in levels
        or (bool(shared) and bool(set(SAME) & set(levels)))
        or (not shared and bool(set(OTHERS) & set(levels)))
    )


def _sides(claim, metric_a, view, metric_b, other, of_a, of_b) -> list[Contrast]:
    """Return the contrasts of two views.

    If the claim is about losses, each side has the view's microservice alone (case 1) as its reference. If the claim
    compares statistics, the sides are two statistics of the same view.
    """
    if quantities.find(claim.get("quantity")).relative:
        sides = ((metric_a, view, of_a), (metric_b, other, of_b))
        return [Contrast(*(Side(metric, one["path"], _alone(of), claim["quantity"]) for metric, one, of in sides))]
    if "statistic" in claim.get("a", {}):
        pairs = product(claim["a"]["statistic"], claim["b"]["statistic"])
        return [
            Contrast(Side(metric_a, view["path"], None, one), Side(metric_b, other["path"], None, two))
            for one, two in pairs
            if view is other
        ]
    return [Contrast(Side(metric_a, view["path"]), Side(metric_b, other["path"]))]


def _alone(views_of: list[dict]) -> str:
    return next(view["path"] for view in views_of if view["case"] == BASELINE)
