"""What other measurements of a study found of its differences, as intervals."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scipy import special

from plimsoll.analysis import blocks, independence
from plimsoll.claims import quantities
from plimsoll.claims.quantities.base import RATIO
from plimsoll.features.time_budget.claim_parts import Part, compared

# Confidence that a difference is as large as other measurements say. It only decides how often a comparison is repeated.
SURE = 0.8
# Interval of a difference that is not known.
NOWHERE = (-math.inf, math.inf)


class Estimate(NamedTuple):
    """A measured difference on the scale of the test, with its standard error and degrees of freedom."""

    middle: float
    error: float
    degrees: int

    def interval(self, sure: float) -> tuple[float, float]:
        """Return the ends of an interval of the difference.

        It is above the lower end with a confidence of `sure`, and below the upper end with the same confidence.
        """
        half = special.stdtrit(self.degrees, sure) * self.error
        return self.middle - half, self.middle + half


class OtherMeasurements:
    """What other measurements of a study found of its differences."""

    def __init__(self, parts: Iterable[Part] = ()):
        self.estimates: dict[tuple, Estimate] = {}
        for part in parts:
            # A comparison with a printed value reports a difference of shares and tests a difference of log odds.
            if quantities.find(part.result["quantity"] or None).printed:
                continue
            known = [(compared(row), row) for row in part.rows] + [((), part.average)] * bool(part.average)
            scale = part.rows[0]["scale"]
            own = {what: one for what, one in known if has_differences(part, one) and _is_measured(one)}
            self.estimates |= {(part.name, what): _estimate(one, scale) for what, one in own.items()}

    def of(self, part: Part, row: Mapping | None, among: int = 1) -> tuple[float, float]:
        """Return the interval of a comparison of a part, or of its average (for None); NOWHERE if nothing is known.

        It is wider for the most extreme one `among` several, which is so far off partly by chance.
        """
        estimate = self.estimates.get((part.name, compared(row) if row else ()))
        return estimate.interval(1 - (1 - SURE) / among) if estimate else NOWHERE


def _is_measured(row: Mapping) -> bool:
    return row["n"] >= blocks.SMALLEST and math.isfinite(row["effect"])


def _estimate(row: Mapping, scale: str) -> Estimate:
    middle = math.log1p(row["effect"]) if scale == RATIO else row["effect"]
    return Estimate(middle, row["deviation"] / math.sqrt(row["n"]), int(independence.degrees(row["n"])))


def has_differences(part: Part, row: Mapping) -> bool:
    """Return whether a comparison is tested by differences within blocks. Trends, counts and runs at their limit are not."""
    return "along" not in part.result["asked"] and (math.isfinite(row["deviation"]) or row["n"] < blocks.SMALLEST)
