"""Finds the cells that a claim about a table compares (claims.matching)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from plimsoll import design
from plimsoll.claims.matching import Levels, Matcher
from plimsoll.claims.sides import Side
from plimsoll.designs.table.factors import MACHINE, stored
from plimsoll.interchange import Cell, Plan


class Cells(Matcher):
    """The cells of a table, with the metrics that its rows have of each (`metrics` of a cell)."""

    def __init__(self, plan: Plan):
        self.cells = list(plan["cells"].values())
        self.factors = plan["factors"]

    def of(self, metric: str, wanted: Levels) -> list[Cell]:
        """Return the cells with the wanted levels of which rows have the metric."""
        own = (cell for cell in self.cells if metric in cell["metrics"])
        return [cell for cell in own if all(self.has(cell, factor, levels) for factor, levels in wanted.items())]

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

    def steps(self, along: dict) -> list[Levels]:
        """Return the levels of each step of a trend: those that the claim names, or all in their order."""
        levels = along.get("levels") or in_order({cell[along["factor"]] for cell in self.cells})
        return super().steps({**along, "levels": levels})


def in_order(levels: set[str]) -> list[str]:
    """Return levels in their order: numbers by size, other texts by the alphabet."""

    def key(level: str) -> tuple:
        try:
            return (0, float(level), level)
        except ValueError:
            return (1, 0.0, level)

    return sorted(levels, key=key)


class Contrasts(design.Contrasts):
    """Comparisons of a table."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares: contrasts, sides along a trend, or printed values."""
        return Cells(plan).comparisons

    def arrangements(self, plan: Plan) -> dict[str, Plan]:
        """Return one plan per machine, if the rows are of several: a claim is tested on each of them."""
        machines = in_order({cell.get(MACHINE, "") for cell in plan["cells"].values()})
        return {f"the machine {one}" if one else "": _on(plan, one) for one in machines} or {"": plan}


def _on(plan: Plan, machine: str) -> Plan:
    own = {path: cell for path, cell in plan["cells"].items() if cell.get(MACHINE, "") == machine}
    return {**plan, "cells": own}
