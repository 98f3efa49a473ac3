"""Charts of splitting studies: every cell is shown, what is printed follows from the runs, and nothing hides anything."""

import itertools
import json
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from plimsoll import designs, runtimes
from plimsoll.analysis import paper_tests
from plimsoll.designs.splitting.charts import affinity, cells, profile
from plimsoll.figures import bars, chart, render, style
from plimsoll.figures.data import FigureData
from plimsoll.instruments.mpi_profile import PATTERNS

FACTORS = ["hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument", "section"]
METRIC = {"label": "A metric", "unit": "GB/s", "better": "higher"}
RUNTIMES = ("bare", "docker", "singularity", "singularity-cgroup", "singularity-instance")
SMALL = [("exact", "E1"), ("exact", "E2"), ("over", "O1"), ("over", "O2")]
PAPER = [*(("exact", f"E{n}") for n in range(1, 6)), *(("over", f"O{n}") for n in range(1, 5))]


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


def shown(name="granularity", schemes=SMALL, levels=("any",), runtimes=RUNTIMES, missing=(), **given) -> FigureData:
    """Return the data of a figure with six runs per cell. `missing` lists the (scheme, runtime) that have no run."""
    random = np.random.default_rng(0)
    planned, rows = [], []
    for (mode, scheme), runtime, level in itertools.product(schemes, runtimes, levels):
        if runtime == "bare" and scheme[1] != "1":
            continue
        size = {"containers": int(scheme[1]), "ranks_per_container": 1}
        values = ("uma", mode, scheme, runtime, level, "default", "standard", "plain", "fft")
        cell = {**dict(zip(FACTORS, values, strict=True)), **size}
        planned.append({**cell, "repetitions": 6})
        if (scheme, runtime) not in missing:
            for block, value in enumerate(random.normal(10, 0.2, 6)):
                rows.append({**cell, "metric": "m", **METRIC, "value": value, "censored": False, "repetition": block + 1})
    described = {"study": "liu2020", "name": "fig99", "title": "A metric", "design": "splitting", "chart": name}
    described |= {"factors": FACTORS, "repetitions": 6, "profile": "quick", "missing": ["numa: there is one socket"]}
    whole = {**described, "cells": planned, "metrics": {"m": METRIC}, "observations": pd.DataFrame(rows), **given}
    return FigureData(**whole)


def changed(told: FigureData, which, change) -> FigureData:
    """Return the data with the values of the runs that `which(table)` marks put through `change`."""
    table = told.observations.copy()
    chosen = which(table)
    table.loc[chosen, "value"] = change(table.loc[chosen, "value"])
    return replace(told, observations=table)


def drawn(told: FigureData) -> chart.DrawnFigure:
    return chart.draw_figure(designs.find(told.design).chart(told.chart), told)


def texts(figure) -> list[Text]:
    figure.canvas.draw()
    beyond = set()  # ticks that an axis has but does not draw
    for axis in figure.axes:
        low, high = sorted(axis.get_ylim())
        beyond |= {
            label for tick in axis.yaxis.get_major_ticks() if not low <= tick.get_loc() <= high for label in tick.findobj(Text)
        }
    return [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible() and text not in beyond]


def printed(figure) -> list[str]:
    every = (text.get_text() for axis in figure.axes for text in axis.texts)
    return [text for text in every if text not in ("higher is better", "lower is better")]


def check(figure) -> None:
    """Check that every text is large enough to read, and that none lies under the legend or over another panel's title."""
    found = texts(figure)
    small = {text.get_text() for text in found if text.get_fontsize() < style.SMALLEST}
    assert not small
    for legend in figure.legends:
        inside = set(legend.findobj(Text))
        box = legend.get_window_extent()
        assert not [text.get_text() for text in found if text not in inside and text.get_window_extent().overlaps(box)]
    titles = [title for axis in figure.axes for title in (axis.title, axis._left_title) if title.get_text()]
    for one, other in itertools.combinations(titles, 2):
        assert not one.get_window_extent().overlaps(other.get_window_extent()), (one.get_text(), other.get_text())


def events(by="runtime", **given) -> FigureData:
    blind = "this host does not count l3 misses"
    metrics = {name: {**METRIC, "label": name, "unit": "count"} for name in ("m", "misses", "loads")}
    unavailable = {"misses": blind, "loads": blind}
    return shown("events", options={"bars": by}, metrics=metrics, unavailable=unavailable, **given)


