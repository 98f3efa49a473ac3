"""What watches a run, one file an instrument; each lists what it offers in INSTRUMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.errors import PlimsollError
from plimsoll.instruments.base import Instrument


@cache
def known() -> dict[str, type[Instrument]]:
    """Every instrument by name."""
    import plimsoll.instruments as package

    return registry.members(package, "INSTRUMENTS")


def find(name: str) -> type[Instrument]:
    """The instrument of that name; PlimsollError if there is none."""
    if name not in known():
        raise PlimsollError(f"There is no instrument {name!r}; known are {', '.join(sorted(known()))}.")
    return known()[name]
