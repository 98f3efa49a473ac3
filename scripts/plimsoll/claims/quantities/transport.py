"""Claims about which transport carried the messages."""

from collections.abc import Mapping, Sequence

from plimsoll.claims.quantities.base import SHARE, Observations, Quantity
from plimsoll.claims.quantities.count import share
from plimsoll.claims.sides import Contrast
from plimsoll.errors import quote

# Transports that carry messages, as runs name them.
CARRIERS = ("shared memory", "TCP")


class Transport(Quantity):
    """Whether the transport that the claim names carried messages, counted in runs.

    It must have carried some messages in every run of each cell of side a, and none in any run of side b. Not all
    messages are required on side a, because ranks of one container share memory on both sides.
    """

    name = "transport"
    scale = SHARE
    effect_in_words = "share of the runs that agree"
    shown_as = "share"
    change_as = "points"
    says_sides = False
    needs = ("values.a",)

    def problem(self, claim: Mapping) -> str | None:
        """Return what is wrong with a claim, in words: `values.a` has to name one of CARRIERS."""
        lacking = super().problem(claim)
        if lacking or claim["values"]["a"] in CARRIERS:
            return lacking
        return f"values.a: {quote(claim['values']['a'])} is not one of {', '.join(CARRIERS)}"

    def rows(self, claim: dict, observations: Observations, contrasts: Sequence[Contrast], row, alpha: float) -> list[dict]:
        """Return one row per cell of either side."""
        wanted, rows = claim["values"]["a"], []
        for side, expected in (("a", f"carried by {wanted}"), ("b", f"not carried by {wanted}")):
            for path in sorted({getattr(contrast, side).cell for contrast in contrasts}):
                seen = observations.transports.get(path, [])
                count = sum((wanted in carried) == (side == "a") for carried in seen)
                rows.append({"metric": "transport", "cell_a": path, "expected": expected, **share(count, len(seen))})
        return rows

    def compare(self, claim: dict, observations: Observations, contrast, row: dict, alpha: float) -> dict:
        """Raise NotImplementedError. It is never called, because `rows` makes one row per cell."""
        raise NotImplementedError


QUANTITIES = (Transport(),)
