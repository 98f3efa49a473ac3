"""Worlds for what comparisons share: a spread that others lend, and the vote of the metrics of one run."""

from collections.abc import Iterator

from plimsoll.analysis import spreads

from tests.bench.calibration.claims import claim, named, ruled, single
from tests.bench.calibration.simulation.noise import PER_RUN
from tests.bench.calibration.simulation.rules import BLOCKS, DOWN, EDGE, FAR, UP
from tests.bench.calibration.simulation.worlds import World

NOISES = ("log-normal", "spreads differ by 1.2", "spreads differ by 3", "bimodal")
# Cells besides the two that a claim compares.
OTHERS = 2 * spreads.ENOUGH
FEW, MANY = (4, 5), 64
RUNS = 4


def lent() -> Iterator[World]:
    """Yield worlds of one comparison among many, and of many: spreads are alike, differ, or are of two modes."""
    for noise in NOISES:
        for blocks in BLOCKS:
            for truth, effect in {"no effect": 0.0, "at the margin": EDGE, "as claimed": UP, "the other way": DOWN}.items():
                levels = (effect, *[0.0] * (1 + OTHERS))
                yield World("one of many cells", truth, levels, single([0], [1]), blocks, noise, draws=4000)
        for blocks in FEW:
            for truth, effect in {"no effect": 0.0, "at the margin": EDGE}.items():
                asked = ruled(list(range(MANY)), list(range(MANY, 2 * MANY)))
                levels = (*[effect] * MANY, *[0.0] * MANY)
                yield World("many cells", truth, levels, asked, blocks, noise, draws=1000)


def votes() -> Iterator[World]:
    """Yield worlds of four runs on each side, with three metrics of one benchmark and one of another: eight votes.

    In the last two, four votes of eight are for a claim of *most*, with 8 and with 12 of the 16 comparisons.
    """
    a, b = list(range(RUNS * PER_RUN)), list(range(RUNS * PER_RUN, 2 * RUNS * PER_RUN))
    asked = (
        claim("higher", a, b, holds="most"),
        claim("higher", a, b, holds="average"),
        claim("higher", a, b, holds="average", **named()),
        claim("no_difference", a, b, holds="average"),
    )
    half = RUNS * PER_RUN // 2
    truths = {
        "no effect": [0.0] * len(a),
        "at the margin": [EDGE] * len(a),
        "as claimed": [UP] * len(a),
        "the other way": [DOWN] * len(a),
        "half of the runs": [FAR] * half + [0.0] * half,
        "all but one metric of the first benchmark": [0.0, FAR, FAR, FAR] * RUNS,
    }
    for blocks in BLOCKS:
        for truth, levels in truths.items():
            drawn = (*levels, *[0.0] * len(b))
            yield World("metrics of one run", truth, drawn, asked, blocks, "metrics of one run", per_run=PER_RUN)


def worlds() -> list[World]:
    """Return all worlds of this module."""
    return [*lent(), *votes()]
