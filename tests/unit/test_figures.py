"""A figure's data from plan and records, the files that a chart is made of, and the tables of the project's figures."""

import functools
import importlib
import json
import math
import re

import pandas as pd
import pytest
from plimsoll import code, designs, registry
from plimsoll.config import studies
from plimsoll.figures import chart, data, findings, render, sources
from plimsoll.figures.findings import Change
from plimsoll.measuring import progress

from tests.conftest import PROJECT, REFERENCE

PACKAGE = PROJECT / "scripts/plimsoll"
DESIGNS = [name for name in sorted(designs.known()) if (PACKAGE / f"designs/{name}/charts").is_dir()]


def charts(design):
    return registry.members(importlib.import_module(f"plimsoll.designs.{design}.charts"), "CHARTS")


def folder(design):
    return PACKAGE / f"designs/{design}/charts"


@pytest.mark.parametrize("design", DESIGNS)
def test_the_workflow_reads_from_the_source_what_a_chart_says_of_itself(design):
    read = sources.charts(folder(design))
    assert set(read) == set(charts(design))
    for name, one in charts(design).items():
        assert (read[name].notebook, read[name].metrics, read[name].option) == (one.notebook, one.metrics, one.option)
        assert sources.notebook(read[name]).is_file()


def test_an_edited_chart_concerns_its_own_figures_and_those_that_draw_with_it():
    drawn = {name: code.sources("_figure", files=(one.file,)) for name, one in sources.charts(folder("splitting")).items()}
    assert {name for name, files in drawn.items() if folder("splitting") / "affinity.py" in files} == {"affinity", "events"}
    assert all(PACKAGE / "figures/style.py" in files for files in drawn.values())


@pytest.mark.parametrize("study", studies.names(studies.STUDIES))
def test_a_study_s_figures_are_found_and_drawn_by_charts_of_its_design(study):
    loaded = studies.load(study, designs.known())
    for figure in loaded["figures"].values():
        assert figure["chart"] in charts(loaded["design"])


def test_data_come_back_as_they_were_written(tmp_path):
    told = data.read(REFERENCE / "liu2020/figures", "fig05")
    told.write(tmp_path)
    again = data.read(tmp_path, "fig05")
    assert again == told and json.loads(told.to_json())["chart"] == "granularity"
    pd.testing.assert_frame_equal(again.observations, told.observations)


def test_a_figure_without_observations_of_its_own_takes_those_of_its_cells():
    told = data.read(REFERENCE / "liu2020/figures", "fig31")
    assert set(told.observations["affinity"]) == {"any", "cpumem", "cpumempin"} and set(told.observations["section"]) == {
        "beff"
    }
    runs = told.observations.query("metric == 'randomring_bandwidth'").groupby(told.factors).size()
    assert len(runs) == len(told.cells) and runs.min() >= 3


@functools.cache
def made(study, name):
    """Return (data, chart, table) of a figure of the reference measurements. Its chart makes the table; nothing is drawn."""
    shown = data.read(REFERENCE / study / "figures", name)
    drawn_by = designs.find(shown.design).chart(shown.chart)
    return shown, drawn_by, drawn_by.summarise(shown)


# The drawing may change, but not the numbers. (For jha2021 and jha2018, another version of a library wrote the last
# digit of some intervals.)
@pytest.mark.parametrize("path", sorted((REFERENCE / "liu2020/figures").glob("fig??.json")), ids=lambda path: path.stem)
def test_the_tables_of_the_measured_figures_are_made_again_byte_for_byte(path):
    _, _, table = made("liu2020", path.stem)
    assert table.to_csv(index=False) == path.with_suffix(".csv").read_text()


