"""One file a benchmark; each lists what it offers in BENCHMARKS."""

from functools import cache

from plimsoll import registry
from plimsoll.benchmarks.base import Benchmark


@cache
def known() -> dict[str, Benchmark]:
    """Every benchmark by name."""
    import plimsoll.benchmarks as package

    return registry.members(package, "BENCHMARKS")


def find(name: str) -> Benchmark:
    """The benchmark of that name; PlimsollError if there is none."""
    return registry.find(known(), "benchmark", name)
