"""Instruments that watch a run, one file each. Each file lists what it offers in INSTRUMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.instruments.base import Instrument


@cache
def known() -> dict[str, type[Instrument]]:
    """Return every instrument by name."""
    import plimsoll.instruments as package

    return registry.members(package, "INSTRUMENTS")


def find(name: str) -> type[Instrument]:
    """Return the instrument of that name. Raise PlimsollError if no instrument has it."""
    return registry.find(known(), "instrument", name)
