"""Finds the cells that a claim about a program compares (claims.matching)."""

from collections.abc import Callable

from plimsoll import design
from plimsoll.claims.matching import Matcher
from plimsoll.designs.program.factors import Factors, ProgramCell
from plimsoll.interchange import Plan


class Cells(Matcher):
    """The cells of a plan. Every metric is measured in all of them."""

    factors = Factors.FACTORS

    def __init__(self, plan: Plan):
        self.cells = list(plan["cells"].values())

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[ProgramCell]:
        """Return the cells with the wanted levels."""
        return [cell for cell in self.cells if all(cell[factor] in levels for factor, levels in wanted.items())]


class Contrasts(design.Contrasts):
    """Comparisons of a study of a program."""

    def comparison_finder(self, plan: Plan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares."""
        return Cells(plan).comparisons
