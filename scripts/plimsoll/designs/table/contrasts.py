"""Finds the cells that a claim about a table compares (claims.matching)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from plimsoll import design
from plimsoll.claims import quantities
from plimsoll.claims.matching import Matcher
from plimsoll.claims.sides import Contrast, PrintedSide, Side
from plimsoll.designs.table.factors import MACHINE, stored
from plimsoll.interchange import Cell, Plan

Levels = Mapping[str, Sequence[str]]


class Cells(Matcher):
    """The cells of a table, with the metrics that its rows have of each (`metrics` of a cell)."""

    def __init__(self, plan: Plan):
        self.cells = list(plan["cells"].values())
        self.factors = plan["factors"]

    def of(self, metric: str, wanted: Levels) -> list[Cell]:
        """Return the cells with the wanted levels of which rows have the metric."""
        own = (cell for cell in self.cells if metric in cell["metrics"])
        return [cell for cell in own if all(self.has(cell, factor, levels) for factor, levels in wanted.items())]

    def others(self, cell: Cell, metric: str, wanted: Levels, varying: set[str]) -> list[Cell]:
        """Return the cells with the wanted levels that are like `cell` in every factor that does not vary."""
        fixed = [factor for factor in self.factors if factor not in varying]
        return [one for one in self.of(metric, wanted) if all(one[factor] == cell[factor] for factor in fixed)]

    def has(self, cell: Cell, factor: str, levels: Sequence[str]) -> bool:
        """Return whether a cell has one of the levels, which are written as in the table."""
        return cell[factor] in map(stored, levels)

    def sides(self, claim: dict, metric: str, cell: Cell) -> list[Side]:
        """Return a metric in a cell as a side; for a claim about losses, once for each cell that the loss is relative to."""
        side = Side(metric, cell["path"])
        if "relative_to" not in claim:
            return [side]
        references = self.others(cell, metric, claim["relative_to"], set(claim["relative_to"]))
        return [replace(side, reference=one["path"], quantity=claim["quantity"]) for one in references]

    def alone(self, claim: dict) -> list[Cell]:
        """Return the cells of a claim without a second side, by metric."""
        return [(metric, cell) for metric in claim["metrics"] for cell in self.of(metric, _of_side_a(claim))]

    def trends(self, claim: dict) -> list[list[Side]]:
        """Return the sides along a factor, in the order of its levels, once for each combination of the other factors."""
        factor, groups = claim["along"]["factor"], defaultdict(list)
        for metric in claim["metrics"]:
            for level in claim["along"].get("levels") or in_order({cell[factor] for cell in self.cells}):
                for cell in self.of(metric, {**_of_side_a(claim), factor: [level]}):
                    key = (metric, *(cell[other] for other in self.factors if other != factor))
                    groups[key] += self.sides(claim, metric, cell)
        return list(groups.values())


def in_order(levels: set[str]) -> list[str]:
    """Return levels in their order: numbers by size, other texts by the alphabet."""

    def key(level: str) -> tuple:
        try:
            return (0, float(level), level)
        except ValueError:
            return (1, 0.0, level)

    return sorted(levels, key=key)


def _of_side_a(claim: dict) -> dict:
    return {factor: levels for factor, levels in {**claim.get("scope", {}), **claim.get("a", {})}.items() if factor != "metric"}


class Contrasts(design.Contrasts):
    """Comparisons of a table."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares: contrasts, sides along a trend, or printed values."""
        cells = Cells(plan)

        def asked(claim: dict) -> list:
            quantity = quantities.find(claim.get("quantity"))
            if "along" in claim:
                return cells.trends(claim)
            if quantity.printed:
                (value,) = claim["values"].values()
                return [PrintedSide(metric, cell["path"], value=value) for metric, cell in cells.alone(claim)]
            if quantity.one_side:
                sides = [Side(metric, cell["path"]) for metric, cell in cells.alone(claim)]
                return [Contrast(side, side) for side in sides]
            return cells.find(claim)

        return asked

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """Return one plan per machine, if the rows are of several: a claim is tested on each of them."""
        machines = in_order({cell.get(MACHINE, "") for cell in plan["cells"].values()})
        return {f"the machine {one}" if one else "": _on(plan, one) for one in machines} or {"": plan}


def _on(plan: Plan, machine: str) -> Plan:
    own = {path: cell for path, cell in plan["cells"].items() if cell.get(MACHINE, "") == machine}
    return {**plan, "cells": own}
