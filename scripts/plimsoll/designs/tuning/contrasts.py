"""Finds the cells that a claim compares on this host.

A claim names strategies of side a and of side b, and metrics. Each metric belongs to data of one size.
"""

from collections.abc import Callable

from plimsoll import design
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.tuning.factors import TuningCell, TuningPlan
from plimsoll.planning import availability

# Size of the paper's smallest data (GB).
GIGABYTES = 2


class Contrasts(design.Contrasts):
    """Comparisons of a study of tuning."""

    def comparison_finder(self, plan: TuningPlan, study: dict) -> Callable[[dict], list]:
        """Return a function from a claim to what it compares; the list is empty if a side names no strategy."""
        cells = list(plan["cells"].values())

        def asked(claim: dict) -> list[Contrast]:
            a, b = ({**claim.get("scope", {}), **claim.get(side, {})} for side in ("a", "b"))
            if "strategy" not in a or "strategy" not in b:
                return []
            # A pair is compared once, no matter which side names which cell.
            contrasts: dict[tuple, Contrast] = {}
            for metric in claim["metrics"]:
                size = study["metrics"].get(metric, {}).get("source", "").partition(".")[0]
                for cell in _of(cells, a, size):
                    for other in _of(cells, b, size):
                        pair = frozenset((cell["path"], other["path"]))
                        if cell["runtime"] == other["runtime"] and len(pair) == 2:
                            sides = Side(metric, cell["path"]), Side(metric, other["path"])
                            contrasts.setdefault((metric, pair), Contrast(*sides))
            return list(contrasts.values())

        return asked

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


def _of(cells: list[TuningCell], wanted: dict[str, list[str]], size: str) -> list[TuningCell]:
    """Return the cells with the wanted levels and with data of a size."""
    return [
        cell
        for cell in cells
        if size in cell["sizes"] and all(cell[factor] in levels for factor, levels in wanted.items() if factor in cell)
    ]


def _seconds(plan: TuningPlan, least: float) -> float:
    """Return the seconds that a cell would take with data of GIGABYTES, if its time grew in proportion to the data."""
    expected = [cell["expected_seconds"] for cell in plan["cells"].values()]
    return sum(expected) / len(expected) * GIGABYTES * 1e9 / least
