"""Runtimes, which start the nodes that programs run in: one file for each. Each file lists its runtimes in
RUNTIMES."""

from collections.abc import Iterable
from functools import cache

from plimsoll import registry
from plimsoll.errors import Unavailable
from plimsoll.runtimes.base import Runtime


@cache
def find(name: str) -> Runtime:
    """Return the runtime or the step of that name. Raise PlimsollError if there is none.

    Only its own file is imported if that says the name, because every run pays for it.
    """
    import plimsoll.runtimes as package

    if found := registry.only(package, "RUNTIMES", name):
        return found
    return registry.find(known_steps() if name in known_steps() else known(), "runtime", name)


def unavailable(names: Iterable[str]) -> dict[str, str]:
    """Return why runtimes do not work here, by name, without those that work."""
    reasons = {}
    for name in names:
        try:
            find(name).check()
        except Unavailable as reason:
            reasons[name] = str(reason)
    return reasons


@cache
def known() -> dict[str, Runtime]:
    """Return every runtime by name."""
    import plimsoll.runtimes as package

    return registry.members(package, "RUNTIMES")


@cache
def known_steps() -> dict[str, Runtime]:
    """Return the steps between this host and the default of a runtime, by name (plimsoll.runtimes.steps).

    They are runtimes that only studies of a user's program name. Their leftovers are removed with those of `known`.
    """
    from plimsoll.runtimes.steps import STEPS

    return {step.name: step for step in STEPS}
