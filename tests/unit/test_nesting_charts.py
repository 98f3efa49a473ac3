"""Charts and tables of nesting: measured values, the paper's values beside them, and what is missing."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plimsoll.analysis.tables import TableRequest
from plimsoll.claims.study_observations import StudyObservations
from plimsoll.config import studies
from plimsoll.designs.nesting import run_tables, statistics, words
from plimsoll.designs.nesting.charts import lines
from plimsoll.figures import render
from plimsoll.planning import planner

from tests.conftest import built
from tests.unit.test_charts import check, drawn

BLOCKS = 5


@pytest.fixture
def amaral2015() -> studies.Study:
    return built("amaral2015")


@pytest.fixture
def plan(amaral2015, config, small_host) -> dict:
    return planner.make(amaral2015, studies.profile("quick"), small_host, config, {})


def observed(plan: dict, study: dict) -> pd.DataFrame:
    """Return observations: as many seconds as there are containers, with a little noise. Creating nested containers
    takes ten times as long."""
    random, rows = np.random.default_rng(0), []
    for cell in plan["cells"].values():
        if cell["reason"]:
            continue
        instances = 1 if cell["task"] == "network" else int(cell["instances"])
        number = instances * (10 if cell["runtime"] == "docker-nested" and cell["task"] == "creation" else 1)
        for name, metric in study["metrics"].items():
            if cell["task"] in metric["task"]:
                described = {key: metric[key] for key in ("label", "unit", "better")}
                levels = {factor: cell[factor] for factor in plan["factors"]}
                for block in range(1, BLOCKS + 1):
                    value = number * random.normal(1, 0.02)
                    rows.append({**levels, "metric": name, **described, "value": value, "repetition": block, "censored": False})
    return pd.DataFrame(rows)


def test_what_was_observed_of_a_cell_is_found_by_its_path(plan, amaral2015):
    measured = StudyObservations(amaral2015, plan, observed(plan, amaral2015), pd.DataFrame())
    for path, cell in plan["cells"].items():
        there = {name for name in amaral2015["metrics"] if len(measured.single(name, path).values) == BLOCKS}
        wanted = {name for name, metric in amaral2015["metrics"].items() if cell["task"] in metric["task"]}
        assert there == (set() if cell["reason"] else wanted), path


@pytest.fixture
def shown(amaral2015, plan):
    def shown(name, change=lambda table: table):
        of_figure = amaral2015.design.cells.shown(plan, amaral2015, name)
        own = {**plan, "cells": {cell["path"]: cell for cell in of_figure}}
        return render.figure_data(amaral2015, plan, name, change(observed(own, amaral2015)), {})

    yield shown
    plt.close("all")


@pytest.mark.parametrize("name", ["fig03", "fig04", "fig05", "switches", "parts"])
def test_every_figure_can_be_read(shown, name):
    figure = drawn(shown(name))
    check(figure.figure)
    assert f"{BLOCKS} runs" in figure.caption
    assert "nan" not in figure.caption + figure.alternative


@pytest.mark.parametrize("name", ["fig03", "fig04", "fig05", "switches", "parts"])
def test_a_figure_without_a_valid_run_is_drawn_all_the_same(shown, name):
    drawn(shown(name, lambda table: table.iloc[:0]))


def test_slowdowns_are_relative_to_one_instance_on_bare_metal_in_the_same_block(plan, amaral2015):
    table = observed(plan, amaral2015)
    of_metric = table[table["metric"] == "execution_time"]
    # In this block everything takes three times as long.
    of_metric.loc[of_metric["repetition"] == 2, "value"] *= 3
    slow = statistics.slowdowns(of_metric)
    alone = slow[(slow["runtime"] == "bare") & (slow["instances"] == "1")]
    assert (alone["value"] == 1).all() and set(slow["unit"]) == {"ratio"}
    assert slow[slow["instances"] == "8"]["value"].between(7, 9).all()
    without = of_metric[~((of_metric["runtime"] == "bare") & (of_metric["instances"] == "1") & (of_metric["repetition"] == 2))]
    assert set(statistics.slowdowns(without)["repetition"]) == {1, 3, 4, 5}


def test_lines_are_in_the_order_of_numbers_and_means_are_of_the_runs(shown):
    figure = drawn(shown("fig03"))
    numbers = figure.summary[figure.summary["runtime"] == "bare"]
    assert list(numbers["instances"]) == ["1", "2", "4", "8"]
    # Lines are drawn a little beside each other.
    beside = [line for line in figure.figure.axes[0].get_lines() if len(line.get_xdata()) == 4]
    (line,) = [line for line in beside if line.get_label() == "Bare metal"]
    assert np.allclose(line.get_xdata() / line.get_xdata()[0], [1, 2, 4, 8]) and 0.9 < line.get_xdata()[0] < 1.1
    assert np.allclose(line.get_ydata(), numbers["mean"])
    assert "the profile ends at 8 instances" in figure.caption


def test_the_alternative_text_compares_lines_by_their_growth_and_their_beginning():
    def line(*means):
        return pd.DataFrame({"instances": ["1", "16", "2"][: len(means)], "mean": means})

    said = lines.comparison({"A": line(2.0, 8.0, 9.0), "B": line(1.0, 5.0, 1.0), "C": line(3.0)}, "instances")
    assert said == "Grows most: B, from 1 to 16 (×5.0). Grows least: A, from 1 to 16 (×4.0). At 1, farthest from A: B (×0.50)."
    assert lines.comparison({"C": line(3.0), "D": line()}, "instances") == "Nothing to compare."


def test_creation_and_the_time_until_programs_begin_have_a_panel_each(shown):
    figure = drawn(shown("fig04"))
    labels = [axis.get_ylabel().replace("\n", " ") for axis in figure.figure.axes]
    assert labels == ["creation time (s)", "time until the last program begins (s)"]
    # The boot time is a part of the second panel's time.
    dotted = [[line for line in axis.get_lines() if line.get_marker() == "_"] for axis in figure.figure.axes]
    assert not dotted[0] and {line.get_linestyle() for line in dotted[1]} == {":"}
    assert "Dotted: from the command" in figure.caption
    without = drawn(shown("fig04", lambda table: table[table["metric"] != "boot_time"]))
    assert "Dotted" not in without.caption


def test_the_paper_s_values_are_beside_ours(shown):
    axis = drawn(shown("fig04")).figure.axes[0]
    broken = [line for line in axis.get_lines() if line.get_linestyle() == "--" and len(line.get_xdata()) == 9]
    assert [list(line.get_ydata())[:2] for line in broken] == [[9, 15]]
    axis = drawn(shown("fig05")).figure.axes[0]
    broken = [line for line in axis.get_lines() if line.get_linestyle() == "--"]
    assert sorted(len(line.get_xdata()) for line in broken) == list(range(1, 10))


def test_parts_stand_above_each_other(shown):
    figure = drawn(shown("parts"))
    bars = figure.figure.axes[0].patches
    assert "1 x 1\npreloaded" in [label.get_text() for label in figure.figure.axes[0].get_xticklabels()]
    first = [bar for bar in bars if round(bar.get_x() + bar.get_width() / 2) == 0]
    assert len(first) == 5
    for below, above in itertools.pairwise(first):
        assert above.get_y() == pytest.approx(below.get_y() + below.get_height())


def test_table_1_has_the_paper_s_rows_with_ours_or_a_reason(plan, amaral2015, tmp_path, monkeypatch):
    monkeypatch.setattr(TableRequest, "plan", plan)
    monkeypatch.setattr(TableRequest, "observations", lambda asked: observed(plan, amaral2015).query("task == 'creation'"))
    table = run_tables.creation(TableRequest(amaral2015, "table01", tmp_path)).set_index(["parents", "children_per_parent"])
    assert len(table) == 45 and table.loc[(1, 1), "paper_mean"] == 9
    assert table.loc[(4, 1), "mean"] == pytest.approx(40, rel=0.05) and table.loc[(4, 1), "not_here"] == ""
    assert table.loc[(8, 1), "not_here"].startswith("the profile ends at 4") and table.loc[(8, 1)].isna()["mean"]


def test_cells_are_told_in_words():
    assert words.cell("cpu/bare/1/0", {}) == "Bare metal, 1 instance"
    assert words.cell("creation/docker-nested/4/2", {}) == "Nested Docker containers, 4 parents, 2 children in each"
    assert words.cell("preloaded/docker-nested/1/1", {}).endswith("1 parent, 1 child in each, the child's image being there")
    assert words.row({"runtime": "docker"}, None) == "Docker"
    assert words.row({"runtime": "bare"}, None) == "bare metal"
