"""Which views of cells a claim about interference compares on this host.

A claim names cases and co-runners of side a and of side b, and what holds on both (`scope`). A view of side a is set against
those of side b that are like it in every factor that the two sides do not name differently.
"""

from collections.abc import Callable
from itertools import product

from plimsoll import workloads
from plimsoll.claims import book, quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.interference.cells import BASELINE, CASES, NOBODY, views
from plimsoll.designs.interference.factors import BREAKING, OTHERS, PLACEMENTS, REST, SAME, InterferenceCell
from plimsoll.interchange import Plan
from plimsoll.planning import availability

# Factors in which the views of one microservice differ.
FACTORS = ("case", "co_runner", "runtime")
# Words for metrics.
EVERY = ("all", "interference_ratio")
# Seconds in which a microservice runs many times beside all that its partner does. The papers' windows are of two hours and of
# 90 minutes.
LONG_WINDOW = 600


def asking(plan: Plan, study: dict) -> Callable[[dict], list]:
    """A function from a claim to its contrasts, including those of cells that cannot be measured here."""
    by_benchmark: dict[str, list[dict]] = {}
    for view in views(plan):
        by_benchmark.setdefault(view["benchmark"], []).append(view)

    def asked(claim: dict) -> list[Contrast]:
        contrasts: dict[Contrast, None] = {}
        for metric_a, metric_b in _metrics(claim, study["metrics"]):
            of_a = by_benchmark[study["metrics"][metric_a]["benchmark"]]
            of_b = by_benchmark[study["metrics"][metric_b]["benchmark"]]
            for contrast in _of_metrics(claim, metric_a, of_a, metric_b, of_b):
                contrasts.setdefault(contrast)
        return list(contrasts)

    return asked


def _metrics(claim: dict, known: dict[str, dict]) -> list[tuple[str, str]]:
    """Pairs of metrics to set against each other: a metric against itself, unless the sides are of different microservices."""
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
    # Named alike on both sides, a factor is like a scope's.
    alike = {factor for factor in a if a.get(factor) == b.get(factor)} - {"statistic"}
    varying = ({*a, *b} - alike) & set(FACTORS)
    if b.get("case") and all(_alone_in(case) for case in b["case"]):
        # A microservice that runs alone has no co-runner, whoever the claim names on the other side.
        varying.add("co_runner")
    side_a = [
        view
        for view in of_a
        if _is(view, {**scope, **a})
        and (view["co_runner"] != NOBODY or "case" in {**a, **scope})
        and not _left_out(view, book.listed(claim, "except"))
    ]
    if quantities.find(claim.get("quantity")).one_side:
        return [Contrast(Side(metric_a, view["path"]), Side(metric_a, view["path"])) for view in side_a]
    pairs = []
    for view in side_a:
        for other in of_b:
            if (other is view and "statistic" not in a) or not _is(other, {**scope, **b}, beside=side_a):
                continue
            if _left_out(other, book.listed(claim, "except_b")):
                continue
            if any(other[factor] != view[factor] for factor in FACTORS if factor not in varying):
                continue
            pairs += _sides(claim, metric_a, view, metric_b, other, of_a, of_b)
    return pairs


def _alone_in(case: str) -> bool:
    """Whether a case has one microservice."""
    return sum(map(len, CASES[case]["containers"])) == 1


def _left_out(view: dict, exceptions: list[dict]) -> bool:
    return any(_is(view, levels) for levels in exceptions)


def _is(view: dict, wanted: dict[str, list[str]], beside: list[dict] | None = None) -> bool:
    """Whether a view has these levels. `all others` are those that are not `beside`, on the other side."""
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
    """The contrast of two views; of their losses relative to case 1 where the claim is about those, or of two statistics."""
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


def arrangements(plan: Plan) -> dict[str, Plan]:
    """One for each placement of clients and servers. What has no server is the same in all of them."""
    cells = plan["cells"]
    placed = {path for path, cell in cells.items() if any(workloads.find(name).roles for name in cell["members"])}
    plans = {}
    for name, words in PLACEMENTS.items():
        if any(cell["placement"] == name for cell in cells.values()):
            kept = {path: cell for path, cell in cells.items() if path not in placed or cell["placement"] == name}
            plans[words] = {**plan, "cells": kept}
    return plans


def unfit(cell: InterferenceCell) -> str | None:
    """Why a placement of clients and servers breaks what the case of a cell is, in words."""
    served = any(workloads.find(name).roles for name in cell["members"])
    return BREAKING.get((cell["case"], cell["placement"])) if served else None


def lacks(plan: Plan) -> dict[str, str]:
    """What claims may need and is not here, in words: a program that another one stands in for; windows in which what varies
    from one iteration to the next is what varied in the papers."""
    missing = {}
    if named := sorted({paper_s for cell in plan["cells"].values() for paper_s in cell["substitutes"].values()}):
        missing["own_program"] = f"{' and '.join(named)} itself, for which another program stands in here"
    windows = [cell["window_seconds"] for cell in plan["cells"].values() if cell["window_seconds"]]
    longest = max(windows, default=0)
    if 0 < longest < LONG_WINDOW:
        longer = availability.in_time(plan, len(windows), LONG_WINDOW, f"interference.protocol.window_seconds: {LONG_WINDOW}")
        missing["long_windows"] = (
            f"windows of {LONG_WINDOW} s or more, as the papers' were of hours: how iterations vary within {longest:g} s "
            f"is another question{longer}"
        )
    return missing


def elsewhere(claim: dict) -> dict | None:
    """None: a claim about interference is asked of no other cells."""
    return None