def yields() -> FigureData:
    told = shown("yielding", schemes=[("over", "O1"), ("over", "O2")])
    levels = enumerate(("default", "disabled", "enabled"))
    parts = [told.observations.assign(**{"yield": level, "value": told.observations["value"] * (3 - n)}) for n, level in levels]
    table = pd.concat(parts, ignore_index=True)
    wanted = [{**cell, "yield": level} for cell in told.cells for level in ("default", "disabled", "enabled")]
    return replace(told, observations=table, cells=wanted)


def patterns() -> FigureData:
    names = ["beff_sendrecv_seconds", "beff_transfer_seconds", "a_new_pattern"]
    told = shown("patterns", runtimes=("docker",), metrics={name: {**METRIC, "unit": "s"} for name in names})
    told = changed(told, lambda table: table["scheme"].str.endswith("2"), lambda value: 2 * value)
    table = pd.concat([told.observations.assign(metric=name) for name in names], ignore_index=True)
    return replace(told, observations=table)


def contention() -> FigureData:
    told = shown("contention", schemes=[*PAPER[:5], ("exact", "S1")])
    told = changed(told, lambda table: table["scheme"] == "S1", lambda value: 0 * value + 0.25)
    told = changed(told, lambda table: table["scheme"] != "S1", lambda value: 0 * value + 1.5)
    other = told.observations.assign(hardware="numa", value=told.observations["value"] / 2)
    both = [*told.cells, *({**cell, "hardware": "numa"} for cell in told.cells)]
    return replace(told, cells=both, observations=pd.concat([told.observations, other], ignore_index=True))


def hardware() -> FigureData:
    told = shown("hardware", schemes=PAPER, levels=("any", "pin"))
    numa = told.observations.assign(hardware="numa", value=told.observations["value"] * 1.25)
    return replace(told, observations=pd.concat([told.observations, numa], ignore_index=True))


def profiled(shares) -> FigureData:
    rows = [
        {"hardware": "uma", "mode": mode, "section": section, "what": what, "repetition": n, "calls": 3 * n, "seconds": 1.0}
        | {"share": share * (1 + 0.01 * n)}
        for mode in ("exact", "over")
        for section in (*profile.SECTIONS, "a-new-section")
        for what, share in shares.items()
        for n in (1, 2, 3)
    ]
    return shown("profile", tables={"profile": pd.DataFrame(rows)})


