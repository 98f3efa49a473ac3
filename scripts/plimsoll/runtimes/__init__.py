"""Runtimes, which start the nodes that programs run in: one file for each. Each file lists its runtimes in
ENVIRONMENTS."""

from functools import cache

from plimsoll import registry
from plimsoll.runtimes.base import Runtime


@cache
def known() -> dict[str, Runtime]:
    """Return every runtime by name."""
    import plimsoll.runtimes as package

    return registry.members(package, "ENVIRONMENTS")


@cache
def known_steps() -> dict[str, Runtime]:
    """Return the steps between this host and the default of a runtime, by name (plimsoll.runtimes.steps).

    They are runtimes that only studies of a user's program name. Their leftovers are removed with those of `known`.
    """
    from plimsoll.runtimes.steps import STEPS

    return {step.name: step for step in STEPS}


def find(name: str) -> Runtime:
    """Return the runtime or the step of that name. Raise PlimsollError if there is none."""
    runtimes = known()
    return registry.find(runtimes if name in runtimes or name not in known_steps() else known_steps(), "runtime", name)
