"""One file per quantity that a claim may be about; each lists what it offers in QUANTITIES."""

from functools import cache

from plimsoll import registry
from plimsoll.claims.quantities.base import Quantity


@cache
def known() -> dict[str, Quantity]:
    """Every quantity by the name that claims give it."""
    import plimsoll.claims.quantities as package

    return registry.members(package, "QUANTITIES")


def find(name: str | None) -> Quantity:
    """The quantity of that name; plain values for none. PlimsollError if there is none of that name."""
    return registry.find(known(), "quantity", name or "value")
