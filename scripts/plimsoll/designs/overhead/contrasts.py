"""Finds the cells that a claim compares on this host.

A claim names the levels of side a, the levels of side b, and the levels of both sides (`scope`). Every cell of side a is
compared with the cells of side b that are like it in all other factors. Factors for which the sides name different levels may
differ.
"""

from collections.abc import Callable
from itertools import product

from plimsoll import design
from plimsoll.claims import book, quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.overhead.factors import BARE, OWN, Factors, OverheadCell, OverheadPlan
from plimsoll.interchange import ABSENT
from plimsoll.planning import availability, virtual_machines

# Claims about variation over a day are tested with windows of minutes, and not with windows of seconds (s).
LONG_WINDOW = 600


class Contrasts(design.Contrasts):
    """Comparisons of a study of overhead."""

    def comparison_finder(self, plan: OverheadPlan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares; the list is empty for a claim without two sides."""
        cells = [cell for cell in plan["cells"].values() if cell["runtime"] != virtual_machines.EMULATED_MACHINE]

        def asked(claim: dict) -> list[Contrast]:
            a, b, scope = (claim.get(side, {}) for side in ("a", "b", "scope"))
            if not a or not b:
                return []
            # A factor for which both sides name the same levels works like one of the scope.
            varying = {factor for factor in {*a, *b} if a.get(factor) != b.get(factor)}
            if book.METRIC in varying:
                # A metric belongs to a benchmark, and only benchmarks of the disk have a storage.
                varying |= {"benchmark", "storage"}
            contrasts: dict[Contrast, None] = {}
            for of_a, of_b in _pairs(claim, study["metrics"], varying):
                for cell in _of(cells, study["metrics"][of_a], {**scope, **a}):
                    for other in _of(cells, study["metrics"][of_b], {**scope, **b}):
                        if (of_a == of_b and cell is other) or _left_out(claim, of_a, cell):
                            continue
                        if all(cell[factor] == other[factor] for factor in set(Factors.FACTORS) - varying):
                            contrasts.setdefault(Contrast(*(_side(claim, *one) for one in ((of_a, cell), (of_b, other)))))
            return list(contrasts)

        return asked

    def unmet_needs(self, plan: OverheadPlan) -> dict[str, str]:
        """Return what claims may need and this host does not have, or Plimsoll does not measure, in words."""
        missing = virtual_machines.unmet_needs(plan)
        if "second_host" not in plan:
            missing["remote_host"] = "another machine at the other end of the network (second_host in config/config.yaml)"
        longest = max((cell["window_seconds"] for cell in plan["cells"].values()), default=0)
        if longest < LONG_WINDOW:
            wanted = f"overhead.window_seconds and storage_window_seconds: {LONG_WINDOW}"
            missing["long_windows"] = (
                f"windows of {LONG_WINDOW} s or more, as the paper's were of a day: how iterations vary within {longest:g} s "
                f"is another question{availability.in_time(plan, len(plan['cells']), LONG_WINDOW, wanted)}"
            )
        missing["rotating_disk"] = "a disk that turns, over a day: nobody has said that this one does"
        return missing


def _pairs(claim: dict, known: dict[str, dict], varying: set[str]) -> list[tuple[str, str]]:
    """Return the pairs of metrics to compare: each with itself, unless the claim compares metrics or benchmarks."""
    a, b = (claim[side].get(book.METRIC) for side in ("a", "b"))
    if a and b:
        return list(product(a, b))
    metrics = [metric for metric in claim["metrics"] if metric in known]
    if "benchmark" not in varying:
        return [(metric, metric) for metric in metrics]
    return [(one, other) for one in metrics for other in metrics if known[one]["benchmark"] != known[other]["benchmark"]]


def _of(cells: list[OverheadCell], metric: dict, wanted: dict[str, list[str]]) -> list[OverheadCell]:
    """Return the cells with the wanted levels in which a metric is measured.

    If a claim names no storage, it is about each runtime's own storage.
    """
    wanted = {"storage": [OWN], **wanted, "benchmark": wanted.get("benchmark", [metric["benchmark"]])}
    return [
        cell
        for cell in cells
        if cell["benchmark"] == metric["benchmark"]
        and cell["benchmark"] in wanted["benchmark"]
        and cell["storage"] in (ABSENT, *wanted["storage"])
        and cell["runtime"] in wanted.get("runtime", [cell["runtime"]])
    ]


def _left_out(claim: dict, metric: str, cell: OverheadCell) -> bool:
    """Return whether the claim excludes a cell of side a and its metric (`except`)."""
    there = {**{factor: cell[factor] for factor in Factors.FACTORS}, "metric": metric}
    exceptions = book.listed(claim, "except")
    return any(all(there[factor] in levels for factor, levels in one.items()) for one in exceptions)


def _side(claim: dict, metric: str, cell: OverheadCell) -> Side:
    """Return a side, with bare metal as its reference if the claim is about losses."""
    if not quantities.find(claim.get("quantity")).relative:
        return Side(metric, cell["path"])
    return Side(metric, cell["path"], cell["path"].replace(f"/{cell['runtime']}", f"/{BARE}"), claim["quantity"])