SHARES = {pattern: 0.01 * (number + 1) for number, pattern in enumerate(PATTERNS)}
LEVELS = ("any", "cpumem", "cpumempin")
EVERY = {
    "granularity": lambda: shown(),
    "granularity, the paper's": lambda: shown(schemes=PAPER, levels=("any", "pin")),
    "granularity, without a run": lambda: replace(shown(), observations=shown().observations.iloc[:0]),
    "affinity": lambda: shown("affinity", schemes=SMALL[1::2], levels=LEVELS),
    "cgroup-scheduling": lambda: shown("cgroup-scheduling", schemes=PAPER[5:]),
    "events": events,
    "events by affinity": lambda: events("affinity", schemes=SMALL[1::2], levels=LEVELS),
    "yielding": yields,
    "patterns": patterns,
    "contention": contention,
    "hardware": hardware,
    "profile": lambda: profiled({"all": sum(SHARES.values()), **SHARES}),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_figure_is_written_whole_and_can_be_read(tmp_path, name):
    found = drawn(EVERY[name]())
    check(found.figure)
    # Levels have words, and no code of the data.
    said = [*(text.get_text() for text in texts(found.figure)), found.caption, found.alternative]
    assert not [one for one in said if re.search(r"\b[EOHS]\d\b|\b(ANY|PIN|CPUMEM)\b", one)]
    assert len(found.alternative.split()) <= 60
    found.save(tmp_path / "f")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF") and (tmp_path / "f.png").stat().st_size > 15_000
    assert (tmp_path / "f.txt").read_text().endswith(".\n") and len((tmp_path / "f.alt.txt").read_text()) > 40
    assert len(pd.read_csv(tmp_path / "f.csv")) == len(found.summary)
    values = json.loads((tmp_path / "f.values.json").read_text())
    assert bool(values) != name.endswith("without a run") and all(len(one["words"]) > 1 for one in values)


def test_the_same_data_give_the_same_pdf(tmp_path):
    for name in "ab":
        drawn(shown()).save(tmp_path / name)
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_summary_numbers():
    told = shown()
    summary, runs = drawn(told).summary, told.observations
    assert len(summary) == len(told.cells)
    row = summary[(summary["scheme"] == "E2") & (summary["runtime"] == "docker")].iloc[0]
    values = runs[(runs["scheme"] == "E2") & (runs["runtime"] == "docker")]["value"]
    bare = runs[(runs["scheme"] == "E1") & (runs["runtime"] == "bare")]["value"]
    assert row["n"] == 6 and row["mean"] == pytest.approx(values.mean())
    assert row["mean_low"] < row["mean"] < row["mean_high"]
    assert row["ratio_to_bare"] == pytest.approx(values.mean() / bare.mean())


def test_bars_whiskers_and_dots_are_where_the_table_has_them():
    told = shown(schemes=SMALL[:2])
    found = drawn(told)
    (axis,) = found.figure.axes
    rows = found.summary[found.summary["runtime"] != "bare"]
    assert sorted(bar.get_height() for bar in axis.patches if bar.get_height() > 5 and bar.get_width() < 0.3) == pytest.approx(
        sorted(rows["mean"])
    )
    drawn_lines = [np.array(line.get_ydata(), float) for line in axis.lines if len(line.get_ydata()) > 2]
    whiskers = {(round(np.nanmin(line), 9), round(np.nanmax(line), 9)) for line in drawn_lines}
    assert {tuple(np.round(ends, 9)) for ends in rows[["mean_low", "mean_high"]].to_numpy()} <= whiskers
    low, high = paper_tests.mean_interval(told.observations.query("scheme == 'E2' and runtime == 'docker'")["value"])
    assert (round(low, 9), round(high, 9)) in whiskers
    heights = np.concatenate([dots.get_offsets()[:, 1] for dots in axis.collections if len(dots.get_offsets())])
    assert sorted(heights) == pytest.approx(sorted(told.observations.query("runtime != 'bare'")["value"]))
    sizes = {size for dots in axis.collections if len(dots.get_offsets()) for size in dots.get_sizes()}
    assert min(sizes) >= 3.0**2


def test_a_ratio_is_printed_where_its_interval_leaves_out_one():
    told = changed(shown(), lambda t: (t["runtime"] == "docker") & (t["scheme"] == "E2"), lambda value: value / 10)
    # Twice as fast on average, but single runs are between a third and four times as fast.
    wild = [1 / 3, 4, 1 / 2, 3, 1, 3]
    told = changed(told, lambda t: (t["runtime"] == "singularity") & (t["scheme"] == "E2"), lambda value: value * wild)
    figure = drawn(told).figure
    ratios = {text for text in printed(figure) if text.startswith("×")}
    assert "×0.10" in ratios
    compared = cells.with_ratio(told.observations, drawn(told).summary, "ratio_to_bare", cells.bare_metal)
    assert ratios == {bars.factor(row["ratio"]) for row in compared.to_dict("records") if bars.excludes_one(row)}
    row = compared[(compared["runtime"] == "singularity") & (compared["scheme"] == "E2")].iloc[0]
    assert row["ratio"] > 1.5 and row["ratio_low"] < 1 < row["ratio_high"]
    boxes = [text.get_bbox_patch() for axis in figure.axes for text in axis.texts if text.get_text().startswith("×")]
    assert all(box is not None and box.get_facecolor()[:3] == (1, 1, 1) for box in boxes)


@pytest.mark.parametrize(("schemes", "levels"), [(SMALL, ("any", "pin")), (PAPER, ("any",))])
def test_ratios_stand_upright_and_cover_neither_each_other_nor_a_bar(schemes, levels):
    told = changed(
        shown(schemes=schemes, levels=levels), lambda t: t["runtime"].str.contains("docker|instance"), lambda value: value / 7
    )
    figure = drawn(told).figure
    figure.canvas.draw()
    for axis in figure.axes:
        ratios = [text for text in axis.texts if text.get_text().startswith("×")]
        boxes = [text.get_window_extent() for text in ratios]
        assert len(ratios) >= 2 and not any(text.get_rotation() for text in ratios)
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
        covered = [bar for bar in axis.patches for box in boxes if bar.get_window_extent().overlaps(box)]
        assert not covered and max(box.y1 for box in boxes) <= axis.get_window_extent().y1 + 1


def test_with_two_blocks_no_ratio_is_printed_and_the_caption_says_so():
    told = changed(shown(), lambda t: t["runtime"] == "docker", lambda value: value / 10)
    two = replace(told, repetitions=2, observations=told.observations[told.observations["repetition"] <= 2])
    found = drawn(two)
    assert not [text for text in printed(found.figure) if text.startswith("×")]
    assert "none with fewer than 3 repetitions" in found.caption


def test_a_cell_without_valid_runs_is_shown_as_such():
    found = drawn(shown(missing=[("E2", "docker")]))
    assert found.summary.set_index(["scheme", "runtime"]).loc[("E2", "docker"), "n"] == 0
    assert "no valid run" in printed(found.figure)
    assert "n = 6 valid runs per cell (6 planned; none for 1 of 18 bars)" in found.caption


def test_a_cell_that_there_was_no_time_for_is_told_from_one_without_valid_runs():
    told = shown(missing=[("E2", "docker")])
    told = replace(told, cells=[{**cell, "repetitions": 6 * (cell["scheme"] != "E2")} for cell in told.cells])
    words = printed(drawn(told).figure)
    assert "not in the given time" in words and "no valid run" not in words


def test_the_caption_states_n_whiskers_and_what_is_missing():
    caption = drawn(shown()).caption
    for part in ("n = 6", "95 % interval of the mean", "6 planned", "numa: there is one socket", "quick"):
        assert part in caption
    figure = drawn(shown()).figure
    (legend,) = figure.legends
    assert {"whiskers: 95 % interval of the mean", "single runs"} <= {text.get_text() for text in legend.get_texts()}


def test_the_caption_states_what_a_given_time_planned_of_each_cell():
    """The caption does not state the profile's number: cells of one comparison may be measured more often than others."""
    told = shown()
    more = [{**cell, "repetitions": 30 if cell["runtime"] == "bare" else 4} for cell in told.cells]
    assert "(4 to 30 planned)" in drawn(replace(told, cells=more)).caption
    assert set(drawn(replace(told, cells=more)).summary["planned"]) == {4, 30}


def test_the_alternative_text_tells_the_finding():
    told = changed(shown(), lambda t: (t["runtime"] == "docker") & (t["scheme"] == "E2"), lambda value: value / 10)
    told = changed(told, lambda t: (t["runtime"] == "singularity") & (t["scheme"] == "O2"), lambda value: value / 2)
    words = drawn(told).alternative
    assert "Farthest from bare metal: two Docker containers (UMA, exactly subscribed, any processor) with ×0.10 [" in words
    assert re.search("[2-4] of 16 cells differ from bare metal", words) and "higher is better" in words


def test_a_small_unit_is_drawn_larger_and_the_table_is_left_alone():
    small = {"m": {**METRIC, "unit": "GUP/s"}}
    told = changed(shown(metrics=small), lambda t: t["mode"] == "over", lambda value: value / 10_000)
    told = replace(told, observations=told.observations.assign(unit="GUP/s"))
    found = drawn(told)
    assert {axis.get_ylabel() for axis in found.figure.axes if axis.get_ylabel()} == {"A metric (MUP/s)"}
    row = found.summary[(found.summary["scheme"] == "O2") & (found.summary["runtime"] == "docker")].iloc[0]
    assert row["unit"] == "GUP/s" and row["mean"] == pytest.approx(0.001, rel=0.1)
    assert max(bar.get_height() for bar in found.figure.axes[1].patches if bar.get_width() < 0.3) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("name", ["granularity", "affinity", "yielding", "hardware"])
def test_a_runtime_nobody_gave_a_colour_is_in_figure_and_legend(name):
    told = EVERY[name]()
    renamed = {"docker": "charlie"}
    table = told.observations.assign(runtime=told.observations["runtime"].replace(renamed))
    cells_ = [{**cell, "runtime": renamed.get(cell["runtime"], cell["runtime"])} for cell in told.cells]
    figure = drawn(replace(told, observations=table, cells=cells_)).figure
    assert any("charlie" in text.get_text() for text in texts(figure))
    before = drawn(told).figure
    marks = [sum(len(axis.patches) + len(axis.lines) for axis in each.axes) for each in (figure, before)]
    assert marks[0] == marks[1]


def test_every_runtime_has_a_look_of_its_own_that_does_not_depend_on_the_others():
    names = [*runtimes.known(), "charlie", "alpha"]
    looks = style.looks(names)
    assert set(looks) == set(names)
    assert len({(look.colour, look.hatch) for look in looks.values()}) == len(names)
    assert len({look.colour for look in looks.values()}) == len(names)
    for name in runtimes.known():
        assert style.looks([name])[name] == looks[name]
    assert looks["charlie"].label == "charlie" and looks["bare"].label == "Bare metal"
    assert list(looks)[-2:] == ["alpha", "charlie"]


def test_an_environment_s_own_colour_comes_first(monkeypatch):
    monkeypatch.setattr(runtimes.find("docker"), "colour", "#123456", raising=False)
    monkeypatch.setattr(runtimes.find("docker"), "hatch", "", raising=False)
    assert (style.looks(["docker"])["docker"].colour, style.looks(["docker"])["docker"].hatch) == ("#123456", "")


def test_what_is_not_known_comes_last_and_is_not_left_out():
    assert style.in_order(["b", "a"], ["c", "a", "b", "aa"]) == ["b", "a", "aa", "c"]


def test_affinity_is_drawn_with_the_ratio_to_free_scheduling():
    told = EVERY["affinity"]()
    told = changed(told, lambda table: table["affinity"] == "cpumem", lambda value: 2 * value)
    found = drawn(told)
    ratios = found.summary.groupby("affinity")["ratio_to_any"].mean()
    assert ratios["any"] == 1 and ratios["cpumem"] == pytest.approx(2, rel=0.1)
    assert ratios["cpumempin"] == pytest.approx(1, rel=0.1)
    assert "(any processor)" in found.caption and "own cores and memory)" in found.alternative


def test_a_level_of_affinity_without_a_shade_is_drawn():
    told = shown("affinity", schemes=SMALL[1:2], levels=("any", "novel"))
    found = drawn(told)
    assert "NOVEL" in {text.get_text() for text in found.figure.legends[0].get_texts()}
    bars_ = [bar for bar in found.figure.axes[0].patches if bar.get_height() > 5]
    assert len(bars_) == len(found.summary)


def test_a_difference_of_settings_is_relative_to_numa():
    summary = drawn(hardware()).summary
    assert summary["difference"].to_numpy() == pytest.approx(-20)
    assert (summary["difference_low"] < -20).all() and (summary["difference_high"] > -20).all()


def test_a_run_at_its_limit_is_shown_as_at_least_this_slow():
    told = yields()
    words = [text.get_text() for text in drawn(told).figure.legends[0].get_texts()]
    assert not any("at least" in word for word in words)
    table = told.observations.copy()
    slow = (table["yield"] == "disabled") & (table["runtime"] == "docker") & (table["scheme"] == "O2")
    found = drawn(replace(told, observations=table.assign(censored=slow)))
    row = found.summary.set_index(["runtime", "scheme", "yield"]).loc[("docker", "O2", "disabled")]
    assert row["censored"] == 6 and np.isnan(row["mean_low"])
    assert "6/6" in printed(found.figure)
    assert any("at least" in text.get_text() for text in found.figure.legends[0].get_texts())
    assert "time limit" in found.caption and "time limit" not in drawn(told).caption


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("made", [shown, events, yields])
def test_every_panel_says_once_which_direction_is_better(made, better):
    told = made()
    told = replace(told, metrics={name: {**one, "better": better} for name, one in told.metrics.items()})
    for axis in drawn(told).figure.axes:
        assert [text.get_text() for text in axis.texts if "better" in text.get_text()] == [f"{better} is better"]


def test_no_direction_is_said_where_metrics_differ_in_it():
    told = patterns()
    first, *others = told.metrics
    mixed = {first: {**told.metrics[first], "better": "lower"}, **{name: told.metrics[name] for name in others}}
    assert not any(
        "better" in text.get_text() for axis in drawn(replace(told, metrics=mixed)).figure.axes for text in axis.texts
    )


def test_a_logarithmic_scale_has_plain_numbers():
    figure = drawn(yields()).figure
    figure.canvas.draw()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels() if text.get_text()]
    assert len(labels) >= 2 and all(float(label) > 0 for label in labels)


