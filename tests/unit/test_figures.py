"""A figure's data from plan and records, the files that a chart is made of, and the tables of the project's figures."""

import importlib
import json
import math
import re

import pandas as pd
import pytest
from plimsoll import code, designs, registry
from plimsoll.config import studies
from plimsoll.figures import data, findings, render, sources
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
    for name, chart in charts(design).items():
        assert (read[name].notebook, read[name].metrics, read[name].option) == (chart.notebook, chart.metrics, chart.option)
        assert sources.notebook(read[name]).is_file()


def test_an_edited_chart_concerns_its_own_figures_and_those_that_draw_with_it():
    drawn = {name: code.sources("_figure", files=(chart.file,)) for name, chart in sources.charts(folder("splitting")).items()}
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


# The drawing may change, but not the numbers. (For jha2021 and jha2018, another version of a library wrote the last
# digit of some intervals.)
@pytest.mark.parametrize("path", sorted((REFERENCE / "liu2020/figures").glob("*.json")), ids=lambda path: path.stem)
def test_the_tables_of_the_measured_figures_are_made_again_byte_for_byte(path):
    told = data.read(path.parent, path.stem)
    table = designs.find(told.design).chart(told.chart).summarise(told)
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
# A number that was measured, or the reason why there is none.
FINDING = re.compile(
    r"\d[\d.e+]* ?(?:%|s\b|count|ratio|Gbit)|×\d|None of \d|Not measured here: |Number of containers: \d|: \d\.\d+"
)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: f"{path.parent.parent.name}-{path.name.split('.')[0]}")
def test_an_alternative_text_tells_what_was_found(path):
    text = path.read_text()
    title = data.read(path.parent, path.name.split(".")[0]).title
    assert text.startswith(title) and FINDING.search(text.removeprefix(title)), text
    # Codes of schemes are no words.
    assert not re.search(r"\b[EO]\d\b|\bnan\b", text.removeprefix(title)), text


@pytest.mark.parametrize(("study", "figure"), [("li2018", "fig10"), ("li2018-hadoop", "fig15"), ("amaral2015", "parts")])
def test_the_alternative_texts_of_the_reference_are_those_that_charts_write(study, figure):
    shown = data.read(REFERENCE / study / "figures", figure)
    chart = studies.load(study, designs.known()).design.chart(shown.chart)
    assert (
        chart.alternative(shown, chart.summarise(shown))
        == (REFERENCE / study / f"figures/{figure}.alt.txt").read_text().strip()
    )


def test_the_farthest_change_is_one_that_differs():
    changes = [Change("a", -0.9, math.nan, math.nan), Change("b", 0.5, -0.1, 0.9), Change("c", -0.2, -0.3, -0.1)]
    said = findings.farthest(changes, "bare metal")
    assert said.startswith("Farthest from bare metal: c, -20 %. 1 of 2 differs from bare metal")
    assert said.endswith("1 without an interval: too few runs.")
    assert (
        findings.farthest(changes[:2], "x").startswith("None of 1 differ")
        and findings.farthest([], "x") == "Nothing to compare."
    )
    assert findings.ends([("a", 1.0), ("b", 3.0)], "s") == "Highest: b, 3 s. Lowest: a, 1 s." and not findings.ends([], "s")
