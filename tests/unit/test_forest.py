"""Forest plots of answers: where ratios lie, which direction is better, and what is left out."""

import itertools

import pytest
from plimsoll.pages import forest


def cell(ratio=None, low=None, high=None, better="higher", label="a metric") -> dict:
    return {"ratio": ratio, "low": low, "high": high, "better": better, "label": label, "n": 5.0, "mark": "", "none": "too few"}


def row(name: str, *cells: dict) -> dict:
    return {"name": name, "lacks": "", "cells": list(cells)}


def plotted(*rows: dict) -> dict:
    part = {"rows": list(rows), "lacking": []}
    return forest.with_plots([{"parts": [part]}])[0]["parts"][0]["plot"]


def test_better_lies_to_the_right_whichever_direction_a_metric_has():
    more, less = cell(2.0, 1.8, 2.2), cell(2.0, 1.8, 2.2, "lower")
    plot = plotted(row("a", more, less), row("b", cell(1.0, 0.9, 1.1), cell(0.5, 0.4, 0.6, "lower")))
    (a_more, a_less), (b_more, b_less) = ([one["drawn"] for one in own["cells"]] for own in plot["rows"])
    assert a_less["at"] < plot["one"] < a_more["at"] == b_less["at"]
    assert b_more["at"] == plot["one"] and plot["margin"][0] < plot["one"] < plot["margin"][1]
    # Equal distances from the baseline are as far away on both sides, and an interval lies around its ratio.
    assert a_more["at"] - plot["one"] == pytest.approx(plot["one"] - a_less["at"], abs=0.2)
    assert all(one["ends"][0] < one["at"] < one["ends"][1] for one in (a_more, a_less, b_more, b_less))
    assert a_more["said"] == "[1.80, 2.20], n = 5"


def test_the_axis_names_round_factors_that_do_not_overlap():
    plot = plotted(row("a", cell(0.037, 0.028, 0.049)), row("b", cell(1.05, 1.0, 1.1)))
    labels = [label for _, label in plot["steps"]]
    assert labels == ["÷16", "÷4", "1"]
    near = plotted(row("a", cell(0.98, 0.95, 1.01)), row("b", cell(1.02, 0.99, 1.05)))
    assert {label for _, label in near["steps"]} >= {"1", "÷1.1", "×1.1"}
    for shown in (plot, near):
        places = [place for place, _ in shown["steps"]]
        assert all(later - earlier >= forest.APART_IN_FEW for earlier, later in itertools.pairwise(places))


def test_an_interval_that_reaches_far_is_cut_and_says_so():
    plot = plotted(row("a", cell(0.9, 0.001, 800.0)), row("b", cell(1.0, 0.9, 1.1)))
    wide, narrow = (own["cells"][0]["drawn"] for own in plot["rows"])
    assert wide["over"] == (True, True) and wide["ends"] == [0, 100]
    assert narrow["over"] == (False, False)


def test_many_metrics_of_few_deployments_make_the_rows_and_what_has_no_ratio_is_left_out():
    metrics = [cell(0.9, 0.8, 1.0, "lower" if number % 2 else "higher", f"m{number}") for number in range(8)]
    plot = plotted(row("Docker", *metrics), row("VM", *(cell(label=one["label"]) for one in metrics)))
    assert [one["name"] for one in plot["columns"]] == ["Docker"] and plot["left_out"] == ["VM"]
    assert [(own["name"], own["note"]) for own in plot["rows"]][:2] == [("m0", "higher is better"), ("m1", "lower is better")]


def test_an_answer_without_any_ratio_has_a_plot_without_points():
    plot = plotted(row("a", cell()), row("b", cell()))
    assert [own["cells"][0]["drawn"] for own in plot["rows"]] == [None, None] and plot["left_out"] == []
