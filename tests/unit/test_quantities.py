"""Quantities that a claim may be about, on samples whose truth is known."""

import numpy as np
import pytest
from plimsoll.analysis.blocks import Sample
from plimsoll.claims import quantities
from plimsoll.claims.sides import Contrast, Side
from plimsoll.designs.overhead import contrasts

BLOCKS, ITERATIONS = 60, 20


class Observed:
    """Observations of two cells, `a` and `b`, with normal values of these means and standard deviations."""

    metrics = {"rate": {"unit": "MB/s", "better": "higher"}}
    brief = True

    def __init__(self, a: tuple[float, float], b: tuple[float, float]):
        random = np.random.default_rng(7)
        which = np.repeat(np.arange(1, BLOCKS + 1), ITERATIONS)
        draw = {name: random.normal(*normal, len(which)) for name, normal in (("a", a), ("b", b))}
        self.samples = {name: Sample(values, which, np.zeros(len(which), bool)) for name, values in draw.items()}

    def single(self, metric, cell):
        return self.samples[cell]

    def sample(self, side):
        return self.samples[side.cell]


@pytest.mark.parametrize(
    ("quantity", "effect"),
    # Mean and standard deviation are both half as large, so the variability relative to the mean is the same.
    [("standard deviation", -0.5), ("dispersion", 0.0)],
)
def test_a_standard_deviation_is_compared_whatever_the_means(quantity, effect):
    contrast = Contrast(Side("rate", "a"), Side("rate", "b"))
    row = quantities.find(quantity).compare({}, Observed((50, 1), (100, 2)), contrast, {"expected": "lower"}, 0.05)
    assert row["n"] == BLOCKS and row["effect"] == pytest.approx(effect, abs=0.07)
    assert row["high"] - row["low"] < 0.15


def test_metrics_are_set_against_each_other_if_the_sides_name_them():
    claim = {"metrics": ["x"], "a": {"metric": ["x", "y"]}, "b": {"metric": ["z"]}}
    assert contrasts.Cells({"cells": {}}, {}).compared_metrics(claim) == [("x", "z"), ("y", "z")]
    known = {name: {"benchmark": name} for name in ("x", "y")}
    cells, claim = contrasts.Cells({"cells": {}}, known), {"metrics": ["x", "y", "w"], "a": {}, "b": {}}
    assert cells.compared_metrics(claim) == [("x", "x"), ("y", "y")]