def test_scenarios_show_every_container_of_the_paper_s_host(liu2020, config, paper_host, tmp_path):
    from plimsoll.config import studies
    from plimsoll.planning import planner

    made = planner.make(liu2020, studies.profile("paper"), paper_host, config, {})
    for name, containers in (("fig04", 2 * (31 + 15)), ("fig30", None)):
        told = render.figure_data(liu2020, made, name, pd.DataFrame(), {})
        found = drawn(told)
        summary = found.summary
        if containers:
            assert len(summary) == containers
            assert set(summary.loc[summary["scheme"] == "O2", "cpus"]) == {"0-3,18-21", "0-7"}
            assert "container 1: rank 0" in printed(found.figure)
        else:
            pinned = summary[
                (summary["affinity"] == "cpumempin") & (summary["scheme"] == "O2") & (summary["hardware"] == "numa")
            ]
            assert list(pinned["core_of_rank"]) == ["0 0 1 1 2 2 3 3", "18 18 19 19 20 20 21 21"]
        check(found.figure)


@pytest.mark.parametrize("name", ["fig04", "fig30"])
def test_schemes_of_a_small_host_have_titles_apart(liu2020, config, small_host, name):
    from plimsoll.config import studies
    from plimsoll.planning import planner

    made = planner.make(liu2020, studies.profile("quick"), small_host, config, {})
    check(drawn(render.figure_data(liu2020, made, name, pd.DataFrame(), {})).figure)