def test_a_figure_of_which_a_run_is_still_to_be_measured_is_not_drawn_with_others(tmp_path, monkeypatch):
    figures = {"fig05": [("a", 1), ("b", 1)], "fig06": [("b", 1)], "fig04": []}
    monkeypatch.setattr(render.availability, "figure_runs", lambda plan, study, name: figures[name])
    drawing = render.Drawing({}, {}, tmp_path, None)
    assert all(drawing.is_measured(name) for name in figures)
    progress.begin(tmp_path / "progress", ["a/1", "b/1"])
    assert [drawing.is_measured(name) for name in figures] == [False, False, True]
    progress.skip(tmp_path / "progress", "b/1")
    assert [drawing.is_measured(name) for name in figures] == [False, True, True]


# Alternative texts

WRITTEN = sorted(REFERENCE.glob("*/figures/*.alt.txt"))
MOST_WORDS = 60
# A ratio, an interval, how many of several differ or have something, a range of shares, or why nothing was measured.
COMPARISON = re.compile(
    r"×\d|\[[-+]\d+ %, [-+]\d+ %\]|(?:None|\d+) of \d+ (?:\w+ )?differs? from|in \d+ of \d+ |\d+ % to \d+ %"
    r"|Not measured here: \S"
)
# Codes of schemes and microservices, units that are no words, and numbers that are not known.
CODES = re.compile(r"\b[EO]\d\b|\(\+|\*|\d (?:ratio|count)\b|\bnan\b")

each_figure = pytest.mark.parametrize("path", WRITTEN, ids=lambda path: f"{path.parent.parent.name}-{path.name.split('.')[0]}")


def written_now(path):
    """Return the title of a figure of the reference measurements, and the alternative text that its chart writes."""
    shown, drawn_by, table = made(path.parent.parent.name, path.name.split(".")[0])
    return shown.title, chart.alternative_text(drawn_by, shown, table)


@each_figure
def test_an_alternative_text_compares_in_few_words(path):
    title, text = written_now(path)
    said = text.removeprefix(title)
    assert said != text and COMPARISON.search(said) and not CODES.search(said), text
    assert len(text.split()) <= MOST_WORDS, text


@each_figure
def test_the_alternative_texts_of_the_reference_are_those_that_charts_write(path):
    assert path.read_text() == f"{written_now(path)[1]}\n"


@pytest.mark.parametrize(
    "text",
    [
        "Highest: STREAM ADD, Bare metal, 28.1 GB/s. Lowest: STREAM SCALE, Emulated virtual machines, 1.67 GB/s.",
        "Docker: 1 ratio at 1, 4.03 ratio at 8; Nested Docker containers: 0.995 ratio at 1, 2.02 ratio at 4.",
        "Alone: Linpack 33.6 GFLOP/s. Number of containers: 1 (UMA, exactly subscribed), 2 (UMA, over-subscribed).",
        "Main effects on job time: buffer: +9 %; LZO: +5 %. b_eff 97 %, G-FFT 14 %.",
    ],
)
def test_numbers_beside_each_other_are_no_comparison(text):
    assert not COMPARISON.search(text)


def test_the_farthest_change_is_one_that_differs():
    changes = [Change("a", -0.9, math.nan, math.nan), Change("b", 0.5, -0.1, 0.9), Change("c", -0.2, -0.3, -0.1)]
    assert findings.farthest(changes, "bare metal") == (
        "Farthest from bare metal: c, -20 % [-30 %, -10 %]. "
        "1 of 2 differs from bare metal (95 % intervals: 1 in 20 by chance). "
        "1 without an interval (too few runs), farthest: a, -90 %."
    )
    assert findings.farthest(changes[1:2], "x").startswith("None of 1 differ from x")
    assert findings.farthest([Change("d", math.nan, math.nan, math.nan)], "x") == "Nothing to compare."


def test_extremes_are_named_once():
    assert findings.extremes("Grows", {"a": 2.0, "b": 3.0, "c": 1.5}) == "Grows most: b (×3.0). Grows least: c (×1.50)."
    assert findings.extremes("Grows", {"a": 2.0}) == "Grows most: a (×2.0)." and findings.extremes("Grows", {}) == ""
