"""Values of a figure on its picture: they lie on what is drawn, and their texts are what a reader sees."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from bs4 import BeautifulSoup
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from plimsoll.figures import drawn_values, style
from plimsoll.pages import figure_values, formats

BARE, DOCKER, POINT = "#117733", "#cc6677", "#332288"
# Means of two schemes on bare metal and in Docker, with half of their intervals.
MEANS = {"bare": ([4.0, 2.0], [0.5, 0.25]), "docker": ([3.0, 1.5], [0.25, 0.125])}


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


def bars() -> Figure:
    """Return a figure with two panels of bars with error bars, the lower one with ten times the values and another unit."""
    style.apply()
    figure, panels = plt.subplots(2, 1, figsize=(3.5, 4.0), layout="constrained")
    for panel, title, unit, factor in zip(panels, ("above", "below"), ("GB/s", "us"), (1, 10), strict=True):
        for shift, colour, (means, halves) in zip((-0.2, 0.2), (BARE, DOCKER), MEANS.values(), strict=True):
            heights = factor * np.array(means)
            panel.bar(np.arange(2) + shift, heights, 0.36, color=colour)
            panel.errorbar(np.arange(2) + shift, heights, factor * np.array(halves), fmt="none", ecolor="black", capsize=2)
        panel.set_xticks(range(2), ["one\ncontainer", "two"])
        panel.set(title=title, ylabel=f"bandwidth\n({unit})")
    looks = (style.Look(BARE, "", "bare metal"), style.Look(DOCKER, "", "Docker"))
    style.legend_below(figure, style.patches(looks))
    return figure


def saved(figure: Figure, folder: Path, unit: str = "") -> tuple[np.ndarray, list[dict]]:
    """Return the pixels of a saved figure, as rows of RGB, and its values."""
    style.save(figure, folder / "f")
    drawn_values.write(figure, folder / "f", unit)
    return plt.imread(folder / "f.png")[..., :3], json.loads((folder / "f.values.json").read_text())


def colour_at(pixels: np.ndarray, x: float, y: float) -> np.ndarray:
    height, width, _ = pixels.shape
    return pixels[int(y * height), int(x * width)]


def texts(figure: Figure, folder: Path, unit: str = "") -> list[str]:
    return [figure_values.text(one) for one in saved(figure, folder, unit)[1]]


def test_values_lie_on_the_bars_of_the_picture(tmp_path):
    pixels, values = saved(bars(), tmp_path)
    assert len(values) == 8
    for one in values:
        own = to_rgb(BARE if "bare metal" in one["words"] else DOCKER)
        # No whisker is beside the middle. Just outside of a bar is white, or a line of the grid.
        for across, along in ((-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45), (0.25, 0)):
            found = colour_at(pixels, one["x"] + across * one["width"], one["y"] + along * one["height"])
            assert found == pytest.approx(own, abs=0.01), one
        beside = colour_at(pixels, one["x"] + 0.54 * one["width"], one["y"])
        above = colour_at(pixels, one["x"] + 0.25 * one["width"], one["y"] - 0.53 * one["height"])
        assert min(beside) > 0.8 and min(above) > 0.8, one


def test_a_text_has_panel_series_category_value_unit_and_interval(tmp_path):
    assert texts(bars(), tmp_path) == [
        "above, bare metal, one container: 4 GB/s [3.5, 4.5]",
        "above, bare metal, two: 2 GB/s [1.75, 2.25]",
        "above, Docker, one container: 3 GB/s [2.75, 3.25]",
        "above, Docker, two: 1.5 GB/s [1.38, 1.62]",
        "below, bare metal, one container: 40 µs [35, 45]",
        "below, bare metal, two: 20 µs [17.5, 22.5]",
        "below, Docker, one container: 30 µs [27.5, 32.5]",
        "below, Docker, two: 15 µs [13.8, 16.2]",
    ]


def test_pictures_stay_as_they_are(tmp_path):
    figure = bars()
    style.save(figure, tmp_path / "before")
    assert saved(figure, tmp_path)[1]
    for end in ("png", "pdf"):
        style.save(figure, tmp_path / "after")
        assert (tmp_path / f"before.{end}").read_bytes() == (tmp_path / f"after.{end}").read_bytes()


def points() -> Figure:
    """Return a figure with a row per name: a point with its interval, single runs, and the paper's point on the interval."""
    style.apply()
    figure, panel = plt.subplots(figsize=(3.5, 2.0), layout="constrained")
    panel.plot([10, 20], [0, 1], "o", color=POINT, markersize=5, zorder=5)
    panel.hlines([0, 1], [8, 17], [12, 23], color="black", linewidth=0.5)
    panel.plot([9, 11, 18, 22], [0, 0, 1, 1], ".", color="black", alpha=0.4)
    panel.plot([11.5], [0], "D", color=DOCKER, markersize=5, zorder=5, label="the paper", **drawn_values.NO_INTERVAL)
    panel.plot([15], [1], "^", color="black", **drawn_values.NO_VALUE)
    panel.axvline(15, color="black")
    panel.set_yticks([0, 1], ["bare metal", "Docker"])
    panel.set(xscale="log", xlabel="time (higher is worse)")
    return figure


