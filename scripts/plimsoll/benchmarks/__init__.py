"""One file a benchmark; each lists what it offers in BENCHMARKS."""

from plimsoll import registry
from plimsoll.benchmarks.base import Benchmark
from plimsoll.errors import PlimsollError


def known() -> dict[str, Benchmark]:
    """Every benchmark by name."""
    import plimsoll.benchmarks as package

    return registry.members(package, "BENCHMARKS")


def find(name: str) -> Benchmark:
    """The benchmark of that name; PlimsollError if there is none."""
    benchmarks = known()
    if name not in benchmarks:
        raise PlimsollError(f"There is no benchmark {name!r}; known are {', '.join(sorted(benchmarks))}.")
    return benchmarks[name]
