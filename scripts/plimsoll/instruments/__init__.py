"""What watches a run: one file per instrument. Each lists what it offers in INSTRUMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.instruments.base import Instrument


@cache
def known() -> dict[str, type[Instrument]]:
    """Every instrument by name."""
    import plimsoll.instruments as package

    return registry.members(package, "INSTRUMENTS")


def find(name: str) -> type[Instrument]:
    """The instrument of that name; PlimsollError if there is none."""
    return registry.find(known(), "instrument", name)