def test_what_cannot_be_measured_is_said_in_place_of_the_figure(tmp_path):
    told = shown(reason="there is one socket", cells=[], observations=shown().observations.iloc[:0])
    found = drawn(told)
    found.save(tmp_path / "f")
    assert found.caption == "Not measured here: there is one socket."
    assert "there is one socket" in found.figure.texts[0].get_text() and "A metric" in found.alternative
    assert len(pd.read_csv(tmp_path / "f.csv")) == 0


@pytest.mark.parametrize("name", ["events", "events by affinity"])
def test_events_are_drawn_where_they_are_counted_and_the_others_named_in_the_caption(name):
    found = drawn(EVERY[name]())
    assert set(found.summary["metric"]) == {"m"}
    assert found.caption.count("this host does not count l3 misses") == 1
    assert not any("does not count" in text.get_text() for text in texts(found.figure))


def test_a_host_that_counts_nothing_has_an_empty_table_with_a_header():
    told = events()
    table = (
        designs.find("splitting").chart("events").summarise(replace(told, unavailable=dict.fromkeys(told.metrics, "not here")))
    )
    assert len(table) == 0 and {"metric", "mean", "n"} <= set(table)


def test_small_counts_are_shown_as_single_runs_and_nothing_as_nothing():
    told = events(schemes=SMALL[:2])
    few = changed(told, lambda t: t["value"] > 0, lambda value: (value > 10).astype(float))
    few = replace(few, observations=few.observations.assign(unit="count"))
    figure = drawn(few).figure
    assert not [bar for bar in figure.axes[0].patches if bar.get_height() > 0.5 and bar.get_width() < 0.5]
    assert not printed(figure)
    none = changed(told, lambda t: t["runtime"] == "docker", lambda value: 0 * value)
    none = changed(none, lambda t: t["runtime"] != "docker", lambda value: 100 * value)
    assert set(printed(drawn(none).figure)) == {"0"}