def test_points_have_the_interval_that_is_their_own(tmp_path):
    figure = points()
    pixels, values = saved(figure, tmp_path, unit="s")
    assert [figure_values.text(one) for one in values] == [
        "bare metal: 10 s [8, 12]",
        "Docker: 20 s [17, 23]",
        "the paper, bare metal: 11.5 s",
    ]
    for one, colour in zip(values, (POINT, POINT, DOCKER), strict=True):
        assert colour_at(pixels, one["x"], one["y"]) == pytest.approx(to_rgb(colour), abs=0.01)
    assert figure_values.text(drawn_values.collect(figure)[0]) == "bare metal: 10 [8, 12]"


def test_single_runs_are_values_where_nothing_else_is(tmp_path):
    style.apply()
    figure, panel = plt.subplots()
    panel.scatter([1, 2, 3], [0.5, np.nan, 0.25], color=POINT)
    panel.yaxis.set_major_formatter(plt.matplotlib.ticker.PercentFormatter(1))
    panel.set_xlabel("minutes")
    assert texts(figure, tmp_path) == ["minutes 1: 50 %", "minutes 3: 25 %"]
    panel.plot([1], [0.75], "s", color=DOCKER)
    assert texts(figure, tmp_path) == ["minutes 1: 75 %"]


def test_what_shows_no_value_is_left_out(tmp_path):
    """A background behind bars, a bar of no height, a whisker of stacked bars, an axis that is off, and too many points."""
    style.apply()
    figure, (panel, empty) = plt.subplots(1, 2)
    panel.barh([0], [100], color="#eeeeee")
    panel.barh([0, 1], [30, 0], color=BARE)
    panel.barh([0], [20], left=[30], color=DOCKER)
    panel.errorbar([50], [0], xerr=[25], color="black")
    panel.errorbar([np.nan], [1], xerr=[np.nan], color="black")
    panel.set_yticks([0, 1], ["a", "b"])
    looks = (style.Look(BARE, "", "inside"), style.Look(DOCKER, "", "outside"))
    figure.legend(handles=style.patches(looks))
    empty.plot([1], [1], "o")
    empty.axis("off")
    assert texts(figure, tmp_path) == ["inside, a: 30", "outside, a: 20"]
    panel.plot(range(drawn_values.MOST), np.linspace(0, 1, drawn_values.MOST), "o-")
    assert texts(figure, tmp_path) == [] and drawn_values.collect(style.statement("A title", "there is no engine")) == []


def test_the_page_has_as_many_values_as_the_file(tmp_path):
    _, values = saved(bars(), tmp_path)
    macro = formats.environment().get_template("parts.html.j2").module.picture
    spots = figure_values.of_picture(tmp_path / "f.png")
    page = BeautifulSoup(macro({"image": "", "alt": "bars", "spots": spots}), "html.parser")
    found = page.select(".spots > span")
    assert [one["data-value"] for one in found] == [figure_values.text(one) for one in values]
    assert [one.get("class") == ["right"] for one in found] == [one["x"] > 0.5 for one in values]
    assert all(one["tabindex"] == "-1" and not one.get_text() for one in found)
    (tmp_path / "f.values.json").unlink()
    spots = figure_values.of_picture(tmp_path / "f.png")
    assert spots == [] and "spots" not in macro({"image": "", "alt": "bars", "spots": spots})
