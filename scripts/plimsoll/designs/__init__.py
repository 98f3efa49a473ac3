"""One file a design of experiments; each lists what it offers in DESIGNS. A study names the one that it follows."""

from functools import cache

from plimsoll import registry
from plimsoll.designs.base import Design


@cache
def known() -> dict[str, Design]:
    """Every design by name."""
    import plimsoll.designs as package

    return registry.members(package, "DESIGNS")


def find(name: str) -> Design:
    """The design of that name; PlimsollError if there is none."""
    return registry.find(known(), "design", name)
