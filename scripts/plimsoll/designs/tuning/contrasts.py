"""Finds the cells that a claim compares on this host.

A claim names strategies of side a and of side b, and metrics. Each metric belongs to data of one size. A claim that names no
runtime is about the first one of each experiment, so that a runtime that is added does not enter it.
"""

from collections.abc import Callable

from plimsoll import design
from plimsoll.claims.matching import Matcher
from plimsoll.claims.sides import Contrast
from plimsoll.designs.tuning.factors import TuningCell, TuningPlan
from plimsoll.planning import availability

# Size of the paper's smallest data (GB).
GIGABYTES = 2


class Cells(Matcher):
    """The cells of a plan, by the size of the data that a metric is about."""

    factors = ("runtime",)

    def __init__(self, plan: TuningPlan, study: dict):
        self.cells, self.known = list(plan["cells"].values()), study["metrics"]
        self.usual = {"runtime": [experiment["runtime"][0] for experiment in study["experiments"].values()]}

    def of(self, metric: str, wanted: dict[str, list[str]]) -> list[TuningCell]:
        """Return the cells with the wanted levels and with data of the metric's size."""
        size = self.known.get(metric, {}).get("source", "").partition(".")[0]
        wanted = {**self.usual, **wanted}
        return [
            cell
            for cell in self.cells
            if size in cell["sizes"] and all(cell[factor] in levels for factor, levels in wanted.items() if factor in cell)
        ]

    def find(self, claim: dict) -> list[Contrast]:
        """Return the contrasts of a claim. A pair is compared once, no matter which side names which cell."""
        if not all("strategy" in {**claim.get("scope", {}), **claim.get(side, {})} for side in ("a", "b")):
            return []
        pairs: dict[tuple, Contrast] = {}
        for contrast in super().find(claim):
            pairs.setdefault((contrast.a.metric, frozenset(contrast.cells)), contrast)
        return list(pairs.values())


class Contrasts(design.Contrasts):
    """Comparisons of a study of tuning."""

    def comparison_finder(self, plan: TuningPlan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares; the list is empty if a side names no strategy."""
        return Cells(plan, study).comparisons

    def unmet_needs(self, plan: TuningPlan) -> dict[str, str]:
        """Return what claims may need and the profile's data are too small for, in words."""
        least = min((size for cell in plan["cells"].values() for size in cell["sizes"].values()), default=0)
        if least >= GIGABYTES * 10**9:
            return {}
        longer = availability.in_time(plan, len(plan["cells"]), _seconds(plan, least), f"tuning.megabytes: {1000 * GIGABYTES}")
        return {
            "gigabytes": f"jobs on {GIGABYTES} GB or more: of one on {least / 1e6:.0f} MB most of the time is Hadoop's own, "
            f"few tasks run at once, and there is little to merge{longer}"
        }


def _seconds(plan: TuningPlan, least: float) -> float:
    """Return the seconds that a cell would take with data of GIGABYTES, if its time grew in proportion to the data."""
    expected = [cell["expected_seconds"] for cell in plan["cells"].values()]
    return sum(expected) / len(expected) * GIGABYTES * 1e9 / least
