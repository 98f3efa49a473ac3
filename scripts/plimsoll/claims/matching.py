"""Pairs the cells of a claim's two sides: what designs share in finding what a claim compares.

A claim names levels of side a, levels of side b, and levels of both (`scope`). Every cell of side a is compared with the
cells of side b that are like it in each factor that does not vary.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import product, starmap

from plimsoll.claims import book
from plimsoll.claims.sides import Contrast, Side
from plimsoll.interchange import Cell

Levels = Mapping[str, Sequence[str]]


def named_differently(claim: dict) -> set[str]:
    """Return the factors for which the sides name different levels. The others act like those of the scope."""
    a, b = claim.get("a", {}), claim.get("b", {})
    return {factor for factor in {*a, *b} if a.get(factor) != b.get(factor)}


class Matcher(ABC):
    """Finds the contrasts of claims in the cells of a plan. A design derives from it, and knows what levels mean."""

    @abstractmethod
    def of(self, metric: str, wanted: Levels) -> list[Cell]:
        """Return the cells with the `wanted` levels in which a metric is measured, whether they can be measured here or not."""

    @abstractmethod
    def others(self, cell: Cell, metric: str, wanted: Levels, varying: set[str]) -> list[Cell]:
        """Return the cells of a metric with the `wanted` levels that are like `cell` in each factor that does not vary."""

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

    def find(self, claim: dict) -> list[Contrast]:
        """Return the contrasts of a claim, without duplicates. Their cells may be unavailable here."""
        a, b = (_levels(claim, side) for side in ("a", "b"))
        contrasts: dict[Contrast, None] = {}
        for metric_a, metric_b in self.compared_metrics(claim):
            varying = self.varying(claim, metric_a, metric_b)
            for cell in self._without(claim, "except", metric_a, self.of(metric_a, a)):
                for other in self._without(claim, "except_b", metric_b, self.others(cell, metric_b, b, varying)):
                    if (metric_a, cell["path"]) != (metric_b, other["path"]):
                        sides = self.sides(claim, metric_a, cell), self.sides(claim, metric_b, other)
                        contrasts.update(dict.fromkeys(starmap(Contrast, product(*sides))))
        return list(contrasts)

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
