"""Charts of interference: they show every view, the papers' values beside ours, and what is missing."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plimsoll import code, designs, paths
from plimsoll.designs.interference.cells import views
from plimsoll.designs.interference.charts import matrix, pairs
from plimsoll.figures import data, render, sources, style
from plimsoll.figures.findings import Change

from tests.conftest import REFERENCE
from tests.unit.test_charts import check, drawn, printed
from tests.unit.test_interference_analysis import EFFECTS, observed

DESIGN = designs.find("interference")


@pytest.fixture
def shown(jha2021, planned):
    def shown(name, observations=None):
        found = observed(planned, jha2021) if observations is None else observations
        return render.figure_data(jha2021, planned, name, found, {})

    yield shown
    plt.close("all")


def test_the_matrix_has_a_cell_for_every_ordered_pair_and_the_papers_below(shown):
    found = drawn(shown("matrix"))
    check(found.figure)
    panels = [axis for axis in found.figure.axes if axis.get_title()]
    titles = [axis.get_title() for axis in panels]
    assert titles[:3] == [f"here, {pairs.CASES[case]}" for case in ("2", "3a", "3b")] and len(panels) == 6
    values = [axis.collections[0].get_array().reshape(7, 6) for axis in panels]
    assert all(not ours.mask.any() for ours in values[:3]) and values[3].mask.any()
    assert values[0][0, 0] == pytest.approx(EFFECTS["2", "linpack", "linpack"], abs=0.03)
    assert "Y* stands in for Y-Cruncher" in found.caption
    assert "Largest loss: Bonnie++, block " in found.alternative
    assert "Largest gain: Linpack beside STREAM in one shared container, +" in found.alternative


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ([-0.4, 0.2], ["Largest loss: ", "Largest gain: "]),
        ([0.1, 0.15, 0.2], ["Smallest gain: ", "Largest gain: "]),
        ([-0.4, -0.1], ["Largest loss: ", "Smallest loss: "]),
        ([-0.4], ["Largest loss: "]),
        ([0.2], ["Largest gain: "]),
        ([], []),
    ],
)
def test_a_gain_is_called_a_gain_where_nothing_loses(ratios, said):
    found = pairs._ends([Change(f"{ratio}", ratio, ratio, ratio) for ratio in ratios])
    ends = [ratios[0], ratios[-1]] if len(ratios) > 1 else ratios
    assert [one.partition(",")[0] for one in found] == [f"{word}{end}" for word, end in zip(said, ends, strict=True)]


def test_the_matrix_can_be_read(shown):
    found = drawn(shown("matrix"))
    cells = [text for axis in found.figure.axes for text in axis.texts]
    assert all(text.get_alpha() in (None, 1) for text in cells) and {text.get_fontweight() for text in cells} == {
        "bold",
        "normal",
    }
    labels = [label.get_text() for label in found.figure.axes[0].get_yticklabels()]
    assert {"L: Linpack", "B: Bonnie++, block input", "NS: Netperf TCP_STREAM"} <= set(labels)


@pytest.mark.parametrize(("low", "high", "extend"), [(-0.2, 0.3, "neither"), (-0.2, 2.5, "max"), (-0.9, 2.5, "both")])
def test_the_colour_bar_is_pointed_where_values_lie_beyond_it(low, high, extend):
    figure, axes = plt.subplots(1, 1, squeeze=False)
    axes[0, 0].pcolormesh([[low, high]])
    matrix._colour_bar(figure, axes, np.array([[low, high, float("nan")]]))
    bar = axes[0, 0].collections[0].colorbar
    assert bar.extend == extend
    plt.close(figure)


def test_values_are_shown_with_the_paper_s_where_it_prints_any(shown):
    for name, panels in (("fig05", 2), ("fig07", 2), ("fig09", 8), ("fig12", 2)):
        found = drawn(shown(name))
        check(found.figure)
        assert len(found.figure.axes) == panels, name
        assert len(found.figure.axes[0].patches) == 19, name
        named = [axis for axis in found.figure.axes if any(label.get_text() for label in axis.get_xticklabels())]
        assert named == [found.figure.axes[-1]], name


def test_error_bars_are_named_in_the_panel_and_are_what_they_are_called(shown, jha2021):
    for name, words in (("fig05", "minimum and maximum"), ("fig09", "standard deviation")):
        found = drawn(shown(name))
        axis = found.figure.axes[0]
        assert words in axis.get_title(loc="left") and "the paper: mean and standard deviation" in {
            other.get_title(loc="left") for other in found.figure.axes
        }
        row = found.summary.iloc[0]
        ends = (row["minimum"], row["maximum"]) if "minimum" in words else (row["mean"] - row["sd"], row["mean"] + row["sd"])
        spans = [(min(line.get_ydata()), max(line.get_ydata())) for line in axis.lines if abs(line.get_xdata()[0] - 0.7) < 0.5]
        assert any(span == pytest.approx(ends) for span in spans)
        sizes = [size for dots in axis.collections for size in dots.get_sizes() if len(dots.get_offsets())]
        assert min(sizes) >= style.DOT**2


def test_ratios_are_shown_for_eighteen_combinations_with_the_paper_s(shown):
    found = drawn(shown("fig06"))
    check(found.figure)
    assert len(found.figure.axes[0].get_xticks()) == 18
    assert found.summary["paper_interference_ratio"].notna().sum() == 18
    assert "Student's" in found.caption
    assert "open: the paper" in {text.get_text() for text in found.figure.legends[0].get_texts()}


def test_a_caption_says_where_clients_and_servers_ran(shown):
    told = shown("fig12")
    assert drawn(told).caption.count("Client and server where the kernel likes.") == 1
    without = replace(told, cells=[cell for cell in told.cells if "netperf" not in cell["pair"]])
    assert pairs.placed(without) == ""


def test_a_legend_names_nothing_that_is_not_drawn(shown):
    # The papers print no numbers for Y-Cruncher.
    words = {text.get_text() for text in drawn(shown("fig08")).figure.legends[0].get_texts()}
    assert "open: the paper" not in words and "Computation time" in words


def test_more_metrics_than_markers_are_all_drawn(shown):
    told = shown("fig10")
    extra = [f"copy{number}" for number in range(3)]
    runs = told.observations[told.observations["metric"] == "copy"]
    told = replace(
        told,
        metrics={**told.metrics, **{name: {**told.metrics["copy"], "label": name} for name in extra}},
        options={**told.options, "benchmark_of": {**told.options["benchmark_of"], **dict.fromkeys(extra, "stream")}},
        observations=pd.concat([told.observations, *(runs.assign(metric=name, label=name) for name in extra)]),
    )
    words = {text.get_text() for text in drawn(told).figure.legends[0].get_texts()}
    assert set(extra) <= words


def test_a_view_without_an_iteration_that_counts_is_named(shown, planned, jha2021):
    whole = observed(planned, jha2021)
    kept = whole[~((whole["case"] == "2") & (whole["benchmark"] == "linpack") & (whole["co_runner"] == "stream"))]
    found = drawn(shown("fig05", kept))
    assert "No iteration counts of L(+S) in case 2." in found.caption
    assert "none counts" in printed(found.figure)


def test_cases_that_are_not_known_have_a_look(shown):
    assert pairs.look("4") == (style.FALLBACK[0], style.FALLBACK_HATCHES[0]) and pairs.case_label("4") == "case 4"
    assert pairs.pair_cases(["4", "3a", "2", "1a", "1"]) == ["2", "3a", "4"]


def test_nothing_can_be_worse_than_nothing(planned, jha2021):
    # The data are noisy, but the intervals of rates still end above -100 %.
    from plimsoll.designs.interference import tests as statistics_table

    found = statistics_table.statistics_of(observed(planned, jha2021, blocks=3, iterations=2, spread=0.3))
    rates = found[found["better"] == "higher"].dropna(subset=["ratio_low"])
    assert (rates["ratio_low"] > -1).all() and (rates["ratio_low"] <= rates["interference_ratio"]).all()


def test_views_are_in_the_papers_order(planned, jha2021):
    told = render.figure_data(jha2021, planned, "fig05", None, {})
    names = [(view["case"], view["co_runner"]) for view in pairs.views(told, "linpack")]
    assert names[0] == ("1", "none") and len(names) == 19
    assert set(names[1:]) == {(v["case"], v["co_runner"]) for v in views(planned) if v["benchmark"] == "linpack"} - {
        ("1", "none"),
        ("1a", "none"),
    }
    assert [case for case, _ in names] == sorted(case for case, _ in names)


def test_what_a_chart_draws_with_is_its_own_design_s():
    chart = sources.charts(paths.PROJECT / "scripts/plimsoll/designs/interference/charts")["matrix"]
    files = code.sources("_figure", ("interference",), (chart.file,))
    assert {path.name for path in files if path.parent.name == "charts"} == {"matrix.py", "pairs.py"}
    assert not any("splitting" in str(path) for path in files)


@pytest.mark.parametrize("study", ["jha2018", "jha2021"])
def test_the_tables_of_interference_are_made_again(study, tmp_path):
    for path in sorted((REFERENCE / study / "figures").glob("*.csv")):
        told = data.read(path.parent, path.stem)
        table = DESIGN.chart(told.chart).summarise(told)
        table.to_csv(tmp_path / "made.csv", index=False)
        made, printed = (data.table(file, told.factors) for file in (tmp_path / "made.csv", path.with_suffix(".csv")))
        pd.testing.assert_frame_equal(made, printed, rtol=1e-12)
