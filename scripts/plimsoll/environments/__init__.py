"""Runtimes, which start the nodes that programs run in: one file for each. Each file lists its runtimes in
ENVIRONMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.environments.base import Environment


@cache
def known() -> dict[str, Environment]:
    """Return every runtime by name."""
    import plimsoll.environments as package

    return registry.members(package, "ENVIRONMENTS")


def find(name: str) -> Environment:
    """Return the runtime of that name. Raise PlimsollError if there is none."""
    return registry.find(known(), "runtime", name)