def test_an_mpi_profile_is_stacked_up_to_the_share_in_all_functions():
    found = drawn(profiled({"all": sum(SHARES.values()), **SHARES, "MPI_Send": 0.01}))
    summary = found.summary
    assert len(summary) == 2 * 7 * (1 + 9)
    for axis in found.figure.axes:
        # Each benchmark has a grey bar and coloured parts, which end where the number says.
        ends = [patch.get_x() + patch.get_width() for patch in axis.patches if patch.get_width() < 100]
        assert max(ends) == pytest.approx(100 * 1.02 * sum(SHARES.values()))
        assert "a-new-section" in [label.get_text() for label in axis.get_yticklabels()]
    assert "46 %" in printed(found.figure)
    row = summary[summary["what"] == "barrier"].iloc[0]
    assert (row["calls_least"], row["calls_most"], row["n"]) == (3, 9, 3)
    assert "n = 3 runs" in found.caption


def test_times_of_patterns_are_set_against_one_container():
    summary = drawn(patterns()).summary
    assert summary.groupby("scheme")["ratio_to_one"].mean().to_dict() == {
        **{"E1": pytest.approx(1), "O1": pytest.approx(1)},
        **{"E2": pytest.approx(2, abs=0.1), "O2": pytest.approx(2, abs=0.1)},
    }


