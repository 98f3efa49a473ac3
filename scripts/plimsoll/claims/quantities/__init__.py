"""Quantities that a claim can be about: one file for each kind, which lists them in QUANTITIES."""

from functools import cache

from plimsoll import registry
from plimsoll.claims.quantities.base import Quantity


@cache
def known() -> dict[str, Quantity]:
    """Return every quantity by the name that claims use for it."""
    import plimsoll.claims.quantities as package

    return registry.members(package, "QUANTITIES")


def find(name: str | None) -> Quantity:
    """Return the quantity of this name, and plain values for None. Raises PlimsollError for an unknown name."""
    return registry.find(known(), "quantity", name or "value")
