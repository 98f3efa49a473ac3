"""Quantities that a claim may be about, on samples whose truth is known."""

import numpy as np
import pytest
from plimsoll.analysis.blocks import Sample
from plimsoll.analysis.spreads import NOTHING
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


@pytest.mark.parametrize("quantity", ["dispersion", "variation"])
def test_blocks_that_are_too_few_for_a_spread_were_measured_nevertheless(quantity):
    observed = Observed((50, 1), (100, 2))
    which = np.arange(1, 4)
    observed.samples = {name: Sample(one.values[:3], which, np.zeros(3, bool)) for name, one in observed.samples.items()}
    contrast = Contrast(Side("rate", "a"), Side("rate", "b"))
    row = quantities.find(quantity).compare({"cv": 0.1}, observed, contrast, {"expected": "lower"}, 0.05)
    assert (row["n"], row["test"]) == (3, "none: too few blocks with a spread") and "shown" not in row


@pytest.mark.parametrize(("a", "b", "p"), [(2.0, 1.0, 2 * 0.5**6), (1.0, 1.0, 1.0)])
def test_what_never_varies_is_tested_by_signs(a, b, p):
    observed = Observed((50, 1), (100, 2))
    which = np.arange(1, 7)
    observed.samples = {name: Sample(np.full(6, value), which, np.zeros(6, bool)) for name, value in (("a", a), ("b", b))}
    observed.lent = lambda contrast: NOTHING
    observed.summary = lambda metric, cell: None
    contrast = Contrast(Side("rate", "a"), Side("rate", "b"))
    row = quantities.find(None).compare({}, observed, contrast, {"expected": "higher"}, 0.05)
    assert row["p"] == pytest.approx(p) and row["test"].startswith("signs") and row["effect"] == pytest.approx(a / b - 1)


def test_metrics_are_set_against_each_other_if_the_sides_name_them():
    claim = {"metrics": ["x"], "a": {"metric": ["x", "y"]}, "b": {"metric": ["z"]}}
    assert contrasts.Cells({"cells": {}}, {}).compared_metrics(claim) == [("x", "z"), ("y", "z")]
    known = {name: {"benchmark": name} for name in ("x", "y")}
    cells, claim = contrasts.Cells({"cells": {}}, known), {"metrics": ["x", "y", "w"], "a": {}, "b": {}}
    assert cells.compared_metrics(claim) == [("x", "x"), ("y", "y")]
