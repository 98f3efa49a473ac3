"""One file per environment that programs run in; each lists what it offers in ENVIRONMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.environments.base import Environment


@cache
def known() -> dict[str, Environment]:
    """Every environment by name."""
    import plimsoll.environments as package

    return registry.members(package, "ENVIRONMENTS")


def find(name: str) -> Environment:
    """The environment of that name; PlimsollError if there is none."""
    return registry.find(known(), "runtime", name)
