"""One file a runtime; each lists what it offers in RUNTIMES."""

from functools import cache

from plimsoll import registry
from plimsoll.runtimes.base import Runtime


@cache
def known() -> dict[str, Runtime]:
    """Every runtime by name."""
    import plimsoll.runtimes as package

    return registry.members(package, "RUNTIMES")


def find(name: str) -> Runtime:
    """The runtime of that name; PlimsollError if there is none."""
    return registry.find(known(), "runtime", name)
