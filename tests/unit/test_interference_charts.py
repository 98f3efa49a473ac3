"""Charts of interference: every view is shown, the papers' values beside ours, and what is missing is said."""

import matplotlib.pyplot as plt
import pytest
from plimsoll import figures
from plimsoll.charts import interference, interference_matrix, interference_ratios, interference_values
from plimsoll.interference.cells import views

from tests.unit.test_interference_analysis import EFFECTS, observed


@pytest.fixture
def shown(jha2021, planned):
    def shown(name, observations=None):
        data = observed(planned, jha2021) if observations is None else observations
        told = figures.shown(planned, jha2021, name)
        return interference.summarise(data, jha2021["figures"][name]["metrics"], told), data, told

    yield shown
    plt.close("all")


def test_the_matrix_has_a_cell_for_every_ordered_pair_and_the_papers_below(shown):
    summary, _, told = shown("matrix")
    figure = interference_matrix.draw(summary, told)
    panels = [axis for axis in figure.axes if axis.images]
    titles = [axis.get_title() for axis in panels]
    assert titles[:3] == [f"here, {interference.CASES[case]}" for case in ("2", "3a", "3b")] and len(panels) == 6
    assert all(axis.images[0].get_array().shape == (7, 6) and not axis.images[0].get_array().mask.any() for axis in panels[:3])
    worst = panels[0].images[0].get_array()[0, 0]
    assert worst == pytest.approx(EFFECTS["2", "linpack", "linpack"], abs=0.03)
    assert "Y* stands in for Y-Cruncher" in interference_matrix.caption(summary, told)


def test_values_are_shown_with_the_paper_s_where_it_prints_any(shown):
    for name, panels in (("fig05", 2), ("fig07", 2), ("fig09", 8), ("fig12", 2)):
        summary, data, told = shown(name)
        figure = interference_values.draw(summary, data, told, "standard deviation")
        assert len(figure.axes) == panels, name
        assert len(figure.axes[0].patches) == 19, name


def test_ratios_are_shown_for_eighteen_combinations_with_the_paper_s(shown):
    summary, _, told = shown("fig06")
    figure = interference_ratios.draw(summary, told)
    assert len(figure.axes[0].get_xticks()) == 18
    assert summary["paper_interference_ratio"].notna().sum() == 18
    assert "Student's" in interference_ratios.caption(summary, told)


def test_a_view_without_an_iteration_that_counts_is_named(shown, planned, jha2021):
    data = observed(planned, jha2021)
    kept = data[~((data["case"] == "2") & (data["benchmark"] == "linpack") & (data["co_runner"] == "stream"))]
    summary, data, told = shown("fig05", kept)
    interference_values.draw(summary, data, told, "minimum and maximum")
    assert "No iteration counts of L(+S) in case 2." in interference_values.caption(summary, told, "minimum and maximum")


def test_nothing_can_be_worse_than_nothing(planned, jha2021):
    # Wild data: intervals of rates still end above -100 %.
    from plimsoll.interference import table

    found = table.statistics_of(observed(planned, jha2021, blocks=3, iterations=2, spread=0.3))
    rates = found[found["better"] == "higher"].dropna(subset=["ratio_low"])
    assert (rates["ratio_low"] > -1).all() and (rates["ratio_low"] <= rates["interference_ratio"]).all()


def test_views_are_in_the_papers_order(planned, jha2021):
    told = figures.shown(planned, jha2021, "fig05")
    names = [(view["case"], view["co_runner"]) for view in interference.views(told, "linpack")]
    assert names[0] == ("1", "none") and len(names) == 19
    assert set(names[1:]) == {(v["case"], v["co_runner"]) for v in views(planned) if v["benchmark"] == "linpack"} - {names[0]}
    assert [case for case, _ in names] == sorted(case for case, _ in names)
