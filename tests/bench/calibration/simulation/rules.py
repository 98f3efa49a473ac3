"""Worlds for the rules: one comparison with every noise, many comparisons by every rule, orders, and sentences of parts."""

from collections.abc import Iterator

import numpy as np

from tests.bench.calibration.claims import SIZE, claim, named, ruled, single
from tests.bench.calibration.simulation.worlds import World

BLOCKS = (3, 5, 10, 20)
SOUND = ("log-normal", "normal", "bimodal", "common disturbance", "drift of a session", "lasting deviations")
MARGIN = 0.05
UP, EDGE, DOWN, FAR = np.log1p(SIZE), np.log1p(MARGIN), np.log1p(-SIZE), np.log1p(0.3)
EFFECTS = (-0.2, -0.1, -0.05, 0.0, 0.02, 0.05, 0.07, 0.09, 0.1, 0.11, 0.15, 0.2, 0.3)


def comparisons() -> Iterator[World]:
    """Yield worlds of one comparison: four truths, every noise."""
    truths = {"no effect": 0.0, "at the margin": EDGE, "as claimed": UP, "the other way": DOWN}
    for noise in SOUND:
        for blocks in BLOCKS:
            for truth, effect in truths.items():
                yield World("one comparison", truth, (effect, 0.0), single([0], [1]), blocks, noise, draws=4000)


def curves() -> Iterator[World]:
    """Yield worlds of one comparison, and of the average of 16, by true effect: for power, and the answer about the size."""
    printed = (*single([0], [1]), claim("higher", [0], [1], **named(0.1, 0.2)))
    for blocks in BLOCKS:
        for effect in EFFECTS:
            level, truth = float(np.log1p(effect)), f"{effect:+.0%}"
            yield World("by effect", truth, (level, 0.0), printed, blocks, draws=4000)
            cells = list(range(16))
            averaged = (claim("higher", cells, [16], holds="average", **named()),)
            yield World("by effect", truth, (*[level] * 16, 0.0), averaged, blocks, reference="shared")


def several() -> Iterator[World]:
    """Yield worlds of 4, 16 and 64 comparisons by every rule."""
    for cells, blocks in ((4, 3), (4, 5), (4, 10), (4, 20), (16, 5), (16, 10), (64, 5)):
        for truth, levels in _of_many(cells).items():
            a, own = list(range(cells)), list(range(cells, 2 * cells))
            yield World("several", truth, (*levels, *[0.0] * cells), ruled(a, own), blocks, reference="own")
            if (cells, blocks) == (16, 5):
                yield World("several", truth, (*levels, 0.0), ruled(a, [cells]), blocks, reference="shared")


def _of_many(m: int) -> dict[str, list[float]]:
    """Return levels of side a, by truth. The last six are the worst cases: what a verdict asserts is just not true."""
    half, most = m // 2, m // 2 + 1
    return {
        "no effect": [0.0] * m,
        "as claimed": [UP] * m,
        "the other way": [DOWN] * m,
        "half an effect, half none": [UP] * half + [0.0] * half,
        "half up, half down": [UP] * half + [-UP] * half,
        "one the other way": [UP] * (m - 1) + [DOWN],
        "at the margin": [EDGE] * m,
        "one at the margin": [0.0] * (m - 1) + [EDGE],
        "all but one": [FAR] * (m - 1) + [0.0],
        "one too few for most": [FAR] * (most - 1) + [0.0] * (m - most + 1),
        "one too few against most": [-FAR] * (m - most) + [0.0] * most,
        "all but one the other way": [-FAR] * (m - 1) + [0.0],
    }


def orders() -> Iterator[World]:
    """Yield worlds of the best of four, and of an order of four."""
    truths = {
        "as claimed": (3 * UP, 2 * UP, UP, 0.0),
        "no effect": (0.0,) * 4,
        "two are alike": (6 * UP, 6 * UP, UP, -UP),
        "the last two are alike": (6 * UP, 3 * UP, 0.0, 0.0),
        "two change places": (UP, 3 * UP, 0.0, -UP),
    }
    cells = [{"cell": [cell]} for cell in range(4)]
    order = {key: value for key, value in claim("higher", [0]).items() if key != "a"}
    asked = (
        claim("higher", [0], [1, 2, 3], says="the best of four"),
        {**order, "order": cells, "says": "in this order"},
    )
    for blocks in BLOCKS:
        for truth, levels in truths.items():
            yield World("orders", truth, levels, asked, blocks)


def parts() -> Iterator[World]:
    """Yield worlds of a rule with an exception: three cells lose, and the fourth does not."""
    whole = claim("lower", [0, 1, 2], [4])
    rest = {"says": "the rest loses", "expected": "lower", "a": {"cell": [0, 1, 2]}, "holds": "each"}
    exception = {"says": "one does not", "expected": "not_lower", "a": {"cell": [3]}, "holds": "each"}
    asked = {**whole, "parts": [rest, exception], "says": "all but one"}
    truths = {
        "as claimed": (DOWN,) * 3 + (0.0,),
        "no effect": (0.0,) * 4,
        "one loses nothing": (-FAR, -FAR, 0.0, FAR),
        "the exception at the margin": (-FAR, -FAR, -FAR, np.log1p(-MARGIN)),
        "all at their limits": (0.0, 0.0, 0.0, np.log1p(-MARGIN)),
        "the exception loses too": (DOWN,) * 4,
    }
    for blocks in BLOCKS:
        for truth, levels in truths.items():
            yield World("parts", truth, (*levels, 0.0), (asked,), blocks)


def worlds() -> list[World]:
    """Return all worlds of this module."""
    return [*comparisons(), *curves(), *several(), *orders(), *parts()]
