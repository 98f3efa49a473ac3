"""Finds what a claim compares in the cells of a plan: what designs share.

A claim names levels of side a, levels of side b, and levels of both (`scope`). Every cell of side a is compared with the
cells of side b that are like it in each factor that does not vary. Some claims are about a trend along a factor, about
printed values, or about the cells of side a alone.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product, starmap

from plimsoll.claims import book, quantities
from plimsoll.claims.sides import Contrast, PrintedSide, Side
from plimsoll.interchange import Cell

Levels = Mapping[str, Sequence[str]]


def named_differently(claim: dict) -> set[str]:
    """Return the factors for which the sides name different levels. The others act like those of the scope."""
    a, b = claim.get("a", {}), claim.get("b", {})
    return {factor for factor in {*a, *b} if a.get(factor) != b.get(factor)}


class Matcher(ABC):
    """Finds what claims compare in the cells of a plan. A design derives from it, and knows what levels mean.

    `factors` are those in which the cells of two sides are alike, unless they vary.
    """

    factors: Sequence[str]

    @abstractmethod
    def of(self, metric: str, wanted: Levels) -> list[Cell]:
        """Return the cells with the `wanted` levels in which a metric is measured, whether they can be measured here or not."""

    def others(self, cell: Cell, metric: str, wanted: Levels, varying: set[str]) -> list[Cell]:
        """Return the cells of a metric with the `wanted` levels that are like `cell` in each factor that does not vary."""
        fixed = [factor for factor in self.factors if factor not in varying]
        return [other for other in self.of(metric, wanted) if all(other[factor] == cell[factor] for factor in fixed)]

    def factor(self, named: str) -> str:
        """Return the factor of cells that a claim calls by this name."""
        return named

    def compared_metrics(self, claim: dict) -> list[tuple[str, str]]:
        """Return the pairs of metrics to compare: each with itself, unless the sides name metrics."""
        a, b = (claim.get(side, {}).get(book.METRIC) for side in ("a", "b"))
        return list(product(a, b)) if a and b else [(metric, metric) for metric in claim["metrics"]]

    def varying(self, claim: dict, metric_a: str, metric_b: str) -> set[str]:
        """Return the factors in which cells of the two sides may differ."""
        return named_differently(claim) - {book.METRIC}

    def has(self, cell: Cell, factor: str, levels: Sequence[str]) -> bool:
        """Return whether a cell has one of the levels of a factor; false if it does not have the factor."""
        return cell.get(factor) in levels

    def sides(self, claim: dict, metric: str, cell: Cell) -> list[Side]:
        """Return a metric in a cell as a side, once for each cell that it is relative to; empty if that is missing."""
        return [Side(metric, cell["path"])]

    def steps(self, along: dict) -> list[Levels]:
        """Return the levels of each step of a trend."""
        return [{along["factor"]: [level]} for level in along.get("levels", [])]

    def comparisons(self, claim: dict) -> list:
        """Return what a claim compares: the sides of each trend, printed values, or contrasts.

        A claim about one side has contrasts of cells with themselves.
        """
        quantity = quantities.find(claim.get("quantity"))
        if "along" in claim:
            return self.trends(claim)
        if quantity.printed:
            return self.printed(claim)
        return [Contrast(side, side) for side in self.alone(claim)] if quantity.one_side else self.find(claim)

    def find(self, claim: dict) -> list[Contrast]:
        """Return the contrasts of a claim, without duplicates. Their cells may be unavailable here.

        The list is empty for a claim without two sides.
        """
        contrasts: dict[Contrast, None] = {}
        b = _levels(claim, "b")
        if not (claim.get("a") and claim.get("b")):
            return []
        for metric_a, metric_b in self.compared_metrics(claim):
            varying = self.varying(claim, metric_a, metric_b)
            for cell in self._side_a(claim, metric_a):
                for other in self._without(claim, "except_b", metric_b, self.others(cell, metric_b, b, varying)):
                    if (metric_a, cell["path"]) != (metric_b, other["path"]):
                        sides = self.sides(claim, metric_a, cell), self.sides(claim, metric_b, other)
                        contrasts.update(dict.fromkeys(starmap(Contrast, product(*sides))))
        return list(contrasts)

    def alone(self, claim: dict) -> list[Side]:
        """Return each metric of a claim in each cell of side a."""
        metrics = [metric for metric, _ in self.compared_metrics(claim)]
        return [Side(metric, cell["path"]) for metric in metrics for cell in self._side_a(claim, metric)]

    def printed(self, claim: dict) -> list[PrintedSide]:
        """Return the printed value of a claim with each cell of side a."""
        (value,) = claim["values"].values()
        return [PrintedSide(side.metric, side.cell, value=value) for side in self.alone(claim)]

    def trends(self, claim: dict) -> list[list[Side]]:
        """Return the sides of a claim along a factor, step by step, once for each combination of the other factors.

        Two steps may have the same cell, which then counts once.
        """
        along, groups = claim["along"], defaultdict(dict)
        fixed = [factor for factor in self.factors if factor != self.factor(along["factor"])]
        for metric, step in product(claim["metrics"], self.steps(along)):
            for cell in self.of(metric, {**_levels(claim, "a"), **step}):
                for side in self.sides(claim, metric, cell):
                    groups[metric, *(cell[factor] for factor in fixed)][side] = None
        return [list(sides) for sides in groups.values()]

    def _side_a(self, claim: dict, metric: str) -> list[Cell]:
        return self._without(claim, "except", metric, self.of(metric, _levels(claim, "a")))

    def _without(self, claim: dict, key: str, metric: str, cells: list[Cell]) -> list[Cell]:
        """Return the cells that match none of a claim's exceptions. An exception is a combination of levels."""

        def is_left_out(cell: Cell, levels: Levels) -> bool:
            return all(
                metric in named if factor == book.METRIC else self.has(cell, factor, named) for factor, named in levels.items()
            )

        exceptions = book.as_list(claim, key)
        return [cell for cell in cells if not any(is_left_out(cell, levels) for levels in exceptions)]


def _levels(claim: dict, side: str) -> Levels:
    named = {**claim.get("scope", {}), **claim.get(side, {})}
    return {factor: levels for factor, levels in named.items() if factor != book.METRIC}
