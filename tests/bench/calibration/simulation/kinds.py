"""Worlds for the quantities that claims may be about."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy import special

from tests.bench.calibration.claims import claim, named
from tests.bench.calibration.simulation import worlds as made
from tests.bench.calibration.simulation.rules import BLOCKS, DOWN, EDGE, UP
from tests.bench.calibration.simulation.worlds import SPREAD, World

WIDER = np.log(1.25)


def fractions() -> Iterator[World]:
    """Yield worlds of losses, and of memory contention ratios, with two sides and a shared reference."""
    for quantity, values, levels in (
        ("relative loss", made.speed, lambda more: (np.log(0.8 - more), np.log(0.8), 0.0)),
        ("memory contention ratio", made.stalls, lambda more: (np.log(2 + 2 * more), np.log(2.0), 0.0)),
    ):
        asked = tuple(
            claim(expected, [0], [1], relative_to={"cell": [2]}, quantity=quantity)
            for expected in ("higher", "no_difference", "not_higher")
        )
        for blocks in BLOCKS:
            for truth, more in (("no effect", 0.0), ("at the margin", 0.05), ("as claimed", 0.1), ("the other way", -0.1)):
                yield World(quantity, truth, levels(more), asked, blocks, values=values)


def spreads(
    iterations: tuple[int, ...] = (6, 1), noises: tuple[str, ...] = ("log-normal", "bimodal", "skewed")
) -> Iterator[World]:
    """Yield worlds of spreads: of two sides, and of one against a number, with several iterations in a block or one."""
    two = tuple(claim(expected, [0], [1], quantity="dispersion") for expected in ("higher", "no_difference", "not_higher"))
    one = tuple(claim(e, [0], quantity="variation", cv=SPREAD) for e in ("higher", "no_difference", "not_higher"))
    truths = {"no effect": 0.0, "at the margin": WIDER, "as claimed": np.log(2), "the other way": -np.log(2)}
    for number, noise, blocks in product(iterations, noises, BLOCKS):
        for truth, more in truths.items():
            name = f"spread, {number} in a block"
            common = {"values": made.spreading, "iterations": number}
            yield World(name, truth, (more, 0.0), (*two, *one), blocks, noise, **common)


def shares() -> Iterator[World]:
    """Yield worlds of a printed share, in the middle and near 0 and 1, with noise of log odds, and of the share itself."""
    for printed in (0.02, 0.5, 0.98):
        asked = (claim("no_difference", [0], quantity="printed value", value=printed),)
        for values, spread in ((made.share, 0.2), (made.rough_share, 0.2)):
            for blocks in BLOCKS:
                for truth, factor in (("no effect", 1.0), ("at the margin", 1.5), ("the other way", 3.0)):
                    level = (float(special.logit(printed) + np.log(factor)),)
                    name = f"printed value {printed}"
                    yield World(name, truth, level, asked, blocks, values=values, spread=spread, reference=values.__name__)


def statistics() -> Iterator[World]:
    """Yield worlds of the mean against the median of a block's values, where they are the same, and of few and many events."""
    sides = {"a": {"cell": [0], "statistic": "mean"}, "b": {"cell": [0], "statistic": "median"}}
    asked = ({**claim("no_difference", [0]), **sides},)
    for blocks in BLOCKS:
        yield World("mean and median", "no effect", (0.0,), asked, blocks, iterations=9)
    counted = tuple(claim(expected, [0], [1], counts=True) for expected in ("higher", "no_difference"))
    for mean in (1, 3, 30):
        for blocks in BLOCKS:
            for truth, factor in (("no effect", 1.0), ("as claimed", 2.0), ("the other way", 0.5)):
                levels = (float(np.log(mean * factor)), float(np.log(mean)))
                yield World(f"events, {mean} a run", truth, levels, counted, blocks, values=made.events)


def directions() -> Iterator[World]:
    """Yield worlds of averages over two metrics of which higher is better, and two of which lower is.

    Better values have the same sign in all of them.
    """
    a, b = [0, 1, 2, 3], [4, 5, 6, 7]
    asked = (
        claim("better", a, b, holds="average"),
        claim("better", a, b, holds="average", **named()),
        claim("no_difference", a, b, holds="average"),
    )
    truths = {
        "no effect": (0.0, 0.0),
        "at the margin": (EDGE, -EDGE),
        "as claimed": (UP, -UP),
        "the other way": (DOWN, -DOWN),
        "half better, half worse": (UP, UP),
    }
    for blocks in BLOCKS:
        for truth, (speed, time) in truths.items():
            levels = (*[speed] * 2, *[time] * 2, *[0.0] * 4)
            yield World("mixed directions", truth, levels, asked, blocks, times=(2, 3, 6, 7))


SIGNS = {"no effect": (0.0, (False, False)), "as claimed": (UP, (True, False)), "the other way": (-UP, (False, True))}
# Share of the runs that agree with a claim. The claim asserts that all do, and `contradicted` that fewer than half do.
AGREEING = {
    "all runs": (1.0, (True, False)),
    "nine runs of ten": (0.9, (False, False)),
    "half of the runs": (0.5, (False, False)),
    "no run": (0.0, (False, True)),
}


def without_differences() -> Iterator[World]:
    """Yield worlds without differences to test: trends, runs at their limit, counts and transports run by run.

    The field `sound` of their claims says what is true, and each draw goes through evaluate.one.
    """
    along = {"factor": "cell", "direction": "increasing", "cells": [0, 1, 2, 3]}
    for blocks in BLOCKS:
        for truth, (effect, sound) in SIGNS.items():
            plain = claim("higher", [0], [1], sound=sound)
            yield World("trend", truth, tuple(effect * step for step in range(4)), ({**plain, "along": along},), blocks)
            yield World("at their limit", truth, (effect, 0.0), (plain,), blocks, limit=104.0)
        for truth, (share, sound) in AGREEING.items():
            counted = claim("higher", [0], [1], quantity="count", sound=sound)
            yield World("count", truth, (share, 0.0), (counted,), blocks, values=made.above_or_below)
            carried = claim("higher", [0], [1], quantity="transport", values={"a": "shared memory"}, sound=sound)
            yield World("transport", truth, (share, 0.0), (carried,), blocks, values=made.agreeing)


def worlds() -> list[World]:
    """Return all worlds of this module."""
    first = [*fractions(), *spreads(), *shares(), *statistics(), *without_differences(), *spreads((2,), ("log-normal",))]
    return [*first, *directions()]
