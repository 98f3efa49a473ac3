"""How much ranks wait for memory because of each other (liu2020, section 4.4.3, after Tudor and Teo)."""

import numpy as np

from plimsoll.claims.quantities.relative_loss import OfFractions


def ratio(stalls: np.ndarray | float, alone: np.ndarray | float) -> np.ndarray | float:
    """Return the memory contention ratio omega: stall cycles due to contention divided by useful work cycles.

    Useful work cycles include the stall cycles that are not due to contention. Both arguments are stall cycles per work
    cycle, of all ranks together (`stalls`, under contention) and of one rank alone on one core (`alone`).

    Cycles are C = W + B + M: W of work, B of stalls that one rank alone has too, and M of stalls by contention. Omega
    is M / (W + B). With S = (B + M) / W and S1 = B / W that is (S - S1) / (1 + S1). The values are per work cycle
    because the problem grows with the number of ranks. The ratio is 0 without contention, and below 0 if ranks stall
    less together than alone. Raises ValueError for a negative number of stalls.
    """
    if np.any(np.asarray(stalls) < 0) or np.any(np.asarray(alone) < 0):
        raise ValueError("there cannot be fewer than no stall cycles")
    return (stalls - alone) / (1 + alone)


class MemoryContention(OfFractions):
    """The memory contention ratio of all ranks of a side together. Its reference is one rank alone."""

    name = "memory contention ratio"
    effect_in_words = "difference of contention ratios"
    shown_as = "number"
    change_as = "number"

    def fraction(self, value: np.ndarray, reference: np.ndarray, better: str) -> np.ndarray:
        return ratio(value, reference)


QUANTITIES = (MemoryContention(),)
