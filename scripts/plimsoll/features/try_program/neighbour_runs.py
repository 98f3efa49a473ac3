"""What `--beside` adds to a study: runs with a neighbour, on this host, and in runtimes whose containers stay up."""

from collections.abc import Sequence

from plimsoll import runtimes
from plimsoll.designs.program.factors import ALONE, HOST, OTHER, SAME
from plimsoll.designs.program.words import level


def experiments(first: Sequence[str], defaults: Sequence[str]) -> dict[str, dict]:
    """Return the experiments with a neighbour. `first` are the runtimes of the first pass."""
    kept = [name for name in defaults if runtimes.find(name).services]
    one = [*([HOST] if HOST in first else []), *kept]
    places = {ALONE: one, SAME: one, OTHER: kept}
    return {stage: {"section": "ours", "runtime": names} for stage, names in places.items() if names}


def left_out(defaults: Sequence[str]) -> str | None:
    """Return a sentence about runtimes in which no neighbour is measured; None if there are no such runtimes."""
    names = [level("runtime", name) for name in defaults if not runtimes.find(name).services]
    return f"--beside leaves out: {', '.join(names)}. No container stays up there for two programs." if names else None