def test_memory_contention_is_drawn_against_one_rank_alone():
    summary = drawn(contention()).summary
    assert "S1" not in set(summary["scheme"])
    # Every runtime has one rank alone (S1). Bare metal has only E1 and S1.
    means = summary[summary["n"] > 0].groupby("hardware")["mean"].unique()
    assert means["uma"] == pytest.approx([(1.5 - 0.25) / 1.25])
    assert means["numa"] == pytest.approx([(0.75 - 0.125) / 1.125])


def test_shades_are_told_apart():
    colours = [affinity._shade("#0072b2", level) for level in (*affinity.SHADES, "novel")]
    assert len(set(colours)) == len(colours)


STEPS = {
    "bare": {},
    "singularity": {"from": "bare", "adds": "files of an image"},
    "docker": {"from": "singularity", "adds": "a network of its own"},
    "podman": {"from": "docker", "adds": "nothing that was measured"},
}


def ladder(**given) -> FigureData:
    """Return the data of a ladder: Singularity as fast as bare metal, Docker at a quarter, and Podman planned but
    without a run."""
    told = shown("ladder", schemes=SMALL[:2], runtimes=tuple(STEPS), options={"steps": STEPS}, **given)
    kept = [cell for cell in told.cells if cell["runtime"] == "bare" or cell["scheme"] == "E2"]
    table = told.observations
    table = table[(table["runtime"] != "podman") & ((table["runtime"] == "bare") | (table["scheme"] == "E2"))]
    told = replace(told, cells=kept, observations=table.reset_index(drop=True))
    return changed(told, lambda table: table["runtime"] == "docker", lambda value: 0.25 * value)


def test_a_ladder_says_what_each_step_costs_against_the_one_that_it_comes_from():
    made = drawn(ladder())
    table = made.summary.set_index("runtime")
    assert table.loc["docker", "from"] == "singularity" and table.loc["docker", "adds"] == "a network of its own"
    assert table.loc["docker", "step"] == pytest.approx(0.25, rel=0.05) == table.loc["docker", "ratio_to_bare"]
    assert table.loc["docker", "step_low"] < 0.25 < table.loc["docker", "step_high"] < 0.3
    assert table.loc["singularity", "step_low"] < 1 < table.loc["singularity", "step_high"]
    assert np.isnan(table.loc["bare", "step"]) and table.loc["podman", "n"] == 0
    found = texts(made.figure)
    (quarter,) = [text for text in found if text.get_text() == bars.factor(table.loc["docker", "step"])]
    (none,) = [text for text in found if text.get_text() == bars.factor(table.loc["singularity", "step"])]
    assert (quarter.get_fontweight(), none.get_fontweight()) == ("bold", "normal")
    words = {" ".join(text.get_text().split()) for text in found}
    assert {"bare metal", "Singularity: files of an image", "+ a network of its own", "no valid run"} <= words
    check(made.figure)
    assert "a network of its own" in made.alternative and "1 of 2 steps differs" in made.alternative
    assert "bold where its 95 % interval leaves out 1" in made.caption and "numa: there is one socket" in made.caption


def test_a_step_without_an_interval_is_told_without_a_claim():
    """Two blocks give no interval."""
    told = ladder()
    made = drawn(replace(told, observations=told.observations[told.observations["repetition"] < 3]))
    assert made.summary["step_low"].isna().all()
    assert all(text.get_fontweight() == "normal" for text in texts(made.figure) if text.get_text().startswith("×"))
    assert "None of 0 steps" in made.alternative
